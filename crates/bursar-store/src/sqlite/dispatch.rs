//! The log of cycles of dispatch, and the tallies that claims read.

use bursar_core::dispatch::{Cycle, CycleFilter, CycleRow, Rate};
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use rusqlite::{Connection, Row, params};

use super::load::{all, first, prepare};
use super::row::get;
use super::save::write;
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The counts of the tallies of a plan.
pub(super) fn load(
    connection: &Connection,
    plan: &ReadPlan,
    records: &mut ReadSet,
) -> Result<(), StoreError> {
    let mut statement = prepare(connection, "SELECT count FROM tallies WHERE name = ?1")?;
    for name in &plan.tallies {
        let found = first(&mut statement, [name], |row| get(row, 0))?;
        records.tallies.extend(found.map(|count| (name.clone(), count)));
    }
    Ok(())
}

pub(super) fn save(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO dispatch_audit_log (cycle_at, item_type, channel, since, claimed, dispatched, failed, recovered, expired, rate_milli, reason)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    for CycleRow { kind, channel, cycle, until, rate } in &commit.cycles {
        let Cycle { since, claimed, dispatched, failed, recovered, expired, reason } = cycle;
        let count = |count: &u64| i64::try_from(*count).map_err(damaged);
        let values = params![
            until.as_microsecond(),
            kind,
            channel,
            since.as_microsecond(),
            count(claimed)?,
            count(dispatched)?,
            count(failed)?,
            count(recovered)?,
            count(expired)?,
            rate.map(Rate::milli),
            reason
        ];
        write(&mut *prepare(connection, sql)?, values)?;
    }
    Ok(())
}

/// Latest first.
pub(super) fn cycles(
    connection: &Connection,
    filter: &CycleFilter,
    limit: u32,
) -> Result<Vec<CycleRow>, StoreError> {
    let sql = "SELECT item_type, channel, cycle_at, since, claimed, dispatched, failed, recovered, expired, rate_milli, reason
               FROM dispatch_audit_log
               WHERE (?1 IS NULL OR item_type = ?1) AND (?2 IS NULL OR channel = ?2) AND cycle_at >= ?3 AND cycle_at < ?4
               ORDER BY cycle_at DESC, item_type DESC, channel DESC LIMIT ?5";
    let from = filter.from.map_or(i64::MIN, jiff::Timestamp::as_microsecond);
    let before = filter.before.map_or(i64::MAX, jiff::Timestamp::as_microsecond);
    all(connection, sql, params![filter.kind, filter.channel, from, before, limit], cycle)
}

fn cycle(row: &Row<'_>) -> Result<CycleRow, StoreError> {
    let count = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
    Ok(CycleRow {
        kind: get(row, 0)?,
        channel: get(row, 1)?,
        until: time(get(row, 2)?)?,
        cycle: Cycle {
            since: time(get(row, 3)?)?,
            claimed: count(4)?,
            dispatched: count(5)?,
            failed: count(6)?,
            recovered: count(7)?,
            expired: count(8)?,
            reason: get(row, 10)?,
        },
        rate: get::<Option<u32>>(row, 9)?.map(Rate::from_milli),
    })
}
