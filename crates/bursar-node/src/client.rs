//! Bursar's API from the outside: a request out, JSON or a problem back.
//!
//! What carries an idempotency key is asked again by itself when nobody knows whether it was done: the same key is the
//! same request, and nothing is done twice. Everything else is asked once.

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

/// Statements and long lists are large; nothing is larger than this.
const BODY_MAX: usize = 64 * 1024 * 1024;
/// From the first attempt to connect to the last byte: reports over large books take their time.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Before what may be asked again is asked again.
const RESTS_MS: [u64; 5] = [100, 200, 400, 800, 1_600];

/// Something to ask the server.
#[derive(Debug, Clone)]
pub struct Ask {
    method: Method,
    path: String,
    body: Option<Value>,
    idempotency_key: Option<String>,
}

impl Ask {
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

    /// Asked again and again under this key, it is done once.
    #[must_use]
    pub fn keyed(self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self }
    }

    /// A value of the query, if there is one.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let mark = if self.path.contains('?') { '&' } else { '?' };
            self.path = format!("{}{mark}{name}={}", self.path, escape(&value.to_string()));
        }
        self
    }
}

/// What the server said.
#[derive(Debug)]
pub struct Answer {
    /// As it came.
    pub text: String,
    pub json: Value,
    /// It was answered before: nothing was done this time.
    pub is_replay: bool,
}

/// Why there is no good answer.
#[derive(Debug)]
pub enum Trouble {
    /// The server said no.
    Problem { status: u16, code: String, detail: String },
    /// Nobody was there to be asked.
    NotSent(String),
    /// It was sent, and there is no answer.
    Lost(String),
}

impl Trouble {
    /// Whether asking again under the same key may help.
    const fn may_pass(&self) -> bool {
        match self {
            Self::Problem { status, .. } => matches!(*status, 429 | 503),
            Self::NotSent(_) | Self::Lost(_) => true,
        }
    }

    /// In words, for whoever asked without a key.
    pub fn failure(self) -> Failure {
        Failure::new(match self {
            Self::Problem { status, code, detail } => format!("{detail} ({code}, {status})"),
            Self::NotSent(why) => format!(
                "{why}. Nothing was sent; check that the server runs, and BURSAR_URL or --url"
            ),
            Self::Lost(why) => format!(
                "{why}. It was sent, and nobody knows whether it was done; look before you ask again"
            ),
        })
    }
}

/// A server that is asked with one key. Connections are kept for the next request.
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
            // Nobody prints it by accident.
            value.set_sensitive(true);
            Ok::<_, Failure>(value)
        };
        let authorization = key.map(bearer).transpose()?;
        Ok(Self { target, tls, authorization, idle: Mutex::default() })
    }

    /// Asks; what carries a key is asked again if that may help.
    pub async fn ask(&self, ask: &Ask) -> Result<Answer, Trouble> {
        let mut was_lost = None;
        let rests = RESTS_MS.iter().filter(|_| ask.idempotency_key.is_some());
        for rest in rests {
            match self.ask_once(ask).await {
                Err(trouble) if trouble.may_pass() => {
                    if let Trouble::Lost(why) = trouble {
                        was_lost = Some(why);
                    }
                }
                answered => return answered,
            }
            tokio::time::sleep(Duration::from_millis(*rest)).await;
        }
        // Once something was lost, a later try that was not taken proves nothing about it.
        self.ask_once(ask).await.map_err(|trouble| match was_lost {
            Some(why) if trouble.may_pass() => Trouble::Lost(why),
            Some(_) | None => trouble,
        })
    }

    async fn ask_once(&self, ask: &Ask) -> Result<Answer, Trouble> {
        let request = self.request(ask).map_err(Trouble::NotSent)?;
        let authority = &self.target.authority;
        let sender = if let Some(sender) = self.take_idle() {
            sender
        } else {
            let connected = tokio::time::timeout(TIMEOUT, self.connect()).await;
            let late = |_| Trouble::NotSent(format!("cannot reach {authority} in time"));
            connected.map_err(late)?.map_err(Trouble::NotSent)?
        };
        match tokio::time::timeout(TIMEOUT, self.talk(sender, request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => Err(Trouble::Lost(format!("no answer from {authority}: {why}"))),
            Err(_) => Err(Trouble::Lost(format!("no answer from {authority} in time"))),
        }
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::builder()
            .method(&ask.method)
            .uri(format!("{}{}", self.target.path, ask.path))
            .header(HOST, &self.target.authority)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(key) = &ask.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let body = match &ask.body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let unwritable = |error| format!("the request cannot be written: {error}");
        request.body(Full::new(body)).map_err(unwritable)
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

    async fn talk(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        request: Request<Full<Bytes>>,
    ) -> Result<Result<Answer, Trouble>, String> {
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
        Ok(Ok(Answer { text, json, is_replay }))
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
    // Why it ended is told to whoever talks over it.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// A problem as RFC 9457 has it, or whatever stands between us and the server.
fn problem(status: u16, json: Option<&Value>) -> Trouble {
    let text = |name: &str| json.and_then(|json| json.get(name)).and_then(Value::as_str);
    let detail = text("detail").unwrap_or("the answer says no more; is this Bursar?");
    let code = text("code").unwrap_or("unknown");
    Trouble::Problem { status, code: code.to_owned(), detail: detail.to_owned() }
}
