//! Queues of flows that wait to be sent.

use bursar_core::dispatch::{
    Charge, Head, Position, Queue, QueueClaim, QueueKey, QueueWrite, Rank, Rate, group_parts,
    shares,
};
use bursar_core::freezes::Control;
use bursar_core::ids::FlowId;
use bursar_core::turn::Commit;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};
use uuid::Uuid;

use super::flows::FLOWS;
use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::{damaged, time};

/// The columns that `head` reads.
const COLUMNS: &str = "q.grp, q.merchant, q.rank, q.waiting, q.first_due, q.first_flow, q.parked_until, q.pass, q.weight, q.limit_milli";

/// The flows that a claim reads of its heads, and the heads: those whose turn is next, and those whose time has come since.
pub(super) async fn claimed(
    session: &Session<'_, impl GenericClient>,
    claim: &QueueClaim,
    control: Option<&Control>,
) -> Result<(Vec<Head>, Vec<Row>), StoreError> {
    let channel = group_parts(&claim.group).map_or("", |(_, channel)| channel);
    let frozen = control.map(|control| control.merchants_at_rest(channel)).unwrap_or_default();
    let sql = format!(
        "SELECT {COLUMNS} FROM generate_series(0, 3) AS r (rank) CROSS JOIN LATERAL (
            (SELECT * FROM queues WHERE grp = $1 AND queues.rank = r.rank AND pass IS NOT NULL
             ORDER BY pass, merchant LIMIT $2)
            UNION ALL
            (SELECT * FROM queues WHERE grp = $1 AND queues.rank = r.rank AND pass IS NULL AND ready_at <= $3
                 AND merchant <> ALL ($4) ORDER BY ready_at, merchant LIMIT $2)) AS q"
    );
    let (limit, now) = (i64::from(claim.heads()), claim.now.as_microsecond());
    let values: [&(dyn ToSql + Sync); 4] = [&claim.group, &limit, &now, &frozen];
    let rows = session.query(&sql, &values).await?;
    let heads = rows.iter().map(|row| head(row, 0)).collect::<Result<Vec<Head>, _>>()?;
    let shares = shares(&heads, claim, &frozen);
    let read: Vec<(&Head, i64)> =
        heads.iter().zip(shares.into_iter().map(i64::from)).filter(|(_, it)| *it > 0).collect();
    if read.is_empty() {
        return Ok((heads, Vec::new()));
    }
    let lanes: Vec<String> = read.iter().map(|(head, _)| head.key.to_string()).collect();
    let limits: Vec<i64> = read.iter().map(|(_, share)| *share).collect();
    let times: Vec<i64> =
        read.iter().map(|(head, _)| head.queue.first.0.as_microsecond()).collect();
    let flows: Vec<Uuid> = read.iter().map(|(head, _)| head.queue.first.1.uuid()).collect();
    let sql = format!(
        "SELECT c.* FROM unnest($1::text[], $2::bigint[], $3::uuid[], $4::bigint[]) AS k (lane, due_at, flow, taken)
         CROSS JOIN LATERAL ({FLOWS} JOIN due d ON d.flow = f.id
            WHERE d.lane = k.lane AND (d.due_at, d.flow) >= (k.due_at, k.flow) AND d.due_at <= $5
            ORDER BY d.due_at, d.flow LIMIT k.taken FOR UPDATE OF f SKIP LOCKED) AS c"
    );
    let values: [&(dyn ToSql + Sync); 5] = [&lanes, &times, &flows, &limits, &now];
    let rows = session.query(&sql, &values).await?;
    Ok((heads, rows))
}

/// All queues in the order of their keys.
pub(super) async fn list(
    session: &Session<'_, impl GenericClient>,
) -> Result<Vec<(QueueKey, Queue)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM queues q ORDER BY q.grp, q.merchant, q.rank");
    let rows = session.query(&sql, &[]).await?;
    rows.iter().map(|row| head(row, 0).map(|head| (head.key, head.queue))).collect()
}

