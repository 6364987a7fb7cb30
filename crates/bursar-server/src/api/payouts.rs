//! Payouts: create, list, get, cancel.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::flow::ReviewReason;
use bursar_core::four_eyes::Action;
use bursar_core::ids::PayoutId;
use bursar_core::money::{Currency, Money};
use bursar_core::payouts::{self, Cancel, Cancellation, ClientMetadata, Create, NewPayout};
use bursar_core::turn::Given;
use bursar_store::FlowFilter;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::approvals::{Asked, Proposal, Proposed};
use super::lists::{Listed, Page, view};
use super::payout_view::Payout;
use super::{answered, beneficiaries, payout_explain};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, PAYERS};
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/payouts", PAYERS),
    ("GET", "/v1/payouts", EVERY_ROLE),
    ("GET", "/v1/payouts/{id}", EVERY_ROLE),
    ("POST", "/v1/payouts/{id}/cancel", PAYERS),
    ("GET", "/v1/payouts/{id}/timeline", EVERY_ROLE),
    ("GET", "/v1/payouts/{id}/explain", EVERY_ROLE),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get))
        .routes(routes!(cancel))
        .routes(routes!(payout_explain::timeline))
        .routes(routes!(payout_explain::explain))
}

/// A payout to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayoutRequest {
    merchant_id: String,
    /// The id of a registered beneficiary; either this or `beneficiary`.
    beneficiary_id: Option<String>,
    beneficiary: Option<PayeeDetails>,
    /// A decimal above zero, with at most as many decimal places as the currency.
    #[schema(example = "1500.00")]
    amount: String,
    #[schema(example = "PKR")]
    currency: String,
    #[schema(example = "mobile_wallet")]
    channel: String,
    /// The payout is not submitted before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_at: Option<Timestamp>,
    /// At most 20 entries. Bursar stores and returns them.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    trace_id: Option<String>,
    /// The caller's own id, for lists and searches. 1 to 128 bytes without control characters; it need not be unique.
    #[schema(min_length = 1, max_length = 128, example = "order-1001")]
    external_id: Option<String>,
    /// At most 500 bytes. Bursar stores and returns it.
    #[schema(max_length = 500)]
    description: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayeeDetails {
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// A bank account number; either this or `msisdn`.
    account: Option<String>,
    /// A telephone number of 6 to 15 digits.
    #[schema(pattern = "^[0-9]{6,15}$")]
    msisdn: Option<String>,
    /// The bank of the account.
    bank: Option<String>,
}

/// Create a payout.
///
/// The amount, fee and VAT are put on hold at once. Above the configured amount a payout that staff makes, or that is made with
/// a merchant's key that one person made alone, is only proposed: 202, and it is made when a second person approves it.
#[utoipa::path(post, path = "/v1/payouts", tag = "payouts", request_body = PayoutRequest,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters; the same key again is the same payout")),
    responses((status = 201, body = Payout), (status = 202, body = Proposed), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    key: IdempotencyKey,
    Json(request): Json<PayoutRequest>,
) -> Result<Response, Problem> {
    caller.must_be(&request.merchant_id)?;
    let beneficiary = beneficiary(&app, &caller, &request).await?;
    let payout = NewPayout {
        merchant: request.merchant_id,
        channel: request.channel,
        currency: request.currency,
        amount: request.amount,
        beneficiary,
        beneficiary_id: request.beneficiary_id,
        scheduled_at: request.scheduled_at,
        remarks: ClientMetadata {
            metadata: request.metadata,
            trace_id: request.trace_id,
            external_id: request.external_id,
            description: request.description,
        },
    };
    let actor = acts_alone(&app, &caller, &payout).then(|| caller.actor.clone());
    let key = key.of_merchant(&payout.merchant);
    let create = Create { key, payout, actor, workflow: None };
    let Given { view, is_replay } =
        match app.ask_or_propose(&caller, create, Proposal::default()).await? {
            Asked::Done(given) => given,
            Asked::Proposed(view) => return Ok(Proposed::response(*view, &caller)),
        };
    let payout = Payout::from(Arc::unwrap_or_clone(view));
    Ok(answered(StatusCode::CREATED, Reply(payout), is_replay))
}

/// Whether one person acts for the merchant: staff, or above the limit the holder of a merchant's key that one person made
/// alone, who may be that person.
fn acts_alone(app: &App, caller: &Caller, payout: &NewPayout) -> bool {
    let currency: Option<Currency> = payout.currency.parse().ok();
    let amount = currency.and_then(|currency| Money::parse(&payout.amount, currency).ok());
    let is_large = || amount.is_some() && app.0.rules.needs_approval(Action::CreatePayout, amount);
    caller.is_staff() || (!caller.made_by.is_empty() && is_large())
}

