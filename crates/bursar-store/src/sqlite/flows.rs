//! Flows, their due rows, and the idempotency keys with their replies.

use std::sync::Arc;

use bursar_core::flow::{DecodedFlow, Flow};
use bursar_core::idempotency::{Key, KnownKey};
use bursar_core::ids::{EventId, FlowId};
use bursar_core::turn::{Commit, DueClaim, FairClaim, FlowWrite, ReadPlan, ReadSet};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::load::{all, first, one, prepare};
use super::queues;
use super::row::get;
use super::save::write;
use crate::StoreError;
use crate::browse::{FlowFilter, LaneCursor, is_of};
use crate::chart_lines::{damaged, time};

/// The columns that `flow` reads.
const FLOWS: &str = "SELECT id, kind, merchant, version, sequence, state, created_at, updated_at, status, parent FROM flows";

pub(super) fn load(
    connection: &Connection,
    plan: &ReadPlan,
    records: &mut ReadSet,
) -> Result<(), StoreError> {
    let mut ids = plan.flows.clone();
    let sql = "SELECT flow FROM attempts WHERE channel = ?1 AND reference = ?2";
    for (channel, reference) in &plan.attempts {
        ids.extend(one(connection, sql, [channel, reference], |row| flow_id(row, 0))?);
    }
    let sql = "SELECT flow FROM keys WHERE digest BETWEEN ?1 AND ?2";
    for keys in &plan.made_under {
        ids.extend(all(connection, sql, [keys.first(), keys.last()], |row| flow_id(row, 0))?);
    }
    for claim in &plan.due {
        ids.extend(claimed(connection, claim)?);
    }
    for claim in &plan.fair {
        ids.extend(claim_fair(connection, claim)?);
    }
    let (heads, queued) = queues::claimed(connection, plan, records.control.as_ref())?;
    records.queues = heads;
    ids.extend(queued);
    let mut statement = prepare(connection, &format!("{FLOWS} WHERE id = ?1"))?;
    for id in ids {
        let uuid = id.uuid();
        match first(&mut statement, [uuid.as_bytes().as_slice()], flow) {
            Ok(found) => records.flows.extend(found.map(Arc::new)),
            // An undecodable row must not fail the whole turn.
            Err(StoreError::Corrupt(_)) => records.unreadable.push(id),
            Err(error) => return Err(error),
        }
    }
    let sql = "SELECT scope, key, request_hash, flow, reply FROM keys WHERE digest = ?1";
    let mut statement = prepare(connection, sql)?;
    for digest in &plan.keys {
        records.keys.extend(first(&mut statement, [digest.as_slice()], known_key)?);
    }
    Ok(())
}

pub(super) fn find(connection: &Connection, id: FlowId) -> Result<Option<Flow>, StoreError> {
    let sql = format!("{FLOWS} WHERE id = ?1");
    one(connection, &sql, [id.uuid().as_bytes().as_slice()], flow)
}

/// Flows after an id, in order.
pub(super) fn page(
    connection: &Connection,
    after: Option<FlowId>,
    limit: u32,
) -> Result<Vec<Flow>, StoreError> {
    let after = after.map_or(Uuid::nil(), FlowId::uuid);
    let sql = format!("{FLOWS} WHERE id > ?1 ORDER BY id LIMIT ?2");
    all(connection, &sql, params![after.as_bytes().as_slice(), limit], flow)
}

/// Flows of the filter's index with their statuses, newest first.
pub(super) fn listed(
    connection: &Connection,
    filter: &FlowFilter,
    (below, from): (FlowId, FlowId),
    limit: usize,
) -> Result<Vec<(FlowId, String)>, StoreError> {
    let (below, from) = (below.uuid(), from.uuid());
    let (below, from) = (below.as_bytes().as_slice(), from.as_bytes().as_slice());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = |index: &str| {
        format!(
            "SELECT id, status FROM flows WHERE {index} AND kind = ?2 AND id < ?3 AND id >= ?4
             ORDER BY id DESC LIMIT ?5"
        )
    };
    let key = |row: &Row<'_>| Ok((flow_id(row, 0)?, get(row, 1)?));
    let kind = filter.kind;
    match (&filter.parent, &filter.merchant) {
        (Some(parent), _) => {
            let values = params![parent.as_bytes().as_slice(), kind, below, from, limit];
            all(connection, &sql("parent = ?1"), values, key)
        }
        (None, Some(merchant)) => {
            let values = params![merchant, kind, below, from, limit];
            all(connection, &sql("merchant = ?1"), values, key)
        }
        (None, None) => {
            let values = params![None::<&str>, kind, below, from, limit];
            all(connection, &sql("?1 IS NULL"), values, key)
        }
    }
}