fn head(row: &Row, column: usize) -> Result<Head, StoreError> {
    let at = |place: usize| column.saturating_add(place);
    let rank = Rank::from_number(i64::from(get::<i16>(row, at(2))?));
    let key = QueueKey {
        group: get(row, at(0))?,
        merchant: get(row, at(1))?,
        rank: rank.ok_or_else(|| damaged("a queue has no rank"))?,
    };
    let limit: Option<i32> = get(row, at(9))?;
    let limit = limit.map(u32::try_from).transpose().map_err(damaged)?;
    let queue = Queue {
        waiting: get(row, at(3))?,
        first: (time(get(row, at(4))?)?, FlowId::from_uuid(get(row, at(5))?)),
        parked_until: get::<Option<i64>>(row, at(6))?.map(time).transpose()?,
        pass: get(row, at(7))?,
        weight: u32::try_from(get::<i32>(row, at(8))?).map_err(damaged)?,
        limit: limit.map(Rate::from_milli),
    };
    Ok(Head { key, queue })
}

/// The queues as they are, and the first flow that waits in each. No flow waits before the place that is stored, or before
/// the first of those that came.
const READ: &str = "SELECT k.place, p.due_at, p.flow, q.grp, q.merchant, q.rank, q.waiting, q.first_due, q.first_flow, q.parked_until, q.pass, q.weight, q.limit_milli
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[], $5::text[], $6::bigint[], $7::uuid[])
        AS k (place, grp, merchant, rank, lane, due_at, flow)
    LEFT JOIN queues q ON q.grp = k.grp AND q.merchant = k.merchant AND q.rank = k.rank
    LEFT JOIN LATERAL (SELECT d.due_at, d.flow FROM due d
        WHERE d.lane = k.lane AND (d.due_at, d.flow) >= (
            CASE WHEN q.first_due IS NULL OR (k.due_at, k.flow) < (q.first_due, q.first_flow) THEN k.due_at ELSE q.first_due END,
            CASE WHEN q.first_due IS NULL OR (k.due_at, k.flow) < (q.first_due, q.first_flow) THEN k.flow ELSE q.first_flow END)
        ORDER BY d.due_at, d.flow LIMIT 1) AS p ON true";
const DELETE: &str = "DELETE FROM queues q USING unnest($1::text[], $2::text[], $3::smallint[]) AS k (grp, merchant, rank)
    WHERE q.grp = k.grp AND q.merchant = k.merchant AND q.rank = k.rank";
const PUT: &str = "INSERT INTO queues (grp, merchant, rank, waiting, first_due, first_flow, parked_until, pass, weight, limit_milli)
    SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bigint[],
                         $8::bigint[], $9::integer[], $10::integer[])
    ON CONFLICT (grp, merchant, rank) DO UPDATE SET waiting = excluded.waiting, first_due = excluded.first_due,
        first_flow = excluded.first_flow, parked_until = excluded.parked_until,
        pass = excluded.pass, weight = excluded.weight, limit_milli = excluded.limit_milli";
const CHARGE: &str = "UPDATE queues q SET pass = q.pass + k.by
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (grp, merchant, by)
    WHERE q.grp = k.grp AND q.merchant = k.merchant AND q.pass IS NOT NULL";

/// Applies what a commit changes about queues, while the turn holds the lock of the head. The due rows are saved before.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let Some(now) = commit.time else { return Ok(()) };
    if !commit.queues.is_empty() {
        let before = read(session, &commit.queues).await?;
        let (mut ended, mut put) = (Vec::new(), Vec::new());
        for (write, (before, first)) in commit.queues.iter().zip(&before) {
            match write.after(before.as_ref(), *first, now) {
                Some(after) => put.push((&write.key, after)),
                None if before.is_some() => ended.push(&write.key),
                None => {}
            }
        }
        let (groups, merchants, ranks) = columns(ended.iter().copied());
        session.write(DELETE, &[&groups, &merchants, &ranks], ended.len()).await?;
        save_all(session, &put).await?;
    }
    if commit.charges.is_empty() {
        return Ok(());
    }
    let charges = || commit.charges.iter();
    let groups: Vec<&str> = charges().map(|Charge { group, .. }| group.as_str()).collect();
    let merchants: Vec<&str> = charges().map(|it| it.merchant.as_str()).collect();
    let by: Vec<i64> = charges().map(|it| it.by).collect();
    session.query(CHARGE, &[&groups, &merchants, &by]).await?;
    Ok(())
}

