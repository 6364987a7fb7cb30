//! The switches that people throw. Their version stands in the head, which whoever saves takes: a freeze and a turn
//! that sends something cannot both be saved without one having seen the other.

use bursar_core::commit::Commit;
use bursar_core::control::Control;
use tokio_postgres::{GenericClient, Transaction};

use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::damaged;

/// In one statement, so that version and switches are of one moment.
const CONTROL: &str =
    "SELECT h.switches_version, f.scope, f.details FROM head h LEFT JOIN freezes f ON true";

pub(super) async fn load(session: &Session<'_, impl GenericClient>) -> Result<Control, StoreError> {
    let rows = session.query(CONTROL, &[]).await?;
    let head = rows.first().ok_or_else(|| damaged("the head is missing"))?;
    let version = u64::try_from(get::<i64>(head, 0)?).map_err(damaged)?;
    let mut control = Control { version, ..Control::default() };
    for row in &rows {
        let (scope, freeze): (Option<&str>, Option<&str>) = (get(row, 1)?, get(row, 2)?);
        if let (Some(scope), Some(freeze)) = (scope, freeze) {
            let scope = serde_json::from_str(scope).map_err(damaged)?;
            control.freezes.insert(scope, serde_json::from_str(freeze).map_err(damaged)?);
        }
    }
    Ok(control)
}

/// If any switch was thrown, all are written anew.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let Some(freezes) = commit.control.as_ref().and_then(|control| control.freezes.as_ref()) else {
        return Ok(());
    };
    session.query("DELETE FROM freezes", &[]).await?;
    let scopes = freezes.keys().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let texts = freezes.values().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let (scopes, texts) = (scopes.map_err(damaged)?, texts.map_err(damaged)?);
    let sql = "INSERT INTO freezes (scope, details) SELECT * FROM unnest($1::text[], $2::text[])";
    session.write(sql, &[&scopes, &texts], freezes.len()).await
}

/// The version that the head must have now, and will have then.
pub(super) fn next_version(commit: &Commit, found: i64) -> Result<i64, StoreError> {
    let Some(control) = &commit.control else { return Ok(found) };
    if u64::try_from(found).map_err(damaged)? != control.version {
        return Err(StoreError::Conflict);
    }
    Ok(found.saturating_add(i64::from(control.freezes.is_some())))
}
