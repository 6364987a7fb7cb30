//! What holds payouts back. The head row has its version, and every save locks the head: of a freeze and a turn that sends
//! something, the later one sees the earlier one.

use bursar_core::freezes::Control;
use bursar_core::turn::Commit;
use tokio_postgres::{GenericClient, Transaction};

use super::identity;
use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::damaged;

/// One statement, so that version and freezes come from one snapshot.
const CONTROL: &str = "SELECT h.switches_version, f.scope, f.details, b.restore FROM head h LEFT JOIN freezes f ON true LEFT JOIN books b ON true";

pub(super) async fn load(session: &Session<'_, impl GenericClient>) -> Result<Control, StoreError> {
    let rows = session.query(CONTROL, &[]).await?;
    let head = rows.first().ok_or_else(|| damaged("the head is missing"))?;
    let version = u64::try_from(get::<i64>(head, 0)?).map_err(damaged)?;
    let restore: Option<&str> = get(head, 3)?;
    let restore = restore.map(serde_json::from_str).transpose().map_err(damaged)?;
    let mut control = Control { version, restore, ..Control::default() };
    for row in &rows {
        let (scope, freeze): (Option<&str>, Option<&str>) = (get(row, 1)?, get(row, 2)?);
        if let (Some(scope), Some(freeze)) = (scope, freeze) {
            let scope = serde_json::from_str(scope).map_err(damaged)?;
            control.freezes.insert(scope, serde_json::from_str(freeze).map_err(damaged)?);
        }
    }
    Ok(control)
}

/// A change of any freeze rewrites all rows.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let after = commit.control.as_ref().and_then(|control| control.after.as_ref());
    let Some(Control { freezes, restore, .. }) = after else { return Ok(()) };
    if let Some(restore) = restore {
        identity::set_restore(session, restore).await?;
    }
    session.query("DELETE FROM freezes", &[]).await?;
    let scopes = freezes.keys().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let texts = freezes.values().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let (scopes, texts) = (scopes.map_err(damaged)?, texts.map_err(damaged)?);
    let sql = "INSERT INTO freezes (scope, details) SELECT * FROM unnest($1::text[], $2::text[])";
    session.write(sql, &[&scopes, &texts], freezes.len()).await
}

/// Precondition (optimistic lock): the head has the version that the turn read. Returns the next version.
pub(super) fn next_version(commit: &Commit, found: i64) -> Result<i64, StoreError> {
    let Some(control) = &commit.control else { return Ok(found) };
    if u64::try_from(found).map_err(damaged)? != control.version {
        return Err(StoreError::Conflict);
    }
    Ok(found.saturating_add(i64::from(control.after.is_some())))
}
