//! The event feed and the audit log.

use std::collections::BTreeMap;

use bursar_core::feed::{AuditEntry, Cursor, FeedEvent};
use bursar_core::ids::{CommitId, EventId};
use bursar_core::turn::Commit;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};
use uuid::Uuid;

use super::copy::{self, MANY};
use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The columns that `event` reads.
const EVENTS: &str = "e.id, e.kind, e.resource, e.merchant, e.sequence, e.time, e.data";

pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    id: CommitId,
    commit: &Commit,
) -> Result<(), StoreError> {
    let events = &commit.events;
    if events.len() >= MANY {
        copy::events(session, id, events).await?;
        return save_audit(session, id, &commit.audit).await;
    }
    let numbers: Vec<i64> = (0..).take(events.len()).collect();
    let ids: Vec<Uuid> = events.iter().map(|event| event.id.uuid()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let resources: Vec<&str> = events.iter().map(|event| event.resource.as_str()).collect();
    let merchants: Vec<&str> = events.iter().map(|event| event.merchant.as_str()).collect();
    let sequences = events.iter().map(|event| i64::try_from(event.sequence).map_err(damaged));
    let sequences = sequences.collect::<Result<Vec<i64>, _>>()?;
    let times: Vec<i64> = events.iter().map(|event| event.time.as_microsecond()).collect();
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    let sql = "INSERT INTO events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
               SELECT $1, k.* FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                                          $8::bigint[], $9::text[]) AS k";
    let values: [&(dyn ToSql + Sync); 9] =
        [&id.uuid(), &numbers, &ids, &kinds, &resources, &merchants, &sequences, &times, &data];
    session.write(sql, &values, events.len()).await?;
    save_audit(session, id, &commit.audit).await
}

async fn save_audit(
    session: &Session<'_, Transaction<'_>>,
    id: CommitId,
    entries: &[AuditEntry],
) -> Result<(), StoreError> {
    let numbers: Vec<i64> = (0..).take(entries.len()).collect();
    let actors: Vec<&str> = entries.iter().map(|entry| entry.actor.as_str()).collect();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    let resources: Vec<&str> = entries.iter().map(|entry| entry.resource.as_str()).collect();
    let notes: Vec<&str> = entries.iter().map(|entry| entry.note.as_str()).collect();
    let times: Vec<i64> = entries.iter().map(|entry| entry.time.as_microsecond()).collect();
    let sql = "INSERT INTO audit (commit_id, n, actor, action, resource, note, time)
               SELECT $1, k.* FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
                    AS k";
    let values: [&(dyn ToSql + Sync); 7] =
        [&id.uuid(), &numbers, &actors, &actions, &resources, &notes, &times];
    session.write(sql, &values, entries.len()).await
}

/// The events after a cursor, each with its own cursor.
pub(super) async fn page(
    session: &Session<'_, impl GenericClient>,
    after: Cursor,
    limit: u32,
) -> Result<Vec<(Cursor, FeedEvent)>, StoreError> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {EVENTS}, c.seq, e.n FROM commits c JOIN events e ON e.commit_id = c.id
         WHERE c.seq >= $1 AND (c.seq > $1 OR e.n >= $2) ORDER BY c.seq, e.n LIMIT $3"
    );
    let values: [&(dyn ToSql + Sync); 3] =
        [&number(after.commit), &number(after.rows), &i64::from(limit)];
    let row = |row: &Row| {
        let commit = u64::try_from(get::<i64>(row, 7)?).map_err(damaged)?;
        let n = u64::try_from(get::<i64>(row, 8)?).map_err(damaged)?;
        Ok((Cursor { commit, rows: n.saturating_add(1) }, event(row)?))
    };
    session.query(&sql, &values).await?.iter().map(row).collect()
}

/// The events of these commits, in the order of each commit.
pub(super) async fn events(
    session: &Session<'_, impl GenericClient>,
    commits: &[Uuid],
) -> Result<BTreeMap<Uuid, Vec<FeedEvent>>, StoreError> {
    let sql = format!(
        "SELECT {EVENTS}, e.commit_id FROM events e WHERE e.commit_id = ANY($1) ORDER BY e.commit_id, e.n"
    );
    let mut by_commit: BTreeMap<Uuid, Vec<FeedEvent>> = BTreeMap::new();
    for row in &session.query(&sql, &[&commits]).await? {
        by_commit.entry(get(row, 7)?).or_default().push(event(row)?);
    }
    Ok(by_commit)
}

pub(super) async fn audit(
    session: &Session<'_, impl GenericClient>,
    commits: &[Uuid],
) -> Result<BTreeMap<Uuid, Vec<AuditEntry>>, StoreError> {
    let sql = "SELECT actor, action, resource, note, time, commit_id FROM audit
               WHERE commit_id = ANY($1) ORDER BY commit_id, n";
    let mut by_commit: BTreeMap<Uuid, Vec<AuditEntry>> = BTreeMap::new();
    for row in &session.query(sql, &[&commits]).await? {
        by_commit.entry(get(row, 5)?).or_default().push(entry(row)?);
    }
    Ok(by_commit)
}

/// The events of a resource, in order.
pub(super) async fn of(
    session: &Session<'_, impl GenericClient>,
    resource: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<FeedEvent>, StoreError> {
    let sql = format!(
        "SELECT {EVENTS} FROM events e WHERE e.resource = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3"
    );
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let values: [&(dyn ToSql + Sync); 3] = [&resource, &after, &i64::from(limit)];
    session.query(&sql, &values).await?.iter().map(event).collect()
}

/// The number of events and the last event of each resource that has any.
pub(super) async fn last(
    session: &Session<'_, impl GenericClient>,
    resources: &[String],
) -> Result<Vec<(u64, FeedEvent)>, StoreError> {
    let sql = format!(
        "SELECT e.*, c.count FROM unnest($1::text[]) AS k (resource)
         CROSS JOIN LATERAL (SELECT {EVENTS} FROM events e
             WHERE e.resource = k.resource ORDER BY e.sequence DESC LIMIT 1) e
         CROSS JOIN LATERAL (SELECT count(*) FROM events c WHERE c.resource = k.resource) c"
    );
    let found = |row| Ok((u64::try_from(get::<i64>(row, 7)?).map_err(damaged)?, event(row)?));
    session.query(&sql, &[&resources]).await?.iter().map(found).collect()
}

/// `actor, action, resource, note, time`.
pub(super) fn entry(row: &Row) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        actor: get(row, 0)?,
        action: get(row, 1)?,
        resource: get(row, 2)?,
        note: get(row, 3)?,
        time: time(get(row, 4)?)?,
    })
}

fn event(row: &Row) -> Result<FeedEvent, StoreError> {
    Ok(FeedEvent {
        id: EventId::from_uuid(get(row, 0)?),
        kind: get(row, 1)?,
        resource: get(row, 2)?,
        merchant: get(row, 3)?,
        sequence: u64::try_from(get::<i64>(row, 4)?).map_err(damaged)?,
        time: time(get(row, 5)?)?,
        data: get(row, 6)?,
    })
}
