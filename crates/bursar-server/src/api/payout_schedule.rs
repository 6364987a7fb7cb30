//! When a payout that waits is sent: at another time, or before all others.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::{Path, State};
use bursar_core::payouts::{Reschedule, When};
use bursar_core::turn::Given;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::payout_view::Payout;
use super::payouts::find;
use crate::App;
use crate::access::{AccessRow, PAYERS, STAFF};
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] =
    &[("PATCH", "/v1/payouts/{id}", PAYERS), ("POST", "/v1/payouts/{id}/expedite", STAFF)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(reschedule)).routes(routes!(expedite))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RescheduleRequest {
    /// A time that has passed means now.
    #[schema(value_type = String, format = DateTime)]
    scheduled_at: Timestamp,
    /// The version that the caller has seen; a later version is not moved.
    expected_version: Option<u64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpediteRequest {
    /// The reason, for the audit log.
    #[schema(max_length = 1000)]
    reason: String,
    /// The version that the caller has seen; a later version is not moved.
    expected_version: Option<u64>,
}

/// Send a payout that waits at another time.
#[utoipa::path(patch, path = "/v1/payouts/{id}", tag = "payouts", params(("id" = String, Path)), request_body = RescheduleRequest,
    responses((status = 200, body = Payout), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn reschedule(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<RescheduleRequest>,
) -> Result<Reply<Payout>, Problem> {
    let when = When::At(request.scheduled_at);
    move_to(&app, &caller, &id, (when, request.expected_version, String::new())).await
}

/// Send a payout that waits before all others, and at once if it is scheduled.
///
/// The rate, the window and the freezes of its channel hold for it as for every other.
#[utoipa::path(post, path = "/v1/payouts/{id}/expedite", tag = "payouts", params(("id" = String, Path)), request_body = ExpediteRequest,
    responses((status = 200, body = Payout), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn expedite(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<ExpediteRequest>,
) -> Result<Reply<Payout>, Problem> {
    let ExpediteRequest { reason, expected_version } = request;
    move_to(&app, &caller, &id, (When::Urgent, expected_version, reason)).await
}

async fn move_to(
    app: &App,
    caller: &Caller,
    id: &str,
    (when, expected_version, reason): (When, Option<u64>, String),
) -> Result<Reply<Payout>, Problem> {
    let id = find(app, caller, id).await?;
    let actor = caller.actor.clone();
    let Given { view, .. } =
        app.ask(Reschedule { id, when, expected_version, actor, reason }).await?;
    Ok(Reply(Payout::from(Arc::unwrap_or_clone(view)).seen_by(caller)))
}