/// For each change: the queue, and the first flow that waits in it.
async fn read(
    session: &Session<'_, Transaction<'_>>,
    writes: &[QueueWrite],
) -> Result<Vec<(Option<Queue>, Option<Position>)>, StoreError> {
    let places: Vec<i64> = (0..).take(writes.len()).collect();
    let (groups, merchants, ranks) = columns(writes.iter().map(|write| &write.key));
    let lanes: Vec<String> = writes.iter().map(|write| write.key.to_string()).collect();
    // Without one that came, the stored place is the earlier one.
    let earliest = |write: &QueueWrite| match write.earliest {
        Some((at, flow)) => (at.as_microsecond(), flow.uuid()),
        None => (i64::MAX, Uuid::max()),
    };
    let (times, flows): (Vec<i64>, Vec<Uuid>) = writes.iter().map(earliest).unzip();
    let values: [&(dyn ToSql + Sync); 7] =
        [&places, &groups, &merchants, &ranks, &lanes, &times, &flows];
    let mut found = vec![(None, None); writes.len()];
    for row in session.query(READ, &values).await? {
        let place = usize::try_from(get::<i64>(&row, 0)?).map_err(damaged)?;
        let at: Option<i64> = get(&row, 1)?;
        let flow: Option<Uuid> = get(&row, 2)?;
        let first = match (at, flow) {
            (Some(at), Some(flow)) => Some((time(at)?, FlowId::from_uuid(flow))),
            (None, _) | (_, None) => None,
        };
        let is_there = get::<Option<&str>>(&row, 3)?.is_some();
        let queue = is_there.then(|| head(&row, 3)).transpose()?.map(|head| head.queue);
        if let Some(found) = found.get_mut(place) {
            *found = (queue, first);
        }
    }
    Ok(found)
}

async fn save_all(
    session: &Session<'_, Transaction<'_>>,
    queues: &[(&QueueKey, Queue)],
) -> Result<(), StoreError> {
    let (groups, merchants, ranks) = columns(queues.iter().map(|(key, _)| *key));
    let column = |part: fn(&Queue) -> i64| -> Vec<i64> {
        queues.iter().map(|(_, queue)| part(queue)).collect()
    };
    let waiting = column(|queue| queue.waiting);
    let times = column(|queue| queue.first.0.as_microsecond());
    let flows: Vec<Uuid> = queues.iter().map(|(_, queue)| queue.first.1.uuid()).collect();
    let parked: Vec<Option<i64>> =
        queues.iter().map(|(_, queue)| queue.parked_until.map(Timestamp::as_microsecond)).collect();
    let passes: Vec<Option<i64>> = queues.iter().map(|(_, queue)| queue.pass).collect();
    let weights = queues.iter().map(|(_, queue)| i32::try_from(queue.weight).map_err(damaged));
    let weights = weights.collect::<Result<Vec<i32>, _>>()?;
    let limits = queues.iter().map(|(_, queue)| queue.limit.map(Rate::milli));
    let limits = limits.map(|limit| limit.map(i32::try_from).transpose().map_err(damaged));
    let limits = limits.collect::<Result<Vec<Option<i32>>, _>>()?;
    let values: [&(dyn ToSql + Sync); 10] = [
        &groups, &merchants, &ranks, &waiting, &times, &flows, &parked, &passes, &weights, &limits,
    ];
    session.write(PUT, &values, queues.len()).await
}

fn columns<'k>(keys: impl Iterator<Item = &'k QueueKey>) -> (Vec<&'k str>, Vec<&'k str>, Vec<i16>) {
    let (mut groups, mut merchants, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
    for QueueKey { group, merchant, rank } in keys {
        groups.push(group.as_str());
        merchants.push(merchant.as_str());
        ranks.push(i16::from(rank.number()));
    }
    (groups, merchants, ranks)
}