/// Flows of a lane before a cursor, latest due time first.
pub(super) fn lane_keys(
    connection: &Connection,
    lane: &str,
    (at, flow): LaneCursor,
    limit: usize,
) -> Result<Vec<LaneCursor>, StoreError> {
    let sql = "SELECT due_at, flow FROM due WHERE lane = ?1 AND (due_at, flow) < (?2, ?3)
               ORDER BY due_at DESC, flow DESC LIMIT ?4";
    let flow = flow.uuid();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = params![lane, at.as_microsecond(), flow.as_bytes().as_slice(), limit];
    all(connection, sql, values, |row| Ok((time(get(row, 0)?)?, flow_id(row, 1)?)))
}

/// These flows in this order. None for a flow that cannot be decoded.
pub(super) fn by_id(
    connection: &Connection,
    ids: &[FlowId],
) -> Result<Vec<Option<Flow>>, StoreError> {
    let mut statement = prepare(connection, &format!("{FLOWS} WHERE id = ?1"))?;
    let found = ids.iter().map(|id| {
        let uuid = id.uuid();
        match first(&mut statement, [uuid.as_bytes().as_slice()], flow) {
            Ok(found) => Ok(found),
            Err(StoreError::Corrupt(_)) => Ok(None),
            Err(error) => Err(error),
        }
    });
    found.collect()
}

fn claimed(connection: &Connection, claim: &DueClaim) -> Result<Vec<FlowId>, StoreError> {
    let sql =
        "SELECT flow FROM due WHERE lane = ?1 AND due_at <= ?2 ORDER BY due_at, flow LIMIT ?3";
    let values = params![claim.lane, claim.now.as_microsecond(), claim.limit];
    all(connection, sql, values, |row| flow_id(row, 0))
}

/// Loose index scan: one index probe per distinct lane, then a limited number of flows from each.
fn claim_fair(connection: &Connection, claim: &FairClaim) -> Result<Vec<FlowId>, StoreError> {
    let sql = "SELECT min(lane) FROM due WHERE lane > ?1 AND lane < ?2";
    let mut next = prepare(connection, sql)?;
    let (mut lane, end) = (claim.begin().to_owned(), claim.end());
    let mut found = Vec::new();
    let room = |found: &Vec<FlowId>| {
        let taken = u32::try_from(found.len()).unwrap_or(u32::MAX);
        claim.limit.saturating_sub(taken)
    };
    while room(&found) > 0 {
        let following = first(&mut next, params![lane, end], |row| get::<Option<String>>(row, 0))?;
        let Some(following) = following.flatten() else { break };
        lane = following;
        let limit = claim.room(&lane).min(room(&found));
        if limit > 0 {
            let due = DueClaim { lane: lane.clone(), now: claim.now, limit };
            found.extend(claimed(connection, &due)?);
        }
    }
    Ok(found)
}

/// The deliveries of an event. Their ids share the prefix of its id.
pub(super) fn deliveries_of(
    connection: &Connection,
    event: EventId,
) -> Result<Vec<Flow>, StoreError> {
    let (first, last) = event.deliveries();
    let sql = format!("{FLOWS} WHERE id BETWEEN ?1 AND ?2 AND kind = 'delivery' ORDER BY id");
    let range = [first.uuid().into_bytes(), last.uuid().into_bytes()];
    let mut found = all(connection, &sql, range, flow)?;
    found.retain(|flow| is_of(flow, event));
    Ok(found)
}

/// `scope, key, request_hash, flow, reply`.
fn known_key(row: &Row<'_>) -> Result<KnownKey, StoreError> {
    let key = Key::new(get(row, 0)?, get(row, 1)?);
    Ok(KnownKey::stored(key, get(row, 2)?, flow_id(row, 3)?, get(row, 4)?))
}

fn flow(row: &Row<'_>) -> Result<Flow, StoreError> {
    let (kind, text): (String, String) = (get(row, 1)?, get(row, 5)?);
    let DecodedFlow { state, backoff, host } = Flow::decode(&kind, &text).map_err(damaged)?;
    if get::<String>(row, 8)? != state.status() {
        return Err(damaged("a flow has another status than its state"));
    }
    if get::<Option<[u8; 16]>>(row, 9)?.map(Uuid::from_bytes) != state.parent() {
        return Err(damaged("a flow has another parent than its state"));
    }
    Ok(Flow {
        id: flow_id(row, 0)?,
        merchant: get(row, 2)?,
        version: u64::try_from(get::<i64>(row, 3)?).map_err(damaged)?,
        sequence: u64::try_from(get::<i64>(row, 4)?).map_err(damaged)?,
        created_at: time(get(row, 6)?)?,
        updated_at: time(get(row, 7)?)?,
        state,
        backoff,
        host,
    })
}