/// The beneficiary of the request, or the registered one that it names. A registered beneficiary never changes, so it
/// can be read outside the turn.
async fn beneficiary(
    app: &App,
    caller: &Caller,
    request: &PayoutRequest,
) -> Result<payouts::Beneficiary, Problem> {
    match (&request.beneficiary_id, &request.beneficiary) {
        (Some(id), None) => {
            let (_, payee) = beneficiaries::find(app, caller, id.clone()).await?;
            if payee.merchant != request.merchant_id {
                return Err(Problem::not_found("this beneficiary_id"));
            }
            Ok(payee.details)
        }
        (None, Some(PayeeDetails { name, account, msisdn, bank })) => {
            let payee = payouts::Beneficiary {
                name: name.clone(),
                account: account.clone(),
                msisdn: msisdn.clone(),
                bank: bank.clone(),
            };
            Ok(payee.normalised())
        }
        (Some(_), Some(_)) | (None, None) => Err(Problem::bad_request(
            "a payout names either beneficiary_id or beneficiary: nothing was reserved. Send one of the two",
        )),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Such as STUCK.
    status: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
    /// Created at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    created_from: Option<Timestamp>,
    /// Created before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_until: Option<Timestamp>,
    channel: Option<String>,
    currency: Option<String>,
    /// Exactly this amount, a decimal.
    amount: Option<String>,
    /// The reference of any attempt at its channel.
    reference: Option<String>,
    /// The channel's own reference.
    provider_reference: Option<String>,
    trace_id: Option<String>,
    /// The caller's own id.
    external_id: Option<String>,
}

/// List payouts, newest first; stuck payouts by the time since when they are stuck, the longest first.
///
/// Reference, trace id and external id are found by an index. Status, channel, currency, amount and provider reference have
/// none, except for STUCK: a page that has scanned as many rows as one request may scan ends early and has `scanned_to`.
/// Continue with `next_cursor`.
#[utoipa::path(get, path = "/v1/payouts", tag = "payouts", params(Filter, Page),
    responses((status = 200, body = Listed<Payout>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Payout>>, Problem> {
    if filter.amount.as_deref().is_some_and(|amount| amount.parse::<f64>().is_err()) {
        return Err(Problem::bad_request(
            "amount is a decimal, such as 1500.00: nothing was read. Correct it",
        ));
    }
    let wanted = FlowFilter {
        status: filter.status,
        merchant: caller.narrowed(filter.merchant_id)?,
        from: filter.created_from,
        until: filter.created_until,
        channel: filter.channel,
        currency: filter.currency,
        amount: filter.amount,
        provider_reference: filter.provider_reference,
        reference: filter.reference,
        trace_id: filter.trace_id,
        external_id: filter.external_id,
        ..FlowFilter::default()
    };
    let show = |view| Payout::from(view).seen_by(&caller);
    let is_named = [&wanted.reference, &wanted.trace_id, &wanted.external_id];
    let is_named = is_named.into_iter().any(Option::is_some);
    if wanted.status.as_deref() == Some("STUCK") && !is_named {
        let reason = ReviewReason::Stuck;
        return app.list_reviews::<payouts::Payout, _>(reason, wanted, &page, show).await;
    }
    app.list_flows::<payouts::Payout, _>(wanted, &page, show).await
}

pub(super) async fn find(app: &App, caller: &Caller, id: &str) -> Result<PayoutId, Problem> {
    let flow = app.find_flow::<payouts::Payout>(caller, id).await?;
    Ok(PayoutId::from_uuid(flow.id.uuid()))
}

/// Get a payout.
#[utoipa::path(get, path = "/v1/payouts/{id}", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Payout), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Payout>, Problem> {
    let flow = app.find_flow::<payouts::Payout>(&caller, &id).await?;
    let view = view::<payouts::Payout>(&flow).ok_or_else(|| Problem::not_found("this id"))?;
    Ok(Reply(Payout::from(view).seen_by(&caller)))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelRequest {
    /// The version that the caller has seen; a later version is not cancelled.
    expected_version: Option<u64>,
}

/// Cancel a payout that was not submitted yet.
///
/// The money is released to the merchant at once.
#[utoipa::path(post, path = "/v1/payouts/{id}/cancel", tag = "payouts",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header)), request_body = Option<CancelRequest>,
    responses((status = 200, body = Payout), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    body: axum::body::Bytes,
) -> Result<Response, Problem> {
    let request: CancelRequest =
        if body.is_empty() { CancelRequest::default() } else { crate::extract::parse(&body)? };
    let id = find(&app, &caller, &id).await?;
    let cancellation = Cancellation {
        id,
        expected_version: request.expected_version,
        actor: caller.actor.clone(),
    };
    let cancel = Cancel { key: key.of(&caller), cancellation };
    let Given { view, is_replay } = app.decide(id, cancel).await?;
    let payout = Payout::from(Arc::unwrap_or_clone(view)).seen_by(&caller);
    Ok(answered(StatusCode::OK, Reply(payout), is_replay))
}
