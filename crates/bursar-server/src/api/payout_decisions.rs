//! Decisions of operators about payouts: resolve a stuck one, close the case of a finished one.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::payouts::{self, Resolution, Resolve};
use bursar_core::turn::Given;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answered;
use super::payout_view::Payout;
use super::payouts::find;
use crate::App;
use crate::access::{AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::{IdempotencyKey, Json};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] =
    &[("POST", "/v1/payouts/{id}/resolve", STAFF), ("POST", "/v1/payouts/{id}/case/close", STAFF)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(resolve)).routes(routes!(close_case))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveRequest {
    decision: Decision,
    /// The evidence that the decision is based on.
    #[schema(max_length = 1000)]
    evidence: String,
    /// The version that the caller has seen; a later version is not resolved.
    expected_version: u64,
}

/// A decision about a stuck payout.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    NewAttempt,
    CloseCase,
}

impl From<Decision> for payouts::Decision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::ConfirmPaid => Self::ConfirmPaid,
            Decision::ConfirmNotPaid => Self::ConfirmNotPaid,
            Decision::KeepWaiting => Self::KeepWaiting,
            Decision::NewAttempt => Self::NewAttempt,
            Decision::CloseCase => Self::CloseCase,
        }
    }
}

impl From<payouts::Decision> for Decision {
    fn from(decision: payouts::Decision) -> Self {
        match decision {
            payouts::Decision::ConfirmPaid => Self::ConfirmPaid,
            payouts::Decision::ConfirmNotPaid => Self::ConfirmNotPaid,
            payouts::Decision::KeepWaiting => Self::KeepWaiting,
            payouts::Decision::NewAttempt => Self::NewAttempt,
            payouts::Decision::CloseCase => Self::CloseCase,
        }
    }
}

/// Resolve a stuck payout.
///
/// Above the configured amount, 202 means that a second person must make the same decision.
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
    let ResolveRequest { decision, evidence, expected_version } = request;
    app.resolve(&caller, key, &id, (decision.into(), evidence, expected_version)).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseCaseRequest {
    /// What the case was, and how it was settled.
    #[schema(max_length = 1000)]
    reason: String,
    /// The version that the caller has seen; a later version is not closed.
    expected_version: u64,
}

/// Close the case of a finished payout.
///
/// No money moves: corrections are made in the ledger. New evidence of a discrepancy opens the case again. Above the
/// configured amount, 202 means that a second person must close it too.
#[utoipa::path(post, path = "/v1/payouts/{id}/case/close", tag = "payouts",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header)), request_body = CloseCaseRequest,
    responses((status = 200, body = Payout), (status = 202, body = Payout), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn close_case(
    State(app): State<App>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(request): Json<CloseCaseRequest>,
) -> Result<Response, Problem> {
    let CloseCaseRequest { reason, expected_version } = request;
    let decision = payouts::Decision::CloseCase;
    app.resolve(&caller, key, &id, (decision, reason, expected_version)).await
}

impl App {
    async fn resolve(
        &self,
        caller: &Caller,
        key: IdempotencyKey,
        id: &str,
        (decision, evidence, expected_version): (payouts::Decision, String, u64),
    ) -> Result<Response, Problem> {
        let id = find(self, caller, id).await?;
        let resolution = Resolution {
            id,
            decision,
            evidence,
            expected_version,
            actor: caller.actor.clone(),
            is_approver: caller.is_approver(),
            made_by: caller.made_by.clone(),
        };
        let request = Resolve { key: key.of(caller), resolution };
        let Given { view, is_replay } = self.decide(id, request).await?;
        let payout = Payout::from(Arc::unwrap_or_clone(view));
        let is_pending = payout.pending_decision.is_some();
        let status = if is_pending { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok(answered(status, Reply(payout), is_replay))
    }
}
