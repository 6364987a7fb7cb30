//! Payouts: asked for, looked at, cancelled, decided.

use std::collections::BTreeMap;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::flow::Flow;
use bursar_core::idempotency::FlowReply;
use bursar_core::ids::{FlowId, PayoutId};
use bursar_core::payout::{self, Cancellation, NewPayout, Remarks, Resolution, Ruling, View};
use bursar_core::request::Body;
use bursar_store::{Browse as _, FlowFilter, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::beneficiaries;
use super::pages::{Listed, Page};
use super::story::{Explanation, Moment};
use super::{answered, unexpected};
use crate::App;
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json, Query};
use crate::problem::Problem;

/// Somebody to pay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayoutRequest {
    merchant_id: String,
    /// Somebody who was added before; either this or `beneficiary`.
    beneficiary_id: Option<String>,
    beneficiary: Option<PayeeDetails>,
    /// A decimal above zero, with no more decimals than the currency has.
    #[schema(example = "1500.00")]
    amount: String,
    #[schema(example = "PKR")]
    currency: String,
    #[schema(example = "mobile_wallet")]
    channel: String,
    /// Not before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_at: Option<Timestamp>,
    /// At most 20 entries; decides nothing.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    trace_id: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayeeDetails {
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// A bank account; either this or a telephone number.
    account: Option<String>,
    /// 6 to 15 digits.
    #[schema(pattern = "^[0-9]{6,15}$")]
    msisdn: Option<String>,
    /// The bank of the account.
    bank: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Payout {
    id: String,
    /// SCHEDULED, READY, SUBMITTING, UNCONFIRMED, PROCESSING, STUCK, SUCCESS, FAILED, CANCELLED, RETURNED or
    /// `LATE_SUCCESS`.
    status: String,
    /// Nothing moves any more, unless a channel corrects itself.
    #[serde(rename = "final")]
    is_final: bool,
    /// Counts what is worth looking at again; a decision names the version that it was made on.
    version: u64,
    merchant_id: String,
    amount: String,
    fee: String,
    vat: String,
    currency: String,
    channel: String,
    /// What the channel knows the latest attempt by.
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_at: Option<Timestamp>,
    /// What one of two has decided; a second person must decide the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pending_decision: Option<PendingDecision>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PendingDecision {
    decision: Decision,
    actor: String,
}

impl From<View> for Payout {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            status: view.status,
            is_final: view.is_final,
            version: view.version,
            merchant_id: view.merchant_id,
            amount: view.amount,
            fee: view.fee,
            vat: view.vat,
            currency: view.currency,
            channel: view.channel,
            reference: view.reference,
            reason: view.reason,
            scheduled_at: view.scheduled_at,
            pending_decision: view.pending_decision.map(|pending| PendingDecision {
                decision: pending.decision.into(),
                actor: pending.actor,
            }),
            metadata: view.metadata,
            trace_id: view.trace_id,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

fn payout(reply: FlowReply) -> Result<Payout, Problem> {
    let FlowReply::Payout(view) = reply else { return Err(unexpected()) };
    Ok(view.into())
}

/// Pay somebody. The money is put aside at once, with fee and VAT.
#[utoipa::path(post, path = "/v1/payouts", tag = "payouts", request_body = PayoutRequest,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters; the same key again is the same payout")),
    responses((status = 201, body = Payout), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
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
        scheduled_at: request.scheduled_at,
        remarks: Remarks { metadata: request.metadata, trace_id: request.trace_id },
    };
    let actor = caller.merchant.is_none().then(|| caller.actor.clone());
    let body = Body::CreatePayout { key: key.of_merchant(&payout.merchant), payout, actor };
    let (reply, is_replay) = app.ask_flow(body).await?;
    Ok(answered(StatusCode::CREATED, Reply(self::payout(reply)?), is_replay))
}

