//! Sends one webhook, once, by its deadline, and returns the result.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::http::Extensions;
use hyper::{Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answered, Class, NotAnswered, Sent};
use super::bounded_connection::ConnectionAbort;
use super::connect::{Connector, Dial, dial};
use super::header::Names;
use super::policy::{Place, Policy};
use super::read::{BodyPrefix, retry_after};
use super::resolve::Resolver;
use super::secret::SigningSecret;
use crate::http::{Roots, client_config_of_any_system};

const HEAD_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 100;
/// HTTP/2 flow-control windows: of one answer, and of a connection.
const WINDOW: u32 = 64 * 1024;
const WINDOW_ALL: u32 = 1024 * 1024;
/// Servers close idle connections; five seconds is the shortest usual timeout.
const IDLE_MAX: Duration = Duration::from_secs(4);
const IDLE_PER_HOST: usize = 32;
/// Many requests share a connection over HTTP/2: pings detect a dead server.
const PING: Duration = Duration::from_secs(5);

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    #[error("{0:?} cannot be part of a header; use 1 to 32 letters, digits or - as the brand")]
    Brand(String),
    #[error(transparent)]
    Roots(#[from] crate::http::BadSettings),
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The middle of `X-{Brand}-Signature`.
    pub brand: String,
    /// Fixed for a sender: a stricter policy needs a new sender, which has no old connections.
    pub policy: Policy,
    /// The name servers; empty means those of the system.
    pub nameservers: Vec<SocketAddr>,
    pub roots: Roots,
    /// From the name lookup to the last byte of the answer.
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            brand: "Bursar".to_owned(),
            policy: Policy::default(),
            nameservers: Vec::new(),
            roots: Roots::System,
            timeout: Duration::from_secs(30),
        }
    }
}

/// One attempt, with opened secrets: every attempt uses the endpoint's settings of its own time.
#[derive(Clone)]
pub struct OpenedCall {
    pub url: String,
    /// Signed and sent as they are.
    pub body: Vec<u8>,
    /// The same in every attempt; receivers deduplicate by it.
    pub event_id: String,
    pub event_type: String,
    /// Counted from 1.
    pub attempt: u32,
    pub at: Timestamp,
    /// The endpoint's own headers.
    pub headers: Vec<(String, String)>,
    /// The secret of the simple signature: during a rotation the previous one.
    pub simple_secret: SigningSecret,
    /// All valid secrets, newest first.
    pub secrets: Vec<SigningSecret>,
}

/// A body is the merchant's, a header may be a password, and a URL may have a token in it.
impl fmt::Debug for OpenedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("OpenedCall");
        fields.field("event_id", &self.event_id).field("event_type", &self.event_type);
        fields.field("attempt", &self.attempt).field("at", &self.at).finish_non_exhaustive()
    }
}

/// Sends webhooks over pooled connections.
#[derive(Debug)]
pub struct Sender {
    names: Names,
    policy: Policy,
    timeout: Duration,
    connector: Connector,
    client: Client<Connector, Full<Bytes>>,
}

impl Sender {
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Self::with_dial(settings, dial())
    }

    /// With another way to open connections to checked addresses.
    pub(crate) fn with_dial(settings: Settings, dial: Dial) -> Result<Self, BadSettings> {
        let Settings { brand, policy, nameservers, roots, timeout } = settings;
        let names = Names::new(&brand).ok_or(BadSettings::Brand(brand))?;
        let config = client_config_of_any_system(&roots)?;
        let resolver = Resolver::new(&nameservers);
        let connector = Connector::new(policy.clone(), resolver, config, dial, timeout);
        let client = client(connector.clone());
        Ok(Self { names, policy, timeout, connector, client })
    }

    /// Checks a URL when an endpoint is registered. Every attempt checks again.
    pub async fn vet(&self, url: &str) -> Result<(), NotAnswered> {
        self.connector.vet(url).await
    }

    /// Makes one attempt. At the deadline it is dropped with its connection. A request is sent again only if it is certain
    /// that not a byte of it has left, on a connection that died while it was idle.
    pub async fn send(&self, call: OpenedCall, deadline: Instant) -> Sent {
        let start = Instant::now();
        let until = start.checked_add(self.timeout).map_or(deadline, |until| until.min(deadline));
        let result = self.attempt(call, until).await;
        Sent { latency: start.elapsed(), result }
    }

    async fn attempt(&self, call: OpenedCall, until: Instant) -> Result<Answered, NotAnswered> {
        let refused = |error| NotAnswered::new(Class::Refused, error);
        let place = self.policy.check(&call.url).map_err(refused)?;
        let at = call.at;
        let mut request = self.request(&place, call)?;
        if Instant::now() >= until {
            return Err(NotAnswered::new(Class::Timeout, "the time was over; nothing was sent"));
        }
        let mut exchange = Exchange::new(&mut request);
        let late = |_| NotAnswered::new(Class::Timeout, "no answer in time");
        let response = timeout_at(until, self.client.request(request)).await.map_err(late)?;
        let (head, body) = response.map_err(|error| failed(&error))?.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            let detail = "the server wants to speak something else than HTTP";
            return Err(NotAnswered::new(Class::Protocol, detail));
        }
        let mut prefix = BodyPrefix::default();
        // The rest is cut off at the deadline.
        let _is_late = timeout_at(until, prefix.fill(body)).await.is_err();
        exchange.is_whole = prefix.is_whole();
        Ok(Answered {
            status: head.status.as_u16(),
            retry_after: retry_after(&head.headers, at),
            is_cut: prefix.is_cut(),
            body: prefix.bytes,
        })
    }

    fn request(
        &self,
        place: &Place,
        call: OpenedCall,
    ) -> Result<Request<Full<Bytes>>, NotAnswered> {
        let headers = self.names.headers(&call)?;
        let mut request = Request::new(Full::from(call.body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = place.uri().clone();
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// A request in flight. If it is dropped before its end, its connection is aborted.
struct Exchange {
    connection: CaptureConnection,
    is_whole: bool,
}

impl Exchange {
    fn new(request: &mut Request<Full<Bytes>>) -> Self {
        Self { connection: capture_connection(request), is_whole: false }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.is_whole {
            return;
        }
        let mut extras = Extensions::new();
        if let Some(connected) = self.connection.connection_metadata().as_ref() {
            connected.get_extras(&mut extras);
        }
        if let Some(connection) = extras.get::<ConnectionAbort>() {
            connection.abort();
        }
    }
}

fn client(connector: Connector) -> Client<Connector, Full<Bytes>> {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .retry_canceled_requests(true)
        .http1_max_buf_size(HEAD_MAX)
        .http1_max_headers(HEADERS_MAX)
        .http2_initial_stream_window_size(WINDOW)
        .http2_initial_connection_window_size(WINDOW_ALL)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING)
        .build(connector)
}

/// The client's error says only that it failed; its source says why.
fn failed(error: &hyper_util::client::legacy::Error) -> NotAnswered {
    NotAnswered::from_error(std::error::Error::source(error).unwrap_or(error))
}