pub(super) fn flow_id(row: &Row<'_>, column: usize) -> Result<FlowId, StoreError> {
    Ok(FlowId::from_uuid(Uuid::from_bytes(get(row, column)?)))
}

/// Prepares one statement per table and runs it for all rows. `states` has the encoded states in the order of the flows.
pub(super) fn save(
    connection: &Connection,
    commit: &Commit,
    states: &[String],
) -> Result<(), StoreError> {
    let changes = || commit.flows.iter().zip(states);
    let new = changes().filter(|(change, _)| change.before.is_none());
    insert(connection, new.map(|(change, state)| (&*change.after, state)))?;
    update(connection, changes())?;
    insert_attempts(connection, &commit.flows)?;
    save_due(connection, &commit.flows)?;
    insert_keys(connection, &commit.keys)
}

/// Inserts flows, each with its encoded state.
pub fn insert<'f>(
    connection: &Connection,
    flows: impl Iterator<Item = (&'f Flow, impl AsRef<str>)>,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO flows (id, kind, merchant, status, version, sequence, state, created_at, updated_at, parent)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let mut statement = prepare(connection, sql)?;
    for (flow, state) in flows {
        let (id, parent) = (flow.id.uuid(), flow.state.parent());
        let values = params![
            id.as_bytes().as_slice(),
            flow.state.kind(),
            flow.merchant,
            flow.state.status(),
            number(flow.version)?,
            number(flow.sequence)?,
            state.as_ref(),
            flow.created_at.as_microsecond(),
            flow.updated_at.as_microsecond(),
            parent.as_ref().map(|parent| parent.as_bytes().as_slice())
        ];
        write(&mut statement, values)?;
    }
    Ok(())
}

/// Precondition (optimistic lock): each flow is at the version that the turn read.
fn update<'c>(
    connection: &Connection,
    changes: impl Iterator<Item = (&'c FlowWrite, &'c String)>,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE flows SET status = ?2, version = ?3, sequence = ?4, state = ?5, updated_at = ?6
               WHERE id = ?1 AND version = ?7";
    let mut statement = prepare(connection, sql)?;
    for (FlowWrite { before, after, .. }, state) in changes {
        let Some(before) = before else { continue };
        let id = after.id.uuid();
        let values = params![
            id.as_bytes().as_slice(),
            after.state.status(),
            number(after.version)?,
            number(after.sequence)?,
            state,
            after.updated_at.as_microsecond(),
            number(before.version)?
        ];
        write(&mut statement, values)?;
    }
    Ok(())
}

pub fn insert_attempts(connection: &Connection, changes: &[FlowWrite]) -> Result<(), StoreError> {
    let sql = "INSERT INTO attempts (channel, reference, flow) VALUES (?1, ?2, ?3)";
    let mut statement = prepare(connection, sql)?;
    for change in changes {
        let id = change.after.id.uuid();
        for (speaker, reference) in change.new_references() {
            write(&mut statement, params![speaker, reference, id.as_bytes().as_slice()])?;
        }
    }
    Ok(())
}

/// Replaces the due row of each flow whose due time changed.
fn save_due(connection: &Connection, changes: &[FlowWrite]) -> Result<(), StoreError> {
    let sql = "DELETE FROM due WHERE lane = ?1 AND due_at = ?2 AND flow = ?3";
    let mut delete = prepare(connection, sql)?;
    let sql = "INSERT INTO due (lane, due_at, flow) VALUES (?1, ?2, ?3)";
    let mut insert = prepare(connection, sql)?;
    for change in changes {
        let (before, after) = (change.due_before(), change.after.due());
        let uuid = change.after.id.uuid();
        if before == after {
            continue;
        }
        let id = uuid.as_bytes().as_slice();
        if let Some(due) = before {
            write(&mut delete, params![due.lane, due.at.as_microsecond(), id])?;
        }
        if let Some(due) = after {
            write(&mut insert, params![due.lane, due.at.as_microsecond(), id])?;
        }
    }
    Ok(())
}

pub fn insert_keys(connection: &Connection, keys: &[KnownKey]) -> Result<(), StoreError> {
    let sql = "INSERT INTO keys (digest, scope, key, request_hash, flow, reply) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = prepare(connection, sql)?;
    for known in keys {
        let (digest, flow) = (known.key.digest(), known.flow.uuid());
        let values = params![
            digest.as_slice(),
            known.key.scope(),
            known.key.value(),
            known.request_hash.as_slice(),
            flow.as_bytes().as_slice(),
            known.text
        ];
        write(&mut statement, values)?;
    }
    Ok(())
}

fn number(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(damaged)
}
