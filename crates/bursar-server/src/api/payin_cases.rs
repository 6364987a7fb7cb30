//! Cases of pay-ins: what was reported otherwise under the same reference, and the operator who closes the case.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::ids::PayInId;
use bursar_core::payins::{self, CloseCase, ProviderStatus};
use bursar_core::turn::Given;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answered;
use super::approvals::{Asked, Proposal, Proposed};
use super::payins::PayIn;
use crate::App;
use crate::access::{AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("POST", "/v1/payins/{id}/case/close", STAFF)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(close_case))
}

/// The case of a pay-in: the values that the books have, and those that were reported otherwise.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PayInCase)]
pub(super) struct Case {
    /// `open` or `closed`.
    status: &'static str,
    /// The amount that the pay-in has; it is in the ledger if the pay-in is COLLECTED or CONTRADICTED.
    booked_amount: String,
    booked_currency: String,
    /// At most 16, oldest first. A merchant key sees only those that name its own merchant.
    reported: Vec<OtherReport>,
}

/// A report with other values, as its sender wrote them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PayInOtherReport)]
pub(super) struct OtherReport {
    merchant_id: String,
    amount: String,
    currency: String,
    /// `pending`, `completed` or `failed`.
    status: &'static str,
    /// The provider's id of the report, or the digest of its body.
    event_id: String,
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
}

impl Case {
    pub(super) fn new(payin: &payins::PayIn, caller: &Caller) -> Option<Self> {
        let case = payin.case.as_ref()?;
        let amount = payin.terms.funds.amount;
        let shown = case.reports.iter().filter(|report| caller.sees(&report.merchant));
        Some(Self {
            status: if case.is_closed { "closed" } else { "open" },
            booked_amount: amount.decimal(),
            booked_currency: amount.currency().to_string(),
            reported: shown.map(OtherReport::from).collect(),
        })
    }
}

impl From<&payins::OtherReport> for OtherReport {
    fn from(report: &payins::OtherReport) -> Self {
        Self {
            merchant_id: report.merchant.clone(),
            amount: report.amount.clone(),
            currency: report.currency.clone(),
            status: match report.said {
                ProviderStatus::Pending => "pending",
                ProviderStatus::Completed => "completed",
                ProviderStatus::Failed => "failed",
            },
            event_id: report.event.clone(),
            time: report.at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClosePayInCaseRequest {
    /// What the case was, and how it was settled.
    #[schema(max_length = 1000)]
    evidence: String,
    /// The version that the caller has seen; a later version is not closed.
    expected_version: u64,
}

/// Close the case of a pay-in.
///
/// No money moves: corrections are made in the ledger. A report with values that the case does not have opens it again. Above
/// the configured amount it is only proposed: 202, and a second person approves it.
#[utoipa::path(post, path = "/v1/payins/{id}/case/close", tag = "payins",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header)), request_body = ClosePayInCaseRequest,
    responses((status = 200, body = PayIn), (status = 202, body = Proposed), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn close_case(
    State(app): State<App>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(request): Json<ClosePayInCaseRequest>,
) -> Result<Response, Problem> {
    let ClosePayInCaseRequest { evidence, expected_version } = request;
    let flow = app.find_flow::<payins::PayIn>(&caller, &id).await?;
    let id = PayInId::from_uuid(flow.id.uuid());
    let (key, actor) = (key.of(&caller), caller.actor.clone());
    let close = CloseCase { key, id, evidence, expected_version, actor };
    let Given { view, is_replay } =
        match app.ask_or_propose(&caller, close, Proposal::default()).await? {
            Asked::Done(given) => given,
            Asked::Proposed(view) => return Ok(Proposed::response(*view, &caller)),
        };
    let payin = PayIn::from(Arc::unwrap_or_clone(view));
    Ok(answered(StatusCode::OK, Reply(payin), is_replay))
}
