//! Per request: an id, a log line, metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use bursar_core::registry::hexadecimal;

use crate::{App, waiting};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Takes the caller's `x-request-id` or generates one, and records the outcome.
pub(crate) async fn log(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request.headers().get(REQUEST_ID).filter(|id| is_good(id)).cloned();
    let id = id.or_else(fresh).unwrap_or_else(|| HeaderValue::from_static("unnamed"));
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = waiting::bounded(app.0.answer_timeout, next.run(request)).await;
    let path = path.as_ref().map_or("none", MatchedPath::as_str);
    let (status, took) = (response.status().as_u16(), started.elapsed());
    app.0.metrics.request(&method, path, status, took);
    let request_id = id.to_str().unwrap_or_default();
    tracing::debug!(request_id, %method, path, status, micros = took.as_micros(), "request");
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn is_good(id: &HeaderValue) -> bool {
    (1..=64).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

fn fresh() -> Option<HeaderValue> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    HeaderValue::from_str(&format!("req_{}", hexadecimal(&bytes))).ok()
}
