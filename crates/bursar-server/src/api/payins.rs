//! Pay-ins: what customers have paid to merchants.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::idempotency::FlowReply;
use bursar_core::ids::{FlowId, PayInId};
use bursar_core::payin::{NewPayIn, Said, View};
use bursar_core::request::Body;
use bursar_store::{Browse as _, FlowFilter, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::pages::{Listed, Page};
use super::{answered, unexpected};
use crate::App;
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json, Query};
use crate::problem::Problem;

/// A customer has paid.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayInRequest {
    pub(super) merchant_id: String,
    pub(super) provider: String,
    /// What the provider knows the payment by. The same reference again is the same payment.
    pub(super) reference: String,
    /// What the customer paid, as a decimal.
    #[schema(example = "1500.00")]
    pub(super) amount: String,
    #[schema(example = "PKR")]
    pub(super) currency: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PayIn {
    id: String,
    /// PENDING, COLLECTED, CONTRADICTED or FAILED.
    status: String,
    version: u64,
    merchant_id: String,
    provider: String,
    reference: String,
    /// What the customer paid.
    amount: String,
    /// What the merchant gets.
    net: String,
    fee: String,
    vat: String,
    currency: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<View> for PayIn {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            status: view.status,
            version: view.version,
            merchant_id: view.merchant_id,
            provider: view.provider,
            reference: view.reference,
            amount: view.amount,
            net: view.net,
            fee: view.fee,
            vat: view.vat,
            currency: view.currency,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

fn payin(reply: FlowReply) -> Result<PayIn, Problem> {
    match reply {
        FlowReply::PayIn(view) => Ok(view.into()),
        FlowReply::Payout(_) | FlowReply::Reservation(_) | FlowReply::Delivery(_) => {
            Err(unexpected())
        }
    }
}

/// Record a pay-in. The provider's reference makes it idempotent; an `Idempotency-Key` is kept if there is one.
#[utoipa::path(post, path = "/v1/payins", tag = "payins", request_body = PayInRequest,
    params(("Idempotency-Key" = Option<String>, Header)),
    responses((status = 201, body = PayIn), (status = 400, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    key: Option<IdempotencyKey>,
    Json(request): Json<PayInRequest>,
) -> Result<Response, Problem> {
    let payin = NewPayIn {
        key: key.map(|key| key.of(&caller)),
        actor: Some(caller.actor),
        merchant: request.merchant_id,
        provider: request.provider,
        event: request.reference.clone(),
        reference: request.reference,
        currency: request.currency,
        amount: request.amount,
        said: Said::Completed,
    };
    take(&app, payin).await
}

pub(super) async fn take(app: &App, payin: NewPayIn) -> Result<Response, Problem> {
    let (reply, is_replay) = app.ask_flow(Body::TakePayIn(payin)).await?;
    Ok(answered(StatusCode::CREATED, Reply(self::payin(reply)?), is_replay))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    status: Option<String>,
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// Pay-ins, newest first.
#[utoipa::path(get, path = "/v1/payins", tag = "payins", params(Filter),
    responses((status = 200, body = Listed<PayIn>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<PayIn>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    let page = Page { cursor: filter.cursor, limit: filter.limit };
    let (limit, place) = (page.limit()?, page.place::<PayInId>()?);
    let wanted =
        FlowFilter { kind: "payin", status: filter.status, merchant, ..FlowFilter::default() };
    let found = app
        .0
        .readers
        .read(async move |store| store.flows_back(&wanted, place.map(FlowId::from), limit).await);
    let found = found.await?;
    let payins = found.flows.iter().map(|flow| payin(FlowReply::new(flow)));
    Ok(Reply(Listed {
        data: payins.collect::<Result<_, _>>()?,
        next_cursor: found.next.map(|id| PayInId::from_uuid(id.uuid()).to_string()),
    }))
}

/// One pay-in.
#[utoipa::path(get, path = "/v1/payins/{id}", tag = "payins", params(("id" = String, Path)),
    responses((status = 200, body = PayIn), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<PayIn>, Problem> {
    let unknown = || Problem::not_found("this id");
    let id: PayInId = id.parse().map_err(|_| unknown())?;
    let found = app.0.readers.read(async move |store| store.flow(id.into()).await).await?;
    let flow = found.filter(|flow| flow.state.payin().is_some() && caller.sees(&flow.merchant));
    Ok(Reply(payin(FlowReply::new(&flow.ok_or_else(unknown)?))?))
}
