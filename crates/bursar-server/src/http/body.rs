//! The time limits of a request body.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Connection, HttpLimits};
use crate::problem::Problem;

/// A body that fails when the client sends it too slowly.
struct TimedBody {
    inner: Body,
    connection: Arc<Connection>,
    began: Instant,
    received: u64,
    timer: Pin<Box<Sleep>>,
    is_late: Arc<AtomicBool>,
}

/// The latest time for the next bytes of a body of which so much has arrived.
fn deadline(limits: &HttpLimits, began: Instant, received: u64) -> Instant {
    let at_rate = limits.body_grace.saturating_add(limits.transfer_time(received));
    let allowed = at_rate.min(limits.body_timeout);
    began.checked_add(allowed).unwrap_or(began)
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(context) {
            match &frame {
                Some(Ok(frame)) => {
                    let length = frame.data_ref().map_or(0, Bytes::len);
                    let length = u64::try_from(length).unwrap_or(u64::MAX);
                    this.received = this.received.saturating_add(length);
                    let deadline = deadline(&this.connection.limits, this.began, this.received);
                    this.timer.as_mut().reset(deadline);
                    if this.inner.is_end_stream() {
                        this.connection.body_received();
                    }
                }
                Some(Err(_)) => {}
                None => this.connection.body_received(),
            }
            return Poll::Ready(frame);
        }
        if this.timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        this.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new("the body came too slowly"))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Limits the time of the body, and answers 408 if it comes too slowly.
pub(crate) async fn limit_body(
    connection: Option<Extension<Arc<Connection>>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(Extension(connection)) = connection else { return next.run(request).await };
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_late = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let request = request.map(|inner| {
        let timer = Box::pin(sleep_until(deadline(&connection.limits, began, 0)));
        let is_late = Arc::clone(&is_late);
        Body::new(TimedBody { inner, connection, began, received: 0, timer, is_late })
    });
    let response = next.run(request).await;
    if is_late.load(Ordering::Relaxed) { too_slow() } else { response }
}

fn too_slow() -> Response {
    let detail = "the body came too slowly: nothing was changed. Send it again, at once";
    let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
