//! The provider over HTTP: the channel's own paths, and beside them `/_books` and `/_profile` for whoever checks on it.

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

use super::payment::error;
use super::provider::{Order, Provider, Reply, Say, Told};
use super::tell::{self, Telling};
use super::{Options, Profile};
use crate::gsma::{CORRELATION_ID, Transaction, is_name};

/// Whoever gets no answer gives up before this.
const HOLD_MAX: Duration = Duration::from_mins(2);
const CONNECTIONS_MAX: usize = 8_192;
const BODY_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub struct ServeOptions {
    pub options: Options,
    /// Where callbacks go; none are sent without it.
    pub telling: Option<Telling>,
}

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shop {
    provider: Mutex<Provider>,
    start: Instant,
    /// There may be something to tell.
    pub(super) news: Notify,
}

/// Marks a response that is not to be sent: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
struct HangUp;

/// Runs until it is told to stop; then it hangs up on everybody.
pub async fn serve(
    listener: TcpListener,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) {
    let ServeOptions { options, telling } = options;
    let provider = Mutex::new(Provider::new(options, telling.is_some()));
    let shop = Arc::new(Shop { provider, start: Instant::now(), news: Notify::new() });
    let mut tasks = JoinSet::new();
    if let Some(telling) = telling {
        tasks.spawn(tell::run(Arc::clone(&shop), telling));
    }
    let router = router(shop);
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => {}
            (socket, seat) = next(&listener, &seats) => {
                let router = router.clone();
                tasks.spawn(async move {
                    converse(socket, router).await;
                    drop(seat);
                });
            }
        }
    }
    tasks.shutdown().await;
}

/// The next caller, once there is a seat.
async fn next(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> (TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    loop {
        let seat = Arc::clone(seats).acquire_owned().await.ok();
        match listener.accept().await {
            Ok((socket, _)) => return (socket, seat),
            // Out of sockets, most likely: some will be free in a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn converse(socket: TcpStream, router: Router) {
    // A socket that cannot be set up says so when it is used.
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
    // Whoever hung up, on purpose or not: there is nobody to tell.
    drop(connection.await);
}

fn router(shop: Arc<Shop>) -> Router {
    Router::new()
        .route("/transactions", post(submit))
        .route("/responses/{reference}", get(query))
        .route("/requeststates/{reference}", get(query))
        .route("/_books", get(books))
        .route("/_profile", post(change_profile))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(shop)
}

impl Shop {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be told now, and when to look again.
    pub(super) fn told(&self) -> (Vec<Told>, Option<Duration>) {
        let (mut provider, now) = (self.provider(), self.now());
        provider.advance(now);
        let next_in = provider.next_at().map(|at| at.saturating_sub(now));
        (provider.take_told(), next_in)
    }

    /// Lets the provider decide.
    fn ask(&self, decide: impl FnOnce(&mut Provider, Duration) -> Reply) -> Reply {
        let reply = {
            let (mut provider, now) = (self.provider(), self.now());
            decide(&mut provider, now)
        };
        self.news.notify_one();
        reply
    }

    /// Says it when its time has come, unless the provider has fallen silent meanwhile.
    async fn say(&self, reference: &str, reply: Reply) -> Response {
        if !reply.after.is_zero() {
            tokio::time::sleep(reply.after).await;
        }
        let is_silent = self.provider().profile() == Profile::Silent;
        match reply.say {
            Say::Answer { status, body } if !is_silent => respond(reference, status, body),
            Say::HangUp if !is_silent => hang_up(),
            Say::Answer { .. } | Say::HangUp | Say::Hold => {
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

async fn submit(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> Response {
    let named = headers.get(CORRELATION_ID).and_then(|value| value.to_str().ok());
    let order = serde_json::from_slice(&body).ok().and_then(|order| read_order(named, order));
    let Some(order) = order else {
        // Nothing was taken, and that is said at once.
        let reply = Reply { after: Duration::ZERO, say: error(400, "FormatError") };
        return shop.say(named.unwrap_or_default(), reply).await;
    };
    let reply = shop.ask(|provider, now| provider.submit(now, &order));
    shop.say(&order.reference, reply).await
}

fn read_order(named: Option<&str>, transaction: Transaction) -> Option<Order> {
    let Transaction { amount, currency, requesting_organisation_transaction_reference, .. } =
        transaction;
    let reference = named.map_or(requesting_organisation_transaction_reference, str::to_owned);
    let is_readable = [&reference, &amount, &currency].into_iter().all(|text| is_name(text));
    is_readable.then_some(Order { reference, amount, currency })
}

async fn query(State(shop): State<Arc<Shop>>, Path(reference): Path<String>) -> Response {
    let reply = shop.ask(|provider, now| provider.query(now, &reference));
    shop.say(&reference, reply).await
}

async fn books(State(shop): State<Arc<Shop>>) -> Response {
    let books = {
        let (mut provider, now) = (shop.provider(), shop.now());
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

async fn change_profile(State(shop): State<Arc<Shop>>, body: Bytes) -> Response {
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
                let (mut provider, now) = (shop.provider(), shop.now());
                provider.set_profile(now, profile);
            }
            shop.news.notify_one();
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
    async fn whoever_waits_when_it_falls_silent_gets_no_answer() {
        for (profile, is_answered) in [(Profile::Calm, true), (Profile::Silent, false)] {
            let options = Options { seed: 1, profile: Profile::Hostile, is_idempotent: false };
            let provider = Mutex::new(Provider::new(options, false));
            let shop = Shop { provider, start: Instant::now(), news: Notify::new() };
            let say = error(400, "SystemBusy");
            let reply = Reply { after: Duration::from_millis(100), say };
            shop.provider().set_profile(shop.now(), profile);
            let said = timeout(Duration::from_mins(1), shop.say("r", reply)).await;
            assert_eq!(said.is_ok(), is_answered, "{profile}");
        }
    }
}
