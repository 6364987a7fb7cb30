//! The provider over HTTP: the paths of a channel, and `/_books` and `/_profile` for tests.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_service::Service as _;

use super::callbacks::{self, Telling};
use super::payment::error;
use super::provider::{Action, CallbackPayload, Order, Provider, Reply};
use super::{Options, Profile};
use crate::gsma::{CORRELATION_ID, Transaction, is_name};

/// Every client gives up before this.
const HOLD_MAX: Duration = Duration::from_mins(2);
const CONNECTIONS_MAX: usize = 8_192;
const BODY_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub struct ServeOptions {
    pub options: Options,
    /// The receiver of callbacks; none are sent without it.
    pub telling: Option<Telling>,
}

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct SharedProvider {
    provider: Mutex<Provider>,
    start: Instant,
    /// Signalled when there may be new callbacks.
    pub(super) callbacks_changed: Notify,
}

/// Marks a response that is not sent: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
struct HangUp;

/// Runs until `shutdown`; then it closes all connections.
pub async fn serve(
    listener: TcpListener,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) {
    let ServeOptions { options, telling } = options;
    let provider = Mutex::new(Provider::new(options, telling.is_some()));
    let shared = Arc::new(SharedProvider {
        provider,
        start: Instant::now(),
        callbacks_changed: Notify::new(),
    });
    let mut tasks = JoinSet::new();
    if let Some(telling) = telling {
        tasks.spawn(callbacks::run(Arc::clone(&shared), telling));
    }
    let router = router(shared);
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => {}
            (socket, permit) = next(&listener, &permits) => {
                let router = router.clone();
                tasks.spawn(async move {
                    converse(socket, router).await;
                    drop(permit);
                });
            }
        }
    }
    tasks.shutdown().await;
}

/// The next connection, once there is a permit.
async fn next(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    loop {
        let permit = Arc::clone(permits).acquire_owned().await.ok();
        match listener.accept().await {
            Ok((socket, _)) => return (socket, permit),
            // Out of sockets, most likely: some will be free in a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn converse(socket: TcpStream, router: Router) {
    // A socket that cannot be configured fails when it is used.
    drop(socket.set_nodelay(true));
    let service = service_fn(move |request| {
        let mut router = router.clone();
        async move {
            let response: Result<Response, Infallible> = router.call(request).await;
            let Ok(response) = response;
            match response.extensions().get() {
                Some(HangUp) => Err(io::Error::other("hung up")),
                None => Ok(response),
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(socket), service);
    // The connection is closed, on purpose or not: there is no receiver for the error.
    drop(connection.await);
}

fn router(shared: Arc<SharedProvider>) -> Router {
    Router::new()
        .route("/transactions", post(submit))
        .route("/responses/{reference}", get(query))
        .route("/requeststates/{reference}", get(query))
        .route("/_books", get(books))
        .route("/_profile", post(change_profile))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(shared)
}

impl SharedProvider {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The callbacks that are due, and when the next timer is.
    pub(super) fn due_callbacks(&self) -> (Vec<CallbackPayload>, Option<Duration>) {
        let (mut provider, now) = (self.provider(), self.now());
        provider.advance(now);
        let next_in = provider.next_at().map(|at| at.saturating_sub(now));
        (provider.take_callbacks(), next_in)
    }

    /// Passes a request to the provider.
    fn ask(&self, decide: impl FnOnce(&mut Provider, Duration) -> Reply) -> Reply {
        let reply = {
            let (mut provider, now) = (self.provider(), self.now());
            decide(&mut provider, now)
        };
        self.callbacks_changed.notify_one();
        reply
    }

    /// Sends the reply after its delay, unless the provider has turned silent meanwhile.
    async fn reply(&self, reference: &str, reply: Reply) -> Response {
        if !reply.after.is_zero() {
            tokio::time::sleep(reply.after).await;
        }
        let is_silent = self.provider().profile() == Profile::Silent;
        match reply.action {
            Action::Answer { status, body } if !is_silent => respond(reference, status, body),
            Action::HangUp if !is_silent => hang_up(),
            Action::Answer { .. } | Action::HangUp | Action::Hold => {
                tokio::time::sleep(HOLD_MAX).await;
                hang_up()
            }
        }
    }
}

fn hang_up() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(HangUp);
    response
}

fn respond(reference: &str, status: u16, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(reference) = HeaderValue::from_str(reference).ok().filter(|name| !name.is_empty()) {
        headers.insert(CORRELATION_ID, reference);
    }
    response
}

async fn submit(
    State(shared): State<Arc<SharedProvider>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let named = headers.get(CORRELATION_ID).and_then(|value| value.to_str().ok());
    let order = serde_json::from_slice(&body).ok().and_then(|order| read_order(named, order));
    let Some(order) = order else {
        // Rejected at once: nothing was processed.
        let reply = Reply { after: Duration::ZERO, action: error(400, "FormatError") };
        return shared.reply(named.unwrap_or_default(), reply).await;
    };
    let reply = shared.ask(|provider, now| provider.submit(now, &order));
    shared.reply(&order.reference, reply).await
}

fn read_order(named: Option<&str>, transaction: Transaction) -> Option<Order> {
    let Transaction { amount, currency, requesting_organisation_transaction_reference, .. } =
        transaction;
    let reference = named.map_or(requesting_organisation_transaction_reference, str::to_owned);
    let is_readable = [&reference, &amount, &currency].into_iter().all(|text| is_name(text));
    is_readable.then_some(Order { reference, amount, currency })
}

async fn query(
    State(shared): State<Arc<SharedProvider>>,
    Path(reference): Path<String>,
) -> Response {
    let reply = shared.ask(|provider, now| provider.query(now, &reference));
    shared.reply(&reference, reply).await
}

async fn books(State(shared): State<Arc<SharedProvider>>) -> Response {
    let books = {
        let (mut provider, now) = (shared.provider(), shared.now());
        provider.advance(now);
        provider.books()
    };
    Json(books).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewProfile {
    profile: String,
}

async fn change_profile(State(shared): State<Arc<SharedProvider>>, body: Bytes) -> Response {
    let asked: Result<NewProfile, _> = serde_json::from_slice(&body);
    let parsed = match asked {
        Ok(asked) => asked.profile.parse::<Profile>().map_err(|error| error.to_string()),
        Err(error) => {
            Err(format!("the body is not {{\"profile\": \"…\"}}: {error}. Nothing was changed"))
        }
    };
    match parsed {
        Ok(profile) => {
            {
                let (mut provider, now) = (shared.provider(), shared.now());
                provider.set_profile(now, profile);
            }
            shared.callbacks_changed.notify_one();
            Json(serde_json::json!({"profile": profile.name()})).into_response()
        }
        Err(message) => (StatusCode::BAD_REQUEST, format!("{message}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_in_progress_gets_no_answer_once_the_provider_is_silent() {
        for (profile, is_answered) in [(Profile::Calm, true), (Profile::Silent, false)] {
            let options = Options { seed: 1, profile: Profile::Hostile, is_idempotent: false };
            let provider = Mutex::new(Provider::new(options, false));
            let shared = SharedProvider {
                provider,
                start: Instant::now(),
                callbacks_changed: Notify::new(),
            };
            let action = error(400, "SystemBusy");
            let reply = Reply { after: Duration::from_millis(100), action };
            shared.provider().set_profile(shared.now(), profile);
            let reply = timeout(Duration::from_mins(1), shared.reply("r", reply)).await;
            assert_eq!(reply.is_ok(), is_answered, "{profile}");
        }
    }
}
