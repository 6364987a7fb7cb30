//! Deliveries: one event for one endpoint, its attempts, and its replay.

use std::collections::BTreeSet;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::flow::Kind as _;
use bursar_core::ids::{DeliveryId, EndpointId, EventId};
use bursar_core::webhooks::Replay;
use bursar_core::webhooks::delivery::{self, AttemptRecord, Response, Result as Outcome, View};
use bursar_store::{Browse as _, FlowFilter};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, Page, view};
use super::unexpected;
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, PAYERS};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/deliveries", EVERY_ROLE),
    ("GET", "/v1/deliveries/{id}", EVERY_ROLE),
    ("POST", "/v1/deliveries/{id}/replay", PAYERS),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(replay))
}

/// One event for one endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Delivery {
    id: String,
    event_id: String,
    event_type: String,
    endpoint_id: String,
    merchant_id: String,
    /// PENDING, DELIVERING, DELIVERED, `WAITING_RETRY`, DLQ or CANCELLED.
    status: String,
    /// The number of attempts.
    attempts: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Timestamp>,
    last_error: Option<String>,
    /// The reason of a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// A delivery with its payload and its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeliveryInFull {
    #[serde(flatten)]
    about: Delivery,
    /// The exact bytes of the request body.
    payload: String,
    /// The latest attempts, oldest first.
    history: Vec<Attempt>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Attempt {
    number: u32,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    milliseconds: u64,
    /// The HTTP status of the response.
    http_status: Option<u16>,
    error: Option<String>,
    /// The beginning of the response body, if it is text.
    response: Option<String>,
    /// The beginning of the response body in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_hex: Option<String>,
}

impl From<View> for Delivery {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            event_id: view.event_id,
            event_type: view.event_type,
            endpoint_id: view.endpoint_id,
            merchant_id: view.merchant_id,
            status: view.status,
            attempts: view.attempts,
            next_attempt_at: view.next_attempt_at,
            last_error: view.last_error,
            reason: view.reason,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

impl Attempt {
    fn new(attempted: &AttemptRecord) -> Self {
        let (http_status, response) = match &attempted.result {
            Outcome::Answered { status, response } => (Some(*status), Some(response)),
            Outcome::Failed { .. } | Outcome::Lost => (None, None),
        };
        let (response, response_hex) = match response {
            Some(Response::Text(text)) => (Some(text.clone()), None),
            Some(Response::Hex(digits)) => (None, Some(digits.clone())),
            None => (None, None),
        };
        Self {
            number: attempted.number,
            at: attempted.at,
            milliseconds: attempted.took_ms,
            http_status,
            error: attempted.result.error(),
            response,
            response_hex,
        }
    }
}

impl Delivery {
    /// The reply to a request about one delivery.
    pub(super) fn one(views: Vec<View>) -> Result<Self, Problem> {
        views.into_iter().next().map(Self::from).ok_or_else(unexpected)
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only of this event.
    event_id: Option<String>,
    /// Only to this endpoint.
    endpoint_id: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
    /// Such as `WAITING_RETRY`.
    status: Option<String>,
    /// Created at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

impl Filter {
    fn wanted(self, caller: &Caller) -> Result<FlowFilter, Problem> {
        let endpoint = self.endpoint_id.as_deref().map(parse_endpoint).transpose()?;
        Ok(FlowFilter {
            kind: delivery::Delivery::INFO.name,
            status: self.status,
            merchant: caller.narrowed(self.merchant_id)?,
            from: self.since,
            parent: endpoint.map(EndpointId::uuid),
            ..FlowFilter::default()
        })
    }
}

pub(super) fn parse_endpoint(id: &str) -> Result<EndpointId, Problem> {
    id.parse()
        .map_err(|error| Problem::bad_request(format!("endpoint_id: {error}. Nothing was done")))
}

/// List deliveries, newest first.
///
/// A page can be short or empty although more follow: continue with `next_cursor`.
#[utoipa::path(get, path = "/v1/deliveries", tag = "deliveries", params(Filter, Page),
    responses((status = 200, body = Listed<Delivery>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Delivery>>, Problem> {
    page.limit()?;
    page.before::<delivery::Delivery>()?;
    let event: Option<EventId> = match filter.event_id.as_deref().map(str::parse) {
        Some(Ok(event)) => Some(event),
        // There is no such event, so it has no deliveries.
        Some(Err(_)) => return Ok(Reply(Listed::page(Vec::new(), None))),
        None => None,
    };
    let wanted = filter.wanted(&caller)?;
    let Some(event) = event else {
        return app.list_flows::<delivery::Delivery, _>(wanted, &page, Delivery::from).await;
    };
    let read = app.0.readers.read(async move |store| {
        let mut flows = store.deliveries_of(event).await?;
        flows.retain(|flow| wanted.admits(flow));
        Ok(flows)
    });
    let found = read.await?;
    let data = found.iter().filter_map(view::<delivery::Delivery>).map(Delivery::from).collect();
    Ok(Reply(Listed::page(data, None)))
}

/// Get a delivery with its attempts.
#[utoipa::path(get, path = "/v1/deliveries/{id}", tag = "deliveries", params(("id" = String, Path)),
    responses((status = 200, body = DeliveryInFull), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<DeliveryInFull>, Problem> {
    let flow = app.find_flow::<delivery::Delivery>(&caller, &id).await?;
    let delivery = flow.state.delivery().ok_or_else(|| Problem::not_found("this id"))?;
    let about = Delivery::from(delivery.view(&flow));
    let history = delivery.history.iter().map(Attempt::new).collect();
    Ok(Reply(DeliveryInFull { about, payload: delivery.terms.body.clone(), history }))
}

/// Replay a delivery from the beginning of its retry policy.
///
/// A delivery that is in flight is not changed.
#[utoipa::path(post, path = "/v1/deliveries/{id}/replay", tag = "deliveries", params(("id" = String, Path)),
    responses((status = 202, body = Delivery), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Reply<Delivery>), Problem> {
    let flow = app.find_flow::<delivery::Delivery>(&caller, &id).await?;
    let deliveries = BTreeSet::from([DeliveryId::from_uuid(flow.id.uuid())]);
    let replayed = app.ask(Replay { actor: caller.actor, deliveries }).await?;
    Ok((StatusCode::ACCEPTED, Reply(Delivery::one(replayed)?)))
}
