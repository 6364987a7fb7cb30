//! Liveness and readiness probes.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bursar_store::Query as _;
use jiff::SignedDuration;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::access::{Access, AccessRow};

pub(super) const ACCESS: &[AccessRow] =
    &[("GET", "/healthz", Access::Open), ("GET", "/readyz", Access::Open)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// Liveness: the process runs.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    is_ready: bool,
    /// The store can be read.
    store: bool,
    /// The engine saves turns.
    engine: bool,
    /// Why the last turn was not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Timeout of the store.
const READ_MAX: Duration = Duration::from_secs(2);
/// The engine is not ready if its last turn is older, or if a save failed within this time and none has succeeded since.
const LAG_MAX: SignedDuration = SignedDuration::from_secs(10);

/// Readiness: the store can be read, and the engine finishes and saves turns.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let read = app.0.readers.read(async |store| store.control().await);
    let store = tokio::time::timeout(READ_MAX, read).await.is_ok_and(|read| read.is_ok());
    let now = app.0.host.now();
    let host = app.0.host.stats();
    // A test clock jumps ahead of the last turn; that is no lag.
    let keeps_up = |last| app.0.settings.has_test_clock || now.duration_since(last) < LAG_MAX;
    let is_recent = |failed| now.duration_since(failed) < LAG_MAX;
    let engine = host.last_turn.is_some_and(keeps_up) && !host.not_saved_at.is_some_and(is_recent);
    let is_ready = store && engine;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reason = host.not_saved_because.filter(|_| !engine);
    let mut response =
        (status, Json(Readiness { is_ready, store, engine, reason })).into_response();
    if !is_ready {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
    }
    response
}
