//! Pay-ins: payments of customers to merchants, as providers report them.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::flow::Listed as _;
use bursar_core::payins::{self, NewPayIn, ProviderStatus, ReportReply, View};
use bursar_core::turn::Given;
use bursar_store::FlowFilter;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answered;
use super::approvals::{Asked, Proposal, Proposed};
use super::lists::{Listed, Page, view};
use super::payin_cases::Case;
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, OPERATORS};
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/payins", OPERATORS),
    ("GET", "/v1/payins", EVERY_ROLE),
    ("GET", "/v1/payins/{id}", EVERY_ROLE),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get))
}

/// A collected payment of a customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayInRequest {
    pub(super) merchant_id: String,
    pub(super) provider: String,
    /// The provider's reference of the payment. A repeated reference is the same payment.
    pub(super) reference: String,
    /// The amount that the customer paid, as a decimal.
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
    /// The amount that the customer paid.
    amount: String,
    /// The amount that the merchant is credited.
    net: String,
    fee: String,
    vat: String,
    currency: String,
    /// `amount_differs` if other values were reported under the same reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What was reported otherwise; only where one pay-in is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<Case>,
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
            reason: view.reason,
            case: None,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

/// Record a pay-in.
///
/// The provider's reference makes the request idempotent; an `Idempotency-Key` is optional. Other values under a known
/// reference are rejected and book nothing; they open a case of the pay-in. Above the configured amount the pay-in is only
/// proposed: 202, and it is recorded when a second person approves it.
#[utoipa::path(post, path = "/v1/payins", tag = "payins", request_body = PayInRequest,
    params(("Idempotency-Key" = Option<String>, Header)),
    responses((status = 201, body = PayIn), (status = 202, body = Proposed), (status = 400, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    key: Option<IdempotencyKey>,
    Json(request): Json<PayInRequest>,
) -> Result<Response, Problem> {
    let payin = NewPayIn {
        key: key.map(|key| key.of(&caller)),
        actor: Some(caller.actor.clone()),
        merchant: request.merchant_id,
        provider: request.provider,
        event: request.reference.clone(),
        reference: request.reference,
        currency: request.currency,
        amount: request.amount,
        said: ProviderStatus::Completed,
    };
    match app.ask_or_propose(&caller, payin, Proposal::default()).await? {
        Asked::Done(reply) => taken(reply),
        Asked::Proposed(view) => Ok(Proposed::response(*view, &caller)),
    }
}

pub(super) async fn take(app: &App, payin: NewPayIn) -> Result<Response, Problem> {
    taken(app.ask(payin).await?)
}

fn taken(reply: ReportReply) -> Result<Response, Problem> {
    let Given { view, is_replay } = match reply {
        ReportReply::PayIn(given) => given,
        ReportReply::Differs(rejection) => {
            let kept = "The report is kept as a case of the pay-in, and an operator looks at it";
            return Err(Problem::from(*rejection).and(kept));
        }
    };
    Ok(answered(StatusCode::CREATED, Reply(PayIn::from(Arc::unwrap_or_clone(view))), is_replay))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    status: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
    provider: Option<String>,
    /// The provider's reference of the payment.
    reference: Option<String>,
}

/// List pay-ins, newest first.
///
/// Status and provider have no index: a page that has scanned as many rows as one request may scan ends early and has
/// `scanned_to`. Continue with `next_cursor`.
#[utoipa::path(get, path = "/v1/payins", tag = "payins", params(Filter, Page),
    responses((status = 200, body = Listed<PayIn>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<PayIn>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    let Filter { status, provider: channel, reference, .. } = filter;
    let wanted = FlowFilter { status, merchant, channel, reference, ..FlowFilter::default() };
    app.list_flows::<payins::PayIn, _>(wanted, &page, PayIn::from).await
}

/// Get a pay-in, with its case.
#[utoipa::path(get, path = "/v1/payins/{id}", tag = "payins", params(("id" = String, Path)),
    responses((status = 200, body = PayIn), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<PayIn>, Problem> {
    let flow = app.find_flow::<payins::PayIn>(&caller, &id).await?;
    let view = view::<payins::PayIn>(&flow).ok_or_else(|| Problem::not_found("this id"))?;
    let payin = payins::PayIn::of(&flow.state);
    let case = payin.and_then(|payin| Case::new(payin, &caller));
    Ok(Reply(PayIn { case, ..view.into() }))
}