/// Whom to pay: as the request says, or as was added before. A beneficiary never changes, so it may be read now.
async fn beneficiary(
    app: &App,
    caller: &Caller,
    request: &PayoutRequest,
) -> Result<payout::Beneficiary, Problem> {
    match (&request.beneficiary_id, &request.beneficiary) {
        (Some(id), None) => {
            let (_, payee) = beneficiaries::find(app, caller, id.clone()).await?;
            if payee.merchant != request.merchant_id {
                return Err(Problem::not_found("this beneficiary_id"));
            }
            Ok(payee.details)
        }
        (None, Some(PayeeDetails { name, account, msisdn, bank })) => Ok(payout::Beneficiary {
            name: name.clone(),
            account: account.clone(),
            msisdn: msisdn.clone(),
            bank: bank.clone(),
        }),
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
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Made at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    created_from: Option<Timestamp>,
    /// Made before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_until: Option<Timestamp>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// Payouts, newest first. A page may be short although there are more: go on with `next_cursor`.
#[utoipa::path(get, path = "/v1/payouts", tag = "payouts", params(Filter),
    responses((status = 200, body = Listed<Payout>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<Payout>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    let page = Page { cursor: filter.cursor, limit: filter.limit };
    let (limit, place) = (page.limit()?, page.place::<PayoutId>()?);
    let wanted = FlowFilter {
        kind: "payout",
        status: filter.status,
        merchant,
        from: filter.created_from,
        until: filter.created_until,
        ..FlowFilter::default()
    };
    let found = app
        .0
        .readers
        .read(async move |store| store.flows_back(&wanted, place.map(FlowId::from), limit).await);
    let found = found.await?;
    let seen = |flow| payout(FlowReply::new(flow)).map(|payout| payout.seen_by(&caller));
    let payouts = found.flows.iter().map(seen);
    Ok(Reply(Listed {
        data: payouts.collect::<Result<_, _>>()?,
        next_cursor: found.next.map(|id| PayoutId::from_uuid(id.uuid()).to_string()),
    }))
}

/// Whoever may not see a payout is told that there is none.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<(PayoutId, Flow), Problem> {
    let unknown = || Problem::not_found("this id");
    let id: PayoutId = id.parse().map_err(|_| unknown())?;
    let found = app.0.readers.read(async move |store| store.flow(id.into()).await).await?;
    let found = found.filter(|flow| flow.state.payout().is_some() && caller.sees(&flow.merchant));
    Ok((id, found.ok_or_else(unknown)?))
}

/// One payout.
#[utoipa::path(get, path = "/v1/payouts/{id}", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Payout), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Payout>, Problem> {
    let (_, flow) = find(&app, &caller, &id).await?;
    Ok(Reply(payout(FlowReply::new(&flow))?.seen_by(&caller)))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelRequest {
    /// The version that was looked at; a later one is not cancelled.
    expected_version: Option<u64>,
}

/// Cancel a payout of which nothing was sent yet. The money goes back to the merchant at once.
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
    let (id, _) = find(&app, &caller, &id).await?;
    let cancellation = Cancellation {
        id,
        expected_version: request.expected_version,
        actor: caller.actor.clone(),
    };
    let body = Body::CancelPayout { key: key.of(&caller), cancellation };
    let (reply, is_replay) = app.ask_flow(body).await?;
    Ok(answered(StatusCode::OK, Reply(payout(reply)?.seen_by(&caller)), is_replay))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveRequest {
    decision: Decision,
    /// What the decision rests on.
    #[schema(max_length = 1000)]
    evidence: String,
    /// The version that was looked at; a later one is not decided.
    expected_version: u64,
}

/// What to do about a payout that is stuck.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    NewAttempt,
}

impl From<Decision> for Ruling {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::ConfirmPaid => Self::ConfirmPaid,
            Decision::ConfirmNotPaid => Self::ConfirmNotPaid,
            Decision::KeepWaiting => Self::KeepWaiting,
            Decision::NewAttempt => Self::NewAttempt,
        }
    }
}

impl From<Ruling> for Decision {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::ConfirmPaid => Self::ConfirmPaid,
            Ruling::ConfirmNotPaid => Self::ConfirmNotPaid,
            Ruling::KeepWaiting => Self::KeepWaiting,
            Ruling::NewAttempt => Self::NewAttempt,
        }
    }
}

/// Decide about a payout that is stuck. Above the configured amount, 202 says that a second person must decide the same.
#[utoipa::path(post, path = "/v1/payouts/{id}/resolve", tag = "payouts",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header)), request_body = ResolveRequest,
    responses((status = 200, body = Payout), (status = 202, body = Payout), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn resolve(
    State(app): State<App>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(request): Json<ResolveRequest>,
) -> Result<Response, Problem> {
    let (id, _) = find(&app, &caller, &id).await?;
    let resolution = Resolution {
        id,
        ruling: request.decision.into(),
        evidence: request.evidence,
        expected_version: request.expected_version,
        actor: caller.actor.clone(),
        is_approver: caller.is_approver(),
    };
    let body = Body::ResolvePayout { key: key.of(&caller), resolution };
    let (reply, is_replay) = app.ask_flow(body).await?;
    let payout = payout(reply)?;
    let is_pending = payout.pending_decision.is_some();
    let status = if is_pending { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(answered(status, Reply(payout), is_replay))
}

/// What was told about a payout, in order.
#[utoipa::path(get, path = "/v1/payouts/{id}/timeline", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Listed<Moment>), (status = 404, body = Problem)))]
pub(super) async fn timeline(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Listed<Moment>>, Problem> {
    let (_, flow) = find(&app, &caller, &id).await?;
    let name = flow.name();
    let read = app.0.readers.read(async move |store| store.events_of(&name, 0, 1_000).await);
    let moments = read.await?.into_iter().map(Moment::new).collect();
    Ok(Reply(Listed { data: moments, next_cursor: None }))
}

/// Why a payout is where it is: what is known, by whom, and what it waits for.
#[utoipa::path(get, path = "/v1/payouts/{id}/explain", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Explanation), (status = 404, body = Problem)))]
pub(super) async fn explain(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Explanation>, Problem> {
    let (_, flow) = find(&app, &caller, &id).await?;
    let control = app.0.readers.read(async |store| store.control().await).await?;
    let explanation = Explanation::new(&flow, &control, &caller);
    Ok(Reply(explanation.ok_or_else(|| Problem::not_found("this id"))?))
}
