//! Queues of flows that wait to be sent.

use bursar_core::dispatch::{
    Head, Position, Queue, QueueClaim, QueueKey, QueueWrite, Rank, Rate, group_parts, shares,
};
use bursar_core::freezes::Control;
use bursar_core::ids::FlowId;
use bursar_core::turn::{Commit, ReadPlan};
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::load::{all, first, one, prepare};
use super::row::get;
use super::save::write;
use super::{classify, flows};
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The columns that `queue` reads.
const QUEUES: &str = "SELECT grp, merchant, rank, waiting, first_due, first_flow, parked_until, pass, weight, limit_milli FROM queues";

/// The queues that the claims of a plan look at, and the flows that they read of them.
pub(super) fn claimed(
    connection: &Connection,
    plan: &ReadPlan,
    control: Option<&Control>,
) -> Result<(Vec<Head>, Vec<FlowId>), StoreError> {
    let (mut found, mut ids) = (Vec::new(), Vec::new());
    for claim in &plan.queues {
        let channel = group_parts(&claim.group).map_or("", |(_, channel)| channel);
        let frozen = control.map(|control| control.merchants_at_rest(channel)).unwrap_or_default();
        let heads = heads(connection, claim, &frozen)?;
        let sql = "SELECT due_at, flow FROM due WHERE lane = ?1 AND (due_at, flow) >= (?2, ?3) AND due_at <= ?4
                   ORDER BY due_at, flow LIMIT ?5";
        for (Head { key, queue }, share) in heads.iter().zip(shares(&heads, claim, &frozen)) {
            if share == 0 {
                continue;
            }
            let (at, flow) = (queue.first.0.as_microsecond(), queue.first.1.uuid());
            let now = claim.now.as_microsecond();
            let values = params![key.to_string(), at, flow.as_bytes().as_slice(), now, share];
            ids.extend(all(connection, sql, values, |row| flows::flow_id(row, 1))?);
        }
        found.extend(heads);
    }
    Ok((found, ids))
}

/// Those whose turn is next, and those whose time has come since. Frozen merchants sleep.
fn heads(
    connection: &Connection,
    claim: &QueueClaim,
    frozen: &[&str],
) -> Result<Vec<Head>, StoreError> {
    let limit = claim.heads();
    let awake = format!(
        "{QUEUES} WHERE grp = ?1 AND rank = ?2 AND pass IS NOT NULL ORDER BY pass, merchant LIMIT ?3"
    );
    let asleep = format!(
        "{QUEUES} WHERE grp = ?1 AND rank = ?2 AND pass IS NULL AND ready_at <= ?3 ORDER BY ready_at, merchant"
    );
    let mut asleep = prepare(connection, &asleep)?;
    let mut heads = Vec::new();
    for rank in Rank::ALL {
        let number = rank.number();
        heads.extend(all(connection, &awake, params![claim.group, number, limit], head)?);
        let values = params![claim.group, number, claim.now.as_microsecond()];
        let mut rows = asleep.query(values).map_err(|error| classify(&error))?;
        let mut left = limit;
        while left > 0 {
            let Some(row) = rows.next().map_err(|error| classify(&error))? else { break };
            let head = head(row)?;
            if !frozen.contains(&head.key.merchant.as_str()) {
                heads.push(head);
                left = left.saturating_sub(1);
            }
        }
    }
    Ok(heads)
}

/// All queues in the order of their keys.
pub(super) fn list(connection: &Connection) -> Result<Vec<(QueueKey, Queue)>, StoreError> {
    let sql = format!("{QUEUES} ORDER BY grp, merchant, rank");
    all(connection, &sql, [], |row| head(row).map(|head| (head.key, head.queue)))
}

fn head(row: &Row<'_>) -> Result<Head, StoreError> {
    let rank = Rank::from_number(get(row, 2)?).ok_or_else(|| damaged("a queue has no rank"))?;
    let key = QueueKey { group: get(row, 0)?, merchant: get(row, 1)?, rank };
    let queue = Queue {
        waiting: get(row, 3)?,
        first: (time(get(row, 4)?)?, flows::flow_id(row, 5)?),
        parked_until: get::<Option<i64>>(row, 6)?.map(time).transpose()?,
        pass: get(row, 7)?,
        weight: get(row, 8)?,
        limit: get::<Option<u32>>(row, 9)?.map(Rate::from_milli),
    };
    Ok(Head { key, queue })
}

/// Applies what a commit changes about queues. The due rows are saved before.
pub(super) fn save(
    connection: &Connection,
    commit: &Commit,
    now: Timestamp,
) -> Result<(), StoreError> {
    if commit.queues.is_empty() && commit.charges.is_empty() {
        return Ok(());
    }
    for write in &commit.queues {
        change(connection, write, now)?;
    }
    let sql =
        "UPDATE queues SET pass = pass + ?3 WHERE grp = ?1 AND merchant = ?2 AND pass IS NOT NULL";
    let mut charge = prepare(connection, sql)?;
    for it in &commit.charges {
        charge.execute(params![it.group, it.merchant, it.by]).map_err(|error| classify(&error))?;
    }
    Ok(())
}

fn change(connection: &Connection, change: &QueueWrite, now: Timestamp) -> Result<(), StoreError> {
    let QueueKey { group, merchant, rank } = &change.key;
    let number = rank.number();
    let sql = format!("{QUEUES} WHERE grp = ?1 AND merchant = ?2 AND rank = ?3");
    let before = one(connection, &sql, params![group, merchant, number], head)?;
    let before = before.map(|head| head.queue);
    let first = match change.from(before.as_ref()) {
        Some(from) => first_from(connection, &change.key, from)?,
        None => None,
    };
    let Some(after) = change.after(before.as_ref(), first, now) else {
        if before.is_some() {
            let sql = "DELETE FROM queues WHERE grp = ?1 AND merchant = ?2 AND rank = ?3";
            write(&mut *prepare(connection, sql)?, params![group, merchant, number])?;
        }
        return Ok(());
    };
    let sql = "INSERT OR REPLACE INTO queues (grp, merchant, rank, waiting, first_due, first_flow, parked_until, pass, weight, limit_milli)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let (due, flow) = (after.first.0.as_microsecond(), after.first.1.uuid());
    let values = params![
        group,
        merchant,
        number,
        after.waiting,
        due,
        flow.as_bytes().as_slice(),
        after.parked_until.map(Timestamp::as_microsecond),
        after.pass,
        after.weight,
        after.limit.map(Rate::milli)
    ];
    write(&mut *prepare(connection, sql)?, values)
}

/// The first flow that waits in a queue; none waits before the given place.
fn first_from(
    connection: &Connection,
    key: &QueueKey,
    (at, flow): Position,
) -> Result<Option<Position>, StoreError> {
    let sql = "SELECT due_at, flow FROM due WHERE lane = ?1 AND (due_at, flow) >= (?2, ?3)
               ORDER BY due_at, flow LIMIT 1";
    let flow: Uuid = flow.uuid();
    let values = params![key.to_string(), at.as_microsecond(), flow.as_bytes().as_slice()];
    let read = |row: &Row<'_>| Ok((time(get(row, 0)?)?, flows::flow_id(row, 1)?));
    first(&mut *prepare(connection, sql)?, values, read)
}
