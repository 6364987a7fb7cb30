//! Dead letters: deliveries that have used up their retry policy, and their bulk replay.

use std::collections::BTreeSet;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::StatusCode;
use bursar_core::flow::{Flow, Kind as _};
use bursar_core::ids::{DeliveryId, EndpointId};
use bursar_core::webhooks::Replay;
use bursar_core::webhooks::delivery::{self, CANCELLED, DEAD};
use bursar_store::{Browse as _, FlowFilter, LaneCursor, LanePage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deliveries::{Delivery, parse_endpoint};
use super::lists::{Listed, Page, bad_cursor, view};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, PAYERS};
use crate::auth::Caller;
use crate::extract::{Optional, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] =
    &[("GET", "/v1/dead-letters", EVERY_ROLE), ("POST", "/v1/dead-letters/replay", PAYERS)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(replay))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only to this endpoint.
    endpoint_id: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
    /// Created at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

/// List dead-lettered deliveries, newest first.
#[utoipa::path(get, path = "/v1/dead-letters", tag = "dead letters", params(Filter, Page),
    responses((status = 200, body = Listed<Delivery>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Delivery>>, Problem> {
    let limit = page.limit()?;
    let before = page.cursor.as_deref().map(|text| parse_cursor(text).ok_or_else(bad_cursor));
    let before = before.transpose()?;
    let wanted = wanted(&caller, filter.endpoint_id.as_deref(), filter.merchant_id, filter.since)?;
    let found = app.dead_letters(DEAD, wanted, before, limit).await?;
    let data = found.flows.iter().filter_map(view::<delivery::Delivery>).map(Delivery::from);
    Ok(Reply(Listed::page(data.collect(), found.next.map(write_cursor))))
}

fn wanted(
    caller: &Caller,
    endpoint: Option<&str>,
    merchant: Option<String>,
    from: Option<Timestamp>,
) -> Result<FlowFilter, Problem> {
    let endpoint = endpoint.map(parse_endpoint).transpose()?;
    let merchant = caller.narrowed(merchant)?;
    Ok(FlowFilter {
        kind: delivery::Delivery::INFO.name,
        merchant,
        from,
        parent: endpoint.map(EndpointId::uuid),
        ..FlowFilter::default()
    })
}

fn write_cursor((at, id): LaneCursor) -> String {
    format!("{}.{id}", at.as_microsecond())
}

/// The cursor of a bulk replay: a lane, and where to continue in it.
fn parse_begin(text: &str) -> Option<(&'static str, Option<LaneCursor>)> {
    let (lane, place) =
        text.split_once('.').map_or((text, None), |(lane, rest)| (lane, Some(rest)));
    let lane = [DEAD, CANCELLED].into_iter().find(|known| *known == lane)?;
    match place {
        Some(place) => Some((lane, Some(parse_cursor(place)?))),
        None => Some((lane, None)),
    }
}

fn parse_cursor(text: &str) -> Option<LaneCursor> {
    let (at, id) = text.split_once('.')?;
    Some((Timestamp::from_microsecond(at.parse().ok()?).ok()?, id.parse().ok()?))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkReplay {
    /// Only to this endpoint.
    endpoint_id: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
    /// Created at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Also deliveries that were cancelled while their endpoint was disabled.
    #[serde(default)]
    include_cancelled: bool,
    /// The maximum number of deliveries to examine.
    #[schema(minimum = 1, maximum = 10_000, default = 1_000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous response. Deliveries that were dead-lettered again since then are not examined again.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BulkReplayed {
    /// The number of deliveries that are sent again.
    replayed: u32,
    /// The number of deliveries that were skipped because their endpoint is disabled.
    passed_over: u32,
    /// More may follow: repeat the request with `next_cursor`.
    has_more: bool,
    next_cursor: Option<String>,
}

/// Replay many dead letters, newest first.
///
/// Replays queue behind first attempts, within the limits of each endpoint.
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
                let behind = place.map(|place| format!(".{}", write_cursor(place)));
                done.next_cursor = Some(format!("{lane}{}", behind.unwrap_or_default()));
                done.has_more = true;
                return Ok((StatusCode::ACCEPTED, Reply(done)));
            }
            let page = app.dead_letters(lane, wanted.clone(), place, left).await?;
            app.replay_page(&caller, &page.flows, &mut done).await?;
            place = page.next;
            if place.is_none() {
                break;
            }
        }
    }
    Ok((StatusCode::ACCEPTED, Reply(done)))
}

/// Deliveries per turn.
const PAGE: u32 = 500;

impl App {
    async fn dead_letters(
        &self,
        lane: &'static str,
        filter: FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> Result<LanePage, Problem> {
        let read = self
            .0
            .readers
            .read(async move |store| store.list_lane_desc(lane, &filter, before, limit).await);
        read.await
    }

    /// One request per endpoint, so that a disabled endpoint does not block the replays of others.
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
            match self.ask(Replay { actor, deliveries }).await {
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
