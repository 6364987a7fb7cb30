//! Whether the process lives, and whether it can do its work.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bursar_store::Query as _;
use jiff::SignedDuration;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    is_ready: bool,
    /// The books can be read.
    store: bool,
    /// Turns are saved.
    engine: bool,
}

/// Books that do not answer for so long are not there.
const READ_MAX: Duration = Duration::from_secs(2);
/// An engine that has not finished a turn for so long is not well; nor is one that could not save what it had to, until
/// it has saved something, or for so long if it has nothing to save.
const LAG_MAX: SignedDuration = SignedDuration::from_secs(10);

/// The books can be read, and the engine keeps up and saves what it must.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let read = app.0.readers.read(async |store| store.control().await);
    let store = tokio::time::timeout(READ_MAX, read).await.is_ok_and(|read| read.is_ok());
    let now = app.0.submit.now();
    let numbers = app.0.submit.numbers();
    // A clock that is moved by hand jumps ahead of every turn; that is no lag.
    let keeps_up = |last| app.0.settings.has_test_clock || now.duration_since(last) < LAG_MAX;
    let is_recent = |failed| now.duration_since(failed) < LAG_MAX;
    let engine =
        numbers.last_turn.is_some_and(keeps_up) && !numbers.not_saved_at.is_some_and(is_recent);
    let is_ready = store && engine;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { is_ready, store, engine })).into_response()
}
