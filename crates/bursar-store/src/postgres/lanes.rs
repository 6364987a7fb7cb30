//! Flows by lane: fair claims from a family of lanes, pages of one lane, and the deliveries of an event.

use bursar_core::flow::Flow;
use bursar_core::ids::{EventId, FlowId};
use bursar_core::turn::FairClaim;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row};

use super::flows::{FLOWS, flow};
use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::browse::{LaneCursor, is_of};
use crate::chart_lines::time;

/// Loose index scan: one index probe per distinct lane, then a limited number of flows from each.
pub(super) async fn claim_fair(
    session: &Session<'_, impl GenericClient>,
    claim: &FairClaim,
) -> Result<Vec<Row>, StoreError> {
    let sql = format!(
        "WITH RECURSIVE lanes (lane) AS (
            (SELECT lane FROM due WHERE lane > $1 AND lane < $2 ORDER BY lane LIMIT 1)
            UNION ALL
            SELECT (SELECT lane FROM due WHERE lane > lanes.lane AND lane < $2 ORDER BY lane LIMIT 1)
            FROM lanes WHERE lanes.lane IS NOT NULL)
        {FLOWS} JOIN (
            SELECT d.flow FROM lanes CROSS JOIN LATERAL (
                SELECT flow FROM due WHERE due.lane = lanes.lane AND due_at <= $3
                ORDER BY due_at, flow
                LIMIT coalesce((SELECT room FROM unnest($5::text[], $6::bigint[]) AS r (lane, room)
                                WHERE r.lane = lanes.lane), $4)) d
            LIMIT $7) k ON f.id = k.flow
        FOR UPDATE OF f SKIP LOCKED"
    );
    let (lanes, rooms): (Vec<&str>, Vec<i64>) =
        claim.rooms.iter().map(|(lane, room)| (lane.as_str(), i64::from(*room))).unzip();
    let values: [&(dyn ToSql + Sync); 7] = [
        &claim.begin(),
        &claim.end(),
        &claim.now.as_microsecond(),
        &i64::from(claim.each),
        &lanes,
        &rooms,
        &i64::from(claim.limit),
    ];
    session.query(&sql, &values).await
}

/// The deliveries of an event. Their ids share the prefix of its id.
pub(super) async fn deliveries_of(
    session: &Session<'_, impl GenericClient>,
    event: EventId,
) -> Result<Vec<Flow>, StoreError> {
    let (first, last) = event.deliveries();
    let sql = format!("{FLOWS} WHERE f.id BETWEEN $1 AND $2 AND f.kind = 'delivery' ORDER BY f.id");
    let rows = session.query(&sql, &[&first.uuid(), &last.uuid()]).await?;
    let mut found = rows.iter().map(flow).collect::<Result<Vec<_>, _>>()?;
    found.retain(|flow| is_of(flow, event));
    Ok(found)
}

/// Flows of a lane before a cursor, latest due time first.
pub(super) async fn keys(
    session: &Session<'_, impl GenericClient>,
    lane: &str,
    (at, flow): LaneCursor,
    limit: usize,
) -> Result<Vec<LaneCursor>, StoreError> {
    let sql = "SELECT due_at, flow FROM due WHERE lane = $1 AND (due_at, flow) < ($2, $3)
               ORDER BY due_at DESC, flow DESC LIMIT $4";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values: [&(dyn ToSql + Sync); 4] = [&lane, &at.as_microsecond(), &flow.uuid(), &limit];
    let cursor = |row| Ok((time(get(row, 0)?)?, FlowId::from_uuid(get(row, 1)?)));
    session.query(sql, &values).await?.iter().map(cursor).collect()
}
