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
        next_cursor: found.next.map(spell),
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

fn spell((at, id): LanePlace) -> String {
    format!("{}.{id}", at.as_microsecond())
}

/// A lane, and a place in it if somebody has been there.
fn parse_begin(text: &str) -> Option<(&'static str, Option<LanePlace>)> {
    let (lane, place) =
        text.split_once('.').map_or((text, None), |(lane, rest)| (lane, Some(rest)));
    let lane = [DEAD, CANCELLED].into_iter().find(|known| *known == lane)?;
    match place {
        Some(place) => Some((lane, Some(parse_place(place)?))),
        None => Some((lane, None)),
    }
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
    /// How many are looked at, at most.
    #[schema(minimum = 1, maximum = 10_000, default = 1_000)]
    limit: Option<u32>,
    /// Where to go on: `next_cursor` of the answer before. What has died again since is not met again.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BulkReplayed {
    /// How many are sent again.
    replayed: u32,
    /// How many were passed over, because their endpoint is off.
    passed_over: u32,
    /// There may be more: ask again with `next_cursor`.
    has_more: bool,
    next_cursor: Option<String>,
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
    let wanted = wanted(&caller, bulk.endpoint_id.as_deref(), bulk.merchant_id, bulk.since)?;
    let begin = bulk.cursor.as_deref().map(|text| parse_begin(text).ok_or_else(bad_cursor));
    let (first, mut place) = begin.transpose()?.unwrap_or((DEAD, None));
    let mut done = BulkReplayed { replayed: 0, passed_over: 0, has_more: false, next_cursor: None };
    let lanes = [Some(DEAD), bulk.include_cancelled.then_some(CANCELLED)];
    for lane in lanes.into_iter().flatten().skip_while(|lane| *lane != first) {
        loop {
            let left = limit.saturating_sub(done.replayed).saturating_sub(done.passed_over);
            let left = left.min(PAGE);
            if left == 0 {
                let behind = place.map(|place| format!(".{}", spell(place)));
                done.next_cursor = Some(format!("{lane}{}", behind.unwrap_or_default()));
                done.has_more = true;
                return Ok((StatusCode::ACCEPTED, Reply(done)));
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
