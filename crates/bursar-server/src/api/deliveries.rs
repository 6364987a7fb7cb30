//! Deliveries: what was told to whom, every attempt of it, and all of it once more.

use std::collections::BTreeSet;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::delivery::{Attempted, Response, Result as Outcome, View};
use bursar_core::flow::Flow;
use bursar_core::ids::{DeliveryId, EndpointId, EventId, FlowId};
use bursar_core::request::{self, Body, Mail};
use bursar_store::{Browse as _, FlowFilter, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::pages::{Listed, Page};
use super::unexpected;
use crate::App;
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;

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
    /// How many attempts were made.
    attempts: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Timestamp>,
    last_error: Option<String>,
    /// Why it is a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// The same with what was sent, and every attempt.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeliveryInFull {
    #[serde(flatten)]
    about: Delivery,
    /// What is sent, to the byte.
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
    /// What the receiver answered with.
    http_status: Option<u16>,
    error: Option<String>,
    /// The beginning of what it said, as far as it is text.
    response: Option<String>,
    /// The same in hexadecimal, if it is not text.
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
    fn new(attempted: &Attempted) -> Self {
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

pub(super) fn seen(flow: &Flow) -> Option<Delivery> {
    flow.state.delivery().map(|delivery| View::new(flow, delivery).into())
}

/// What was asked to be sent again, as it is now.
pub(super) fn replayed(reply: request::Reply) -> Result<Vec<Delivery>, Problem> {
    match reply {
        request::Reply::Replayed(views) => Ok(views.into_iter().map(Delivery::from).collect()),
        request::Reply::Posted(_)
        | request::Reply::Flow { .. }
        | request::Reply::Woken(_)
        | request::Reply::Delivering(_)
        | request::Reply::Driven(_)
        | request::Reply::Carried(_)
        | request::Reply::Noted { .. }
        | request::Reply::Registered { .. } => Err(unexpected()),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Of this event only.
    event_id: Option<String>,
    /// To this endpoint only.
    endpoint_id: Option<String>,
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Such as `WAITING_RETRY`.
    status: Option<String>,
    /// Of events at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

impl Filter {
    fn page(&self) -> Page {
        Page { cursor: self.cursor.clone(), limit: self.limit }
    }

    fn wanted(self, caller: &Caller) -> Result<FlowFilter, Problem> {
        let endpoint = self.endpoint_id.as_deref().map(parse_endpoint).transpose()?;
        Ok(FlowFilter {
            kind: "delivery",
            status: self.status,
            merchant: caller.narrowed(self.merchant_id)?,
            from: self.since,
            until: None,
            endpoint,
        })
    }
}

pub(super) fn parse_endpoint(id: &str) -> Result<EndpointId, Problem> {
    id.parse()
        .map_err(|error| Problem::bad_request(format!("endpoint_id: {error}. Nothing was done")))
}

/// Deliveries, newest first. A page may be short although there are more: go on with `next_cursor`.
#[utoipa::path(get, path = "/v1/deliveries", tag = "deliveries", params(Filter),
    responses((status = 200, body = Listed<Delivery>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<Delivery>>, Problem> {
    let page = filter.page();
    let (limit, place) = (page.limit()?, page.place::<DeliveryId>()?);
    let event: Option<EventId> = match filter.event_id.as_deref().map(str::parse) {
        Some(Ok(event)) => Some(event),
        // There is no such event, so there is nothing of it.
        Some(Err(_)) => return Ok(Reply(Listed { data: Vec::new(), next_cursor: None })),
        None => None,
    };
    let wanted = filter.wanted(&caller)?;
    let found = app.0.readers.read(async move |store| {
        if let Some(event) = event {
            let mut flows = store.deliveries_of(event).await?;
            flows.retain(|flow| wanted.admits(flow));
            return Ok((flows, None));
        }
        let page = store.flows_back(&wanted, place.map(FlowId::from), limit).await?;
        Ok((page.flows, page.next))
    });
    let (flows, next) = found.await?;
    Ok(Reply(Listed {
        data: flows.iter().filter_map(seen).collect(),
        next_cursor: next.map(|id| DeliveryId::from_uuid(id.uuid()).to_string()),
    }))
}

/// Whoever may not see a delivery is told that there is none.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<(DeliveryId, Flow), Problem> {
    let unknown = || Problem::not_found("this id");
    let id: DeliveryId = id.parse().map_err(|_| unknown())?;
    let found = app.0.readers.read(async move |store| store.flow(id.into()).await).await?;
    let found = found.filter(|flow| flow.state.delivery().is_some() && caller.sees(&flow.merchant));
    Ok((id, found.ok_or_else(unknown)?))
}

/// One delivery with its attempts.
#[utoipa::path(get, path = "/v1/deliveries/{id}", tag = "deliveries", params(("id" = String, Path)),
    responses((status = 200, body = DeliveryInFull), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<DeliveryInFull>, Problem> {
    let (_, flow) = find(&app, &caller, &id).await?;
    let about = seen(&flow).ok_or_else(unexpected)?;
    let delivery = flow.state.delivery().ok_or_else(unexpected)?;
    let history = delivery.history.iter().map(Attempt::new).collect();
    Ok(Reply(DeliveryInFull { about, payload: delivery.terms.body.clone(), history }))
}

/// Send it again, from the beginning of the schedule. What is on its way already is left alone.
#[utoipa::path(post, path = "/v1/deliveries/{id}/replay", tag = "deliveries", params(("id" = String, Path)),
    responses((status = 202, body = Delivery), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Reply<Delivery>), Problem> {
    let (id, _) = find(&app, &caller, &id).await?;
    let deliveries = BTreeSet::from([id]);
    let body = Body::Mail(Mail::Replay { actor: caller.actor, deliveries });
    let again = replayed(app.ask(body).await?)?;
    let again = again.into_iter().next().ok_or_else(unexpected)?;
    Ok((StatusCode::ACCEPTED, Reply(again)))
}
