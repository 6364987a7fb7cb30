//! What holds payouts back, and its version, which every turn that sends or releases money relies on.

use bursar_core::freezes::Control;
use bursar_core::turn::Commit;
use rusqlite::{Connection, params};

use super::load::{all, one};
use super::row::get;
use super::save::write_one;
use super::{classify, identity};
use crate::StoreError;
use crate::chart_lines::damaged;

pub(super) fn load(connection: &Connection) -> Result<Control, StoreError> {
    let freezes =
        all(connection, "SELECT scope, details FROM freezes ORDER BY scope", [], |row| {
            let (scope, freeze): (String, String) = (get(row, 0)?, get(row, 1)?);
            let scope = serde_json::from_str(&scope).map_err(damaged)?;
            Ok((scope, serde_json::from_str(&freeze).map_err(damaged)?))
        })?;
    let (version, restore) = (version(connection)?, identity::restore(connection)?);
    Ok(Control { version, freezes: freezes.into_iter().collect(), restore })
}

fn version(connection: &Connection) -> Result<u64, StoreError> {
    let found = one(connection, "SELECT control_version FROM head", [], |row| get::<i64>(row, 0))?;
    u64::try_from(found.ok_or_else(|| damaged("the head is missing"))?).map_err(damaged)
}

/// Precondition (optimistic lock): the version is the one that the turn read. A change of any freeze rewrites all rows.
pub(super) fn save(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    let Some(control) = &commit.control else { return Ok(()) };
    if version(connection)? != control.version {
        return Err(StoreError::Conflict);
    }
    let Some(Control { freezes, restore, .. }) = &control.after else { return Ok(()) };
    connection.execute("DELETE FROM freezes", []).map_err(|error| classify(&error))?;
    for (scope, freeze) in freezes {
        let scope = serde_json::to_string(scope).map_err(damaged)?;
        let freeze = serde_json::to_string(freeze).map_err(damaged)?;
        let sql = "INSERT INTO freezes (scope, details) VALUES (?1, ?2)";
        write_one(connection, sql, params![scope, freeze])?;
    }
    if let Some(restore) = restore {
        identity::set_restore(connection, restore)?;
    }
    write_one(connection, "UPDATE head SET control_version = control_version + 1", [])
}
