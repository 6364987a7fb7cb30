//! The event feed and the audit log.

use bursar_core::feed::{AuditEntry, Cursor, FeedEvent};
use bursar_core::ids::{CommitId, EventId};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::load::{all, first, prepare};
use super::row::get;
use super::save::write;
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The columns that `event` reads.
const EVENTS: &str = "e.id, e.kind, e.resource, e.merchant, e.sequence, e.time, e.data";

pub fn save(
    connection: &Connection,
    id: CommitId,
    events: &[FeedEvent],
    audit: &[AuditEntry],
) -> Result<(), StoreError> {
    let commit_id = id.uuid();
    let sql =
        "INSERT INTO events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut statement = prepare(connection, sql)?;
    for (event, n) in events.iter().zip(0_i64..) {
        let event_id = event.id.uuid();
        let values = params![
            commit_id.as_bytes().as_slice(),
            n,
            event_id.as_bytes().as_slice(),
            event.kind,
            event.resource,
            event.merchant,
            i64::try_from(event.sequence).map_err(damaged)?,
            event.time.as_microsecond(),
            event.data
        ];
        write(&mut statement, values)?;
    }
    let sql = "INSERT INTO audit (commit_id, n, actor, action, resource, note, time)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut statement = prepare(connection, sql)?;
    for (entry, n) in audit.iter().zip(0_i64..) {
        let values = params![
            commit_id.as_bytes().as_slice(),
            n,
            entry.actor,
            entry.action,
            entry.resource,
            entry.note,
            entry.time.as_microsecond()
        ];
        write(&mut statement, values)?;
    }
    Ok(())
}

/// The events after a cursor, each with its own cursor.
pub(super) fn page(
    connection: &Connection,
    after: Cursor,
    limit: u32,
) -> Result<Vec<(Cursor, FeedEvent)>, StoreError> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {EVENTS}, c.seq, e.n FROM commits c JOIN events e ON e.commit_id = c.id
         WHERE c.seq >= ?1 AND (c.seq > ?1 OR e.n >= ?2) ORDER BY c.seq, e.n LIMIT ?3"
    );
    let values = params![number(after.commit), number(after.rows), limit];
    all(connection, &sql, values, |row| {
        let commit = u64::try_from(get::<i64>(row, 7)?).map_err(damaged)?;
        let n = u64::try_from(get::<i64>(row, 8)?).map_err(damaged)?;
        Ok((Cursor { commit, rows: n.saturating_add(1) }, event(row)?))
    })
}

/// The events of one commit, in order.
pub(super) fn events(
    connection: &Connection,
    commit_id: [u8; 16],
) -> Result<Vec<FeedEvent>, StoreError> {
    let sql = format!("SELECT {EVENTS} FROM events e WHERE e.commit_id = ?1 ORDER BY e.n");
    all(connection, &sql, [commit_id.as_slice()], event)
}

pub(super) fn audit(
    connection: &Connection,
    commit_id: [u8; 16],
) -> Result<Vec<AuditEntry>, StoreError> {
    let sql =
        "SELECT actor, action, resource, note, time FROM audit WHERE commit_id = ?1 ORDER BY n";
    all(connection, sql, [commit_id.as_slice()], entry)
}

/// The events of a resource, in order.
pub(super) fn of(
    connection: &Connection,
    resource: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<FeedEvent>, StoreError> {
    let sql = format!(
        "SELECT {EVENTS} FROM events e WHERE e.resource = ?1 AND e.sequence > ?2 ORDER BY e.sequence LIMIT ?3"
    );
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    all(connection, &sql, params![resource, after, limit], event)
}

/// The number of events and the last event of each resource that has any.
pub(super) fn last(
    connection: &Connection,
    resources: &[String],
) -> Result<Vec<(u64, FeedEvent)>, StoreError> {
    let sql = format!(
        "SELECT {EVENTS}, (SELECT count(*) FROM events WHERE resource = ?1) FROM events e
         WHERE e.resource = ?1 ORDER BY e.sequence DESC LIMIT 1"
    );
    let mut statement = prepare(connection, &sql)?;
    let mut found = Vec::new();
    for resource in resources {
        found.extend(first(&mut statement, [resource], |row| {
            Ok((u64::try_from(get::<i64>(row, 7)?).map_err(damaged)?, event(row)?))
        })?);
    }
    Ok(found)
}

/// `actor, action, resource, note, time`.
pub(super) fn entry(row: &Row<'_>) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        actor: get(row, 0)?,
        action: get(row, 1)?,
        resource: get(row, 2)?,
        note: get(row, 3)?,
        time: time(get(row, 4)?)?,
    })
}

fn event(row: &Row<'_>) -> Result<FeedEvent, StoreError> {
    Ok(FeedEvent {
        id: EventId::from_uuid(Uuid::from_bytes(get(row, 0)?)),
        kind: get(row, 1)?,
        resource: get(row, 2)?,
        merchant: get(row, 3)?,
        sequence: u64::try_from(get::<i64>(row, 4)?).map_err(damaged)?,
        time: time(get(row, 5)?)?,
        data: get(row, 6)?,
    })
}
