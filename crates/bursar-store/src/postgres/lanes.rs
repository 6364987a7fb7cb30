//! Flows by lane: fair claims from a family of lanes, pages of one lane, and the deliveries of an event.

use bursar_core::flow::Flow;
use bursar_core::ids::EventId;
use bursar_core::turn::FairClaim;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row};

use super::flows::{FLOWS, flow};
use super::session::Session;
use crate::StoreError;
use crate::browse::is_of;

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

/// Flows of a lane, latest first, from a window of rows: `$1` is the lane, `$2` the window, `$3` the limit; the condition
/// has the rest, and the last two are the cursor.
pub(super) async fn list_lane_desc(
    session: &Session<'_, impl GenericClient>,
    condition: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Flow>, StoreError> {
    let sql = format!(
        "{FLOWS} JOIN (SELECT due_at, flow FROM due WHERE lane = $1 AND (due_at, flow) < ($10, $11)
                       ORDER BY due_at DESC, flow DESC LIMIT $2) d ON f.id = d.flow
         WHERE {condition} ORDER BY d.due_at DESC, d.flow DESC LIMIT $3"
    );
    let rows = session.query(&sql, values).await?;
    Ok(rows.iter().filter_map(|row| flow(row).ok()).collect())
}
