//! Flows and their due rows.
//!
//! A turn first locks the flows that it names, in the order of their ids. It then claims due flows with SKIP LOCKED. So
//! turns cannot deadlock, and two turns never step one flow at once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::dispatch::Head;
use bursar_core::flow::{DecodedFlow, Due, Flow};
use bursar_core::freezes::Control;
use bursar_core::ids::{FlowId, KeyRange};
use bursar_core::turn::{Commit, DueClaim, FlowWrite, ReadPlan};
use futures_util::future::{join, join_all};
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};
use uuid::Uuid;

use super::copy::{self, MANY};
use super::row::get;
use super::session::Session;
use super::{keys, lanes, queues};
use crate::StoreError;
use crate::browse::FlowFilter;
use crate::chart_lines::{damaged, time};

/// The columns that `flow` reads.
pub(super) const FLOWS: &str = "SELECT f.id, f.kind, f.merchant, f.version, f.sequence, f.state, f.created_at, f.updated_at, f.status, f.parent FROM flows f";

const UPDATE: &str = "UPDATE flows f
    SET status = k.status, version = k.version, sequence = k.sequence, state = k.state, updated_at = k.updated_at
    FROM (SELECT unnest($1::uuid[]) AS id, unnest($2::text[]) AS status, unnest($3::bigint[]) AS version,
                 unnest($4::bigint[]) AS sequence, unnest($5::text[]) AS state, unnest($6::bigint[]) AS updated_at,
                 unnest($7::bigint[]) AS before) AS k
    WHERE f.id = k.id AND f.version = k.before";
/// One index probe per row: a plan made on an empty table must not scan a full one. The turn has locked the flows, so the
/// row addresses (`ctid`) stay valid.
const DELETE_DUE: &str = "DELETE FROM due WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM (SELECT unnest($1::text[]) AS lane, unnest($2::bigint[]) AS due_at, unnest($3::uuid[]) AS flow) AS k
        CROSS JOIN LATERAL (SELECT d.ctid FROM due d
            WHERE d.lane = k.lane AND d.due_at = k.due_at AND d.flow = k.flow LIMIT 1) AS found))";

/// The flows of a plan, those that cannot be decoded, and the queues that claims have read.
pub(super) struct Loaded {
    pub(super) flows: Vec<Arc<Flow>>,
    pub(super) unreadable: Vec<FlowId>,
    pub(super) queues: Vec<Head>,
}

pub(super) async fn load(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
    control: Option<&Control>,
) -> Result<Loaded, StoreError> {
    let (mut rows, mut queues) = (Vec::new(), Vec::new());
    let mut named = plan.flows.clone();
    if !plan.attempts.is_empty() || !plan.made_under.is_empty() {
        named.extend(referred(session, plan).await?);
    }
    if !named.is_empty() {
        let ids: Vec<Uuid> = named.iter().map(|id| id.uuid()).collect();
        let sql = format!("{FLOWS} WHERE f.id = ANY($1) ORDER BY f.id FOR UPDATE");
        rows.extend(session.query(&sql, &[&ids]).await?);
    }
    for found in join_all(plan.due.iter().map(|claim| claimed(session, claim))).await {
        rows.extend(found?);
    }
    for claim in &plan.fair {
        rows.extend(lanes::claim_fair(session, claim).await?);
    }
    let claims = plan.queues.iter().map(|claim| queues::claimed(session, claim, control));
    for found in join_all(claims).await {
        let (heads, found) = found?;
        queues.extend(heads);
        rows.extend(found);
    }
    let (mut flows, mut unreadable) = (BTreeMap::new(), Vec::new());
    for row in &rows {
        match flow(row) {
            Ok(flow) => {
                flows.insert(flow.id, Arc::new(flow));
            }
            // An undecodable row must not fail the whole turn.
            Err(StoreError::Corrupt(_)) => unreadable.push(FlowId::from_uuid(get(row, 0)?)),
            Err(error) => return Err(error),
        }
    }
    Ok(Loaded { flows: flows.into_values().collect(), unreadable, queues })
}

