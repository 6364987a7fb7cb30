//! HTTP client of the Bursar API: sends a request, returns JSON or a problem.
//!
//! A request with an idempotency key is retried when its outcome is unknown: the server executes a key once. A request
//! without a key is sent once.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bursar_connect::{Roots, Secret, Target, Tls, escape};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::failure::Failure;

/// Upper bound of a response body; statements and long lists are large.
const BODY_MAX: usize = 64 * 1024 * 1024;
/// From the first attempt to connect to the last byte; reports over large books are slow.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Pauses between retries of a request with an idempotency key.
const RETRY_PAUSES_MS: [u64; 5] = [100, 200, 400, 800, 1_600];

/// A request to the API.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    method: Method,
    path: String,
    body: Option<Value>,
    idempotency_key: Option<String>,
}

impl ApiRequest {
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), body: None, idempotency_key: None }
    }

    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::POST, path) }
    }

    pub fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::PATCH, path) }
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Sets the idempotency key: however often the request is sent, the server executes it once.
    #[must_use]
    pub fn keyed(self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self }
    }

    /// Adds a query parameter if it has a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let mark = if self.path.contains('?') { '&' } else { '?' };
            self.path = format!("{}{mark}{name}={}", self.path, escape(&value.to_string()));
        }
        self
    }
}

/// A successful response.
#[derive(Debug)]
pub struct ApiResponse {
    /// The body as received.
    pub text: String,
    pub json: Value,
    /// The server replayed the stored reply of this idempotency key and executed nothing.
    pub is_replay: bool,
}

/// Why there is no successful response.
#[derive(Debug)]
pub enum ApiError {
    /// The server rejected the request.
    Problem { status: u16, code: String, detail: String },
    /// The server could not be reached; the request was not sent.
    NotSent(String),
    /// The request was sent and no response arrived: its outcome is unknown.
    Lost(String),
}

impl ApiError {
    /// Whether a retry with the same key may succeed.
    const fn is_retryable(&self) -> bool {
        match self {
            Self::Problem { status, .. } => matches!(*status, 429 | 503),
            Self::NotSent(_) | Self::Lost(_) => true,
        }
    }

    /// The message for a request without an idempotency key.
    pub fn failure(self) -> Failure {
        Failure::new(match self {
            Self::Problem { status, code, detail } => format!("{detail} ({code}, {status})"),
            Self::NotSent(why) => format!(
                "{why}. Nothing was sent; check that the server runs, and BURSAR_URL or --url"
            ),
            Self::Lost(why) => format!(
                "{why}. The request was sent and its outcome is unknown; look before you ask again"
            ),
        })
    }
}

/// A connection pool to one server, authenticated with one API key.
#[derive(Debug)]
pub struct Client {
    target: Target,
    tls: Option<Tls>,
    authorization: Option<HeaderValue>,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl Client {
    pub fn new(url: &str, key: Option<&Secret>) -> Result<Self, Failure> {
        let unusable = |error: bursar_connect::BadSettings| Failure::new(error.to_string());
        let target = Target::parse(url).map_err(unusable)?;
        let tls = target.is_secure.then(|| Tls::new(&target, &Roots::System));
        let tls = tls.transpose().map_err(unusable)?;
        let bearer = |key: &Secret| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
                .map_err(|_| Failure::new("the key cannot be sent in a header. Nothing was sent; use printable characters only"))?;
            // Keeps the key out of debug output.
            value.set_sensitive(true);
            Ok::<_, Failure>(value)
        };
        let authorization = key.map(bearer).transpose()?;
        Ok(Self { target, tls, authorization, idle: Mutex::default() })
    }

    /// Sends a request; one with an idempotency key is retried.
    pub async fn send(&self, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
        let mut was_lost = None;
        let pauses = RETRY_PAUSES_MS.iter().filter(|_| request.idempotency_key.is_some());
        for pause in pauses {
            match self.send_once(request).await {
                Err(error) if error.is_retryable() => {
                    if let ApiError::Lost(why) = error {
                        was_lost = Some(why);
                    }
                }
                answered => return answered,
            }
            tokio::time::sleep(Duration::from_millis(*pause)).await;
        }
        // A lost response stays lost: a later retry that failed to connect proves nothing about it.
        self.send_once(request).await.map_err(|error| match was_lost {
            Some(why) if error.is_retryable() => ApiError::Lost(why),
            Some(_) | None => error,
        })
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
        let request = self.http_request(request).map_err(ApiError::NotSent)?;
        let authority = &self.target.authority;
        let sender = if let Some(sender) = self.take_idle() {
            sender
        } else {
            let connected = tokio::time::timeout(TIMEOUT, self.connect()).await;
            let late = |_| ApiError::NotSent(format!("cannot reach {authority} in time"));
            connected.map_err(late)?.map_err(ApiError::NotSent)?
        };
        match tokio::time::timeout(TIMEOUT, self.exchange(sender, request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => Err(ApiError::Lost(format!("no answer from {authority}: {why}"))),
            Err(_) => Err(ApiError::Lost(format!("no answer from {authority} in time"))),
        }
    }

    fn http_request(&self, request: &ApiRequest) -> Result<Request<Full<Bytes>>, String> {
        let mut http = Request::builder()
            .method(&request.method)
            .uri(format!("{}{}", self.target.path, request.path))
            .header(HOST, &self.target.authority)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            http = http.header(AUTHORIZATION, authorization);
        }
        if let Some(key) = &request.idempotency_key {
            http = http.header("idempotency-key", key);
        }
        let body = match &request.body {
            Some(body) => {
                http = http.header(CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let unwritable = |error| format!("the request cannot be written: {error}");
        http.body(Full::new(body)).map_err(unwritable)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let Target { host, port, .. } = &self.target;
        let failed = |error: std::io::Error| format!("cannot reach {host}:{port}: {error}");
        let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        match &self.tls {
            Some(tls) => handshake(tls.connect(socket).await.map_err(failed)?).await,
            None => handshake(socket).await,
        }
    }

    async fn exchange(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        request: Request<Full<Bytes>>,
    ) -> Result<Result<ApiResponse, ApiError>, String> {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, BODY_MAX).collect().await;
        let body = body.map_err(|error| format!("the answer was not whole: {error}"))?.to_bytes();
        self.idle().push(sender);
        let text = String::from_utf8_lossy(&body).into_owned();
        let json: Option<Value> = serde_json::from_str(&text).ok();
        if !head.status.is_success() {
            return Ok(Err(problem(head.status.as_u16(), json.as_ref())));
        }
        let is_replay = head.headers.contains_key("idempotent-replayed");
        let json = json.ok_or("it is not JSON; is this Bursar?")?;
        Ok(Ok(ApiResponse { text, json, is_replay }))
    }

    /// A connection that the server has not closed.
    fn take_idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle();
        while let Some(sender) = idle.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| format!("cannot talk to the server: {error}"))?;
    // The sender reports why the connection ended.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// An RFC 9457 problem, or the error page of a proxy.
fn problem(status: u16, json: Option<&Value>) -> ApiError {
    let text = |name: &str| json.and_then(|json| json.get(name)).and_then(Value::as_str);
    let detail = text("detail").unwrap_or("the answer says no more; is this Bursar?");
    let code = text("code").unwrap_or("unknown");
    ApiError::Problem { status, code: code.to_owned(), detail: detail.to_owned() }
}
