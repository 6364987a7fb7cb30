//! The log of cycles of dispatch, and the tallies that claims read.

use bursar_core::dispatch::{Cycle, CycleFilter, CycleRow, Rate};
use bursar_core::turn::{Commit, ReadPlan};
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};

use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The counts of the tallies of a plan.
pub(super) async fn load(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<(String, i64)>, StoreError> {
    if plan.tallies.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = plan.tallies.iter().map(String::as_str).collect();
    let sql = "SELECT name, count FROM tallies WHERE name = ANY($1)";
    session
        .query(sql, &[&names])
        .await?
        .iter()
        .map(|row| Ok((get(row, 0)?, get(row, 1)?)))
        .collect()
}

pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO dispatch_audit_log (cycle_at, item_type, channel, since, claimed, dispatched, failed, recovered, expired, rate_milli, reason)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
               ON CONFLICT (cycle_at, item_type, channel) DO UPDATE SET reason = excluded.reason";
    for CycleRow { kind, channel, cycle, until, rate } in &commit.cycles {
        let Cycle { since, claimed, dispatched, failed, recovered, expired, reason } = cycle;
        let count = |count: &u64| i64::try_from(*count).map_err(damaged);
        let rate = rate.map(|rate| i32::try_from(rate.milli())).transpose().map_err(damaged)?;
        let values: [&(dyn ToSql + Sync); 11] = [
            &until.as_microsecond(),
            kind,
            channel,
            &since.as_microsecond(),
            &count(claimed)?,
            &count(dispatched)?,
            &count(failed)?,
            &count(recovered)?,
            &count(expired)?,
            &rate,
            reason,
        ];
        session.write(sql, &values, 1).await?;
    }
    Ok(())
}

/// Latest first.
pub(super) async fn cycles(
    session: &Session<'_, impl GenericClient>,
    filter: &CycleFilter,
    limit: u32,
) -> Result<Vec<CycleRow>, StoreError> {
    let sql = "SELECT item_type, channel, cycle_at, since, claimed, dispatched, failed, recovered, expired, rate_milli, reason
               FROM dispatch_audit_log
               WHERE ($1::text IS NULL OR item_type = $1) AND ($2::text IS NULL OR channel = $2)
                   AND cycle_at >= $3 AND cycle_at < $4
               ORDER BY cycle_at DESC, item_type DESC, channel DESC LIMIT $5";
    let from = filter.from.map_or(i64::MIN, jiff::Timestamp::as_microsecond);
    let before = filter.before.map_or(i64::MAX, jiff::Timestamp::as_microsecond);
    let values: [&(dyn ToSql + Sync); 5] =
        [&filter.kind, &filter.channel, &from, &before, &i64::from(limit)];
    session.query(sql, &values).await?.iter().map(cycle).collect()
}

fn cycle(row: &Row) -> Result<CycleRow, StoreError> {
    let count = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
    let rate: Option<i32> = get(row, 9)?;
    let rate = rate.map(u32::try_from).transpose().map_err(damaged)?;
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
        rate: rate.map(Rate::from_milli),
    })
}