/// The flows with the external references of the plan. A range of keys is one index probe.
async fn referred(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<FlowId>, StoreError> {
    let names = plan.attempts.iter().map(|(channel, name)| (channel.as_str(), name.as_str()));
    let (channels, references): (Vec<&str>, Vec<&str>) = names.unzip();
    let ranges = plan.made_under.iter().map(|keys| (keys.first().to_vec(), keys.last().to_vec()));
    let (first, last): (Vec<Vec<u8>>, Vec<Vec<u8>>) = ranges.unzip();
    let sql = format!(
        "SELECT flow FROM attempts
               JOIN unnest($1::text[], $2::text[]) AS k (channel, reference) USING (channel, reference)
               UNION ALL
               SELECT made.flow FROM unnest($3::bytea[], $4::bytea[]) AS k (first, last)
               CROSS JOIN LATERAL (SELECT flow FROM keys
                   WHERE digest BETWEEN k.first AND k.last ORDER BY digest LIMIT {}) AS made",
        KeyRange::SIZE
    );
    let rows = session.query(&sql, &[&channels, &references, &first, &last]).await?;
    rows.iter().map(|row| Ok(FlowId::from_uuid(get(row, 0)?))).collect()
}

async fn claimed(
    session: &Session<'_, impl GenericClient>,
    claim: &DueClaim,
) -> Result<Vec<Row>, StoreError> {
    let sql = format!(
        "{FLOWS} JOIN due d ON d.flow = f.id WHERE d.lane = $1 AND d.due_at <= $2
         ORDER BY d.due_at, d.flow LIMIT $3 FOR UPDATE SKIP LOCKED"
    );
    let values: [&(dyn ToSql + Sync); 3] =
        [&claim.lane, &claim.now.as_microsecond(), &i64::from(claim.limit)];
    session.query(&sql, &values).await
}

pub(super) async fn find(
    session: &Session<'_, impl GenericClient>,
    id: FlowId,
) -> Result<Option<Flow>, StoreError> {
    let sql = format!("{FLOWS} WHERE f.id = $1");
    session.query(&sql, &[&id.uuid()]).await?.first().map(flow).transpose()
}

/// Flows after an id, in order.
pub(super) async fn page(
    session: &Session<'_, impl GenericClient>,
    after: Option<FlowId>,
    limit: u32,
) -> Result<Vec<Flow>, StoreError> {
    let after = after.map_or(Uuid::nil(), FlowId::uuid);
    let sql = format!("{FLOWS} WHERE f.id > $1 ORDER BY f.id LIMIT $2");
    session.query(&sql, &[&after, &i64::from(limit)]).await?.iter().map(flow).collect()
}

/// Flows of the filter's index with their statuses, newest first.
pub(super) async fn listed(
    session: &Session<'_, impl GenericClient>,
    filter: &FlowFilter,
    (below, from): (FlowId, FlowId),
    limit: usize,
) -> Result<Vec<(FlowId, String)>, StoreError> {
    let index: (&str, &(dyn ToSql + Sync)) = match (&filter.parent, &filter.merchant) {
        (Some(parent), _) => ("parent = $1", parent),
        (None, Some(merchant)) => ("merchant COLLATE \"C\" = $1", merchant),
        (None, None) => ("$1::text IS NULL", &None::<&str>),
    };
    let (condition, value) = index;
    let sql = format!(
        "SELECT id, status FROM flows WHERE {condition} AND kind COLLATE \"C\" = $2 AND id < $3 AND id >= $4
         ORDER BY id DESC LIMIT $5"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values: [&(dyn ToSql + Sync); 5] =
        [value, &filter.kind, &below.uuid(), &from.uuid(), &limit];
    let key = |row| Ok((FlowId::from_uuid(get(row, 0)?), get(row, 1)?));
    session.query(&sql, &values).await?.iter().map(key).collect()
}

/// These flows in this order. None for a flow that cannot be decoded.
pub(super) async fn by_id(
    session: &Session<'_, impl GenericClient>,
    ids: &[FlowId],
) -> Result<Vec<Option<Flow>>, StoreError> {
    let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let sql = format!("{FLOWS} WHERE f.id = ANY($1)");
    let rows = session.query(&sql, &[&uuids]).await?;
    let readable = rows.iter().filter_map(|row| flow(row).ok());
    let mut found: BTreeMap<FlowId, Flow> = readable.map(|flow| (flow.id, flow)).collect();
    Ok(ids.iter().map(|id| found.remove(id)).collect())
}

pub(super) fn flow(row: &Row) -> Result<Flow, StoreError> {
    let DecodedFlow { state, backoff, host } =
        Flow::decode(get(row, 1)?, get(row, 5)?).map_err(damaged)?;
    if get::<&str>(row, 8)? != state.status() {
        return Err(damaged("a flow has another status than its state"));
    }
    if get::<Option<Uuid>>(row, 9)? != state.parent() {
        return Err(damaged("a flow has another parent than its state"));
    }
    Ok(Flow {
        id: FlowId::from_uuid(get(row, 0)?),
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

/// Updates existing flows. The turn has locked them, so this waits for no other turn.
pub(super) async fn change(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
    deleted: &DueRows,
) -> Result<(), StoreError> {
    let known: Vec<&FlowWrite> =
        commit.flows.iter().filter(|change| change.before.is_some()).collect();
    session.prepare_all(&[UPDATE, DELETE_DUE]).await?;
    let (updated, removed) = join(
        update_flows(session, &known),
        session.write(
            DELETE_DUE,
            &[&deleted.lanes, &deleted.times, &deleted.flows],
            deleted.flows.len(),
        ),
    )
    .await;
    updated?;
    removed
}

/// Inserts idempotency keys, new flows, new attempts and new due rows.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
    inserted: &DueRows,
) -> Result<(), StoreError> {
    keys::save(session, &commit.keys).await?;
    let new: Vec<&FlowWrite> =
        commit.flows.iter().filter(|change| change.before.is_none()).collect();
    if new.len() < MANY {
        insert_flows(session, &new).await?;
        save_attempts(session, &commit.flows).await?;
    } else {
        let flows = new.iter().map(|change| &*change.after);
        copy::flows(session, flows.map(|flow| (flow, flow.encode()))).await?;
        copy::attempts(session, &commit.flows).await?;
    }
    if inserted.flows.len() >= MANY {
        return copy::due(session, inserted.rows()).await;
    }
    let sql = "INSERT INTO due (lane, due_at, flow) SELECT * FROM unnest($1::text[], $2::bigint[], $3::uuid[])";
    session
        .write(sql, &[&inserted.lanes, &inserted.times, &inserted.flows], inserted.flows.len())
        .await
}

async fn save_attempts(
    session: &Session<'_, Transaction<'_>>,
    changes: &[FlowWrite],
) -> Result<(), StoreError> {
    let rows: Vec<(Cow<'_, str>, &str, Uuid)> = changes
        .iter()
        .flat_map(|change| {
            let new = change.new_references();
            new.map(|(speaker, reference)| (speaker, reference, change.after.id.uuid()))
        })
        .collect();
    let channels: Vec<&str> = rows.iter().map(|(speaker, ..)| &**speaker).collect();
    let references: Vec<&str> = rows.iter().map(|(_, reference, _)| *reference).collect();
    let flows: Vec<Uuid> = rows.iter().map(|(.., flow)| *flow).collect();
    let sql = "INSERT INTO attempts (channel, reference, flow)
               SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[])";
    session.write(sql, &[&channels, &references, &flows], rows.len()).await
}

/// The columns of due rows to delete or to insert.
#[derive(Default)]
pub(super) struct DueRows {
    pub(super) lanes: Vec<String>,
    pub(super) times: Vec<i64>,
    pub(super) flows: Vec<Uuid>,
}

impl DueRows {
    /// The rows that a commit deletes, and the rows that it inserts.
    pub(super) fn of(commit: &Commit) -> (Self, Self) {
        let (mut deleted, mut inserted) = (Self::default(), Self::default());
        for change in &commit.flows {
            let (before, after) = (change.due_before(), change.after.due());
            if before != after {
                deleted.extend(before, change.after.id);
                inserted.extend(after, change.after.id);
            }
        }
        (deleted, inserted)
    }

    fn rows(&self) -> impl Iterator<Item = (&str, i64, Uuid)> {
        let rows = self.lanes.iter().zip(&self.times).zip(&self.flows);
        rows.map(|((lane, time), flow)| (lane.as_str(), *time, *flow))
    }

    fn extend(&mut self, due: Option<Due>, flow: FlowId) {
        if let Some(due) = due {
            self.lanes.push(due.lane);
            self.times.push(due.at.as_microsecond());
            self.flows.push(flow.uuid());
        }
    }
}

async fn insert_flows(
    session: &Session<'_, Transaction<'_>>,
    new: &[&FlowWrite],
) -> Result<(), StoreError> {
    let Columns { ids, statuses, versions, sequences, states, updated } = Columns::new(new)?;
    let kinds: Vec<&str> = new.iter().map(|change| change.after.state.kind()).collect();
    let merchants: Vec<&str> = new.iter().map(|change| change.after.merchant.as_str()).collect();
    let created: Vec<i64> =
        new.iter().map(|change| change.after.created_at.as_microsecond()).collect();
    let parents: Vec<Option<Uuid>> = new.iter().map(|change| change.after.state.parent()).collect();
    let sql = "INSERT INTO flows (id, kind, merchant, status, version, sequence, state, created_at, updated_at, parent)
               SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
                                    $7::text[], $8::bigint[], $9::bigint[], $10::uuid[])";
    let values: [&(dyn ToSql + Sync); 10] = [
        &ids, &kinds, &merchants, &statuses, &versions, &sequences, &states, &created, &updated,
        &parents,
    ];
    session.write(sql, &values, new.len()).await
}

/// Precondition (optimistic lock): each flow is at the version that the turn read.
async fn update_flows(
    session: &Session<'_, Transaction<'_>>,
    known: &[&FlowWrite],
) -> Result<(), StoreError> {
    let Columns { ids, statuses, versions, sequences, states, updated } = Columns::new(known)?;
    let before = |change: &&FlowWrite| change.before.as_ref().map_or(0, |flow| flow.version);
    let before = known.iter().map(|change| i64::try_from(before(change)).map_err(damaged));
    let before = before.collect::<Result<Vec<i64>, _>>()?;
    let values: [&(dyn ToSql + Sync); 7] =
        [&ids, &statuses, &versions, &sequences, &states, &updated, &before];
    session.write(UPDATE, &values, known.len()).await
}

/// The columns that both INSERT and UPDATE write.
struct Columns {
    ids: Vec<Uuid>,
    statuses: Vec<&'static str>,
    versions: Vec<i64>,
    sequences: Vec<i64>,
    states: Vec<String>,
    updated: Vec<i64>,
}

impl Columns {
    fn new(changes: &[&FlowWrite]) -> Result<Self, StoreError> {
        let flows = || changes.iter().map(|change| &*change.after);
        let number = |number: u64| i64::try_from(number).map_err(damaged);
        Ok(Self {
            ids: flows().map(|flow| flow.id.uuid()).collect(),
            statuses: flows().map(|flow| flow.state.status()).collect(),
            versions: flows().map(|flow| number(flow.version)).collect::<Result<_, _>>()?,
            sequences: flows().map(|flow| number(flow.sequence)).collect::<Result<_, _>>()?,
            states: flows().map(Flow::encode).collect(),
            updated: flows().map(|flow| flow.updated_at.as_microsecond()).collect(),
        })
    }
}
