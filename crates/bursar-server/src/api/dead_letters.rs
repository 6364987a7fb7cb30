//! Dead letters: what nobody took, and many of them once more.

use std::collections::BTreeSet;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::StatusCode;
use bursar_core::delivery::{CANCELLED, DEAD};
use bursar_core::flow::Flow;
use bursar_core::ids::{DeliveryId, EndpointId};
use bursar_core::request::{Body, Mail};
use bursar_store::{Browse as _, FlowFilter, LanePlace};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::deliveries::{Delivery, parse_endpoint, seen};
use super::pages::{Listed, Page, bad_cursor};
use crate::App;
use crate::auth::Caller;
use crate::extract::{Optional, Query};
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// To this endpoint only.
    endpoint_id: Option<String>,
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Of events at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// What nobody took, the latest first.
#[utoipa::path(get, path = "/v1/dead-letters", tag = "dead letters", params(Filter),
    responses((status = 200, body = Listed<Delivery>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<Delivery>>, Problem> {
    let page = Page { cursor: filter.cursor, limit: filter.limit };
    let limit = page.limit()?;
    let place = page.cursor.as_deref().map(|text| parse_place(text).ok_or_else(bad_cursor));
    let place = place.transpose()?;
    let wanted = wanted(&caller, filter.endpoint_id.as_deref(), filter.merchant_id, filter.since)?;
    let found =
        app.0.readers.read(async move |store| store.lane_back(DEAD, &wanted, place, limit).await);
    let found = found.await?;
    Ok(Reply(Listed {
        data: found.flows.iter().filter_map(seen).collect(),
        next_cursor: found.next.map(|(at, id)| format!("{}.{id}", at.as_microsecond())),
    }))
}

fn wanted(
    caller: &Caller,
    endpoint: Option<&str>,
    merchant: Option<String>,
    from: Option<Timestamp>,
) -> Result<FlowFilter, Problem> {
    let endpoint = endpoint.map(parse_endpoint).transpose()?;
    let merchant = caller.narrowed(merchant)?;
    Ok(FlowFilter { kind: "delivery", merchant, from, endpoint, ..FlowFilter::default() })
}

fn parse_place(text: &str) -> Option<LanePlace> {
    let (at, id) = text.split_once('.')?;
    Some((Timestamp::from_microsecond(at.parse().ok()?).ok()?, id.parse().ok()?))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkReplay {
    /// To this endpoint only.
    endpoint_id: Option<String>,
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Of events at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Also what was cancelled because its endpoint was off.
    #[serde(default)]
    include_cancelled: bool,
    /// How many at most; ask again for more.
    #[schema(minimum = 1, maximum = 10_000, default = 1_000)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BulkReplayed {
    /// How many are sent again.
    replayed: u32,
    /// How many were passed over, because their endpoint is off.
    passed_over: u32,
    /// There may be more: ask again.
    has_more: bool,
}

/// Send many of them again, the latest first. They wait behind everything that is new, and no endpoint gets more at once
/// than it takes.
#[utoipa::path(post, path = "/v1/dead-letters/replay", tag = "dead letters", request_body = Option<BulkReplay>,
    responses((status = 202, body = BulkReplayed), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Optional(bulk): Optional<BulkReplay>,
) -> Result<(StatusCode, Reply<BulkReplayed>), Problem> {
    let limit = bulk.limit.unwrap_or(1_000);
    if !(1..=10_000).contains(&limit) {
        return Err(Problem::bad_request("limit is 1 to 10000: nothing was done. Ask for less"));
    }
    let endpoint = bulk.endpoint_id.as_deref().map(parse_endpoint).transpose()?;
    let merchant = caller.narrowed(bulk.merchant_id)?;
    let from = bulk.since;
    let wanted = FlowFilter { kind: "delivery", merchant, from, endpoint, ..FlowFilter::default() };
    let mut done = BulkReplayed { replayed: 0, passed_over: 0, has_more: false };
    let lanes = [Some(DEAD), bulk.include_cancelled.then_some(CANCELLED)];
    for lane in lanes.into_iter().flatten() {
        let mut place: Option<LanePlace> = None;
        loop {
            let left = limit.saturating_sub(done.replayed).saturating_sub(done.passed_over);
            let left = left.min(PAGE);
            if left == 0 {
                done.has_more = true;
                break;
            }
            let filter = wanted.clone();
            let page = app
                .0
                .readers
                .read(async move |store| store.lane_back(lane, &filter, place, left).await);
            let page = page.await?;
            app.replay_page(&caller, &page.flows, &mut done).await?;
            place = page.next;
            if place.is_none() {
                break;
            }
        }
    }
    Ok((StatusCode::ACCEPTED, Reply(done)))
}

/// How many are asked for in one turn.
const PAGE: u32 = 500;

impl App {
    /// Endpoint by endpoint, so that one that is off keeps nobody else's back.
    async fn replay_page(
        &self,
        caller: &Caller,
        flows: &[Flow],
        done: &mut BulkReplayed,
    ) -> Result<(), Problem> {
        let endpoint = |flow: &Flow| flow.state.delivery().map(|found| found.terms.endpoint);
        let endpoints: BTreeSet<EndpointId> = flows.iter().filter_map(endpoint).collect();
        for of in endpoints {
            let theirs = flows.iter().filter(|flow| endpoint(flow) == Some(of));
            let deliveries: BTreeSet<DeliveryId> =
                theirs.map(|flow| DeliveryId::from_uuid(flow.id.uuid())).collect();
            let count = u32::try_from(deliveries.len()).unwrap_or(u32::MAX);
            let actor = caller.actor.clone();
            match self.ask(Body::Mail(Mail::Replay { actor, deliveries })).await {
                Ok(_) => done.replayed = done.replayed.saturating_add(count),
                Err(problem) if problem.is_refusal() => {
                    done.passed_over = done.passed_over.saturating_add(count);
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }
}
