//! Merchants' own servers: they are told over HTTP, check every signature, and some of them are slow, moody or away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use bursar_connect::escape;
use bursar_connect::webhook::SigningSecret;
use bursar_connect::webhook::sign::{Headers, TOLERANCE, verify, verify_simple};
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::crowd::{Crowd, tell};
use super::dice::Dice;
use super::feed::Told;
use super::plan::Merchant;
use super::stage::{Stage, TELLING_TIMEOUT_S, listen};
use super::word;

/// How a receiver behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Healthy,
    /// Takes its time, and now and then so much that nobody waits for it.
    Slow,
    /// Says 503 to some, up to three times, although it has read them.
    Flaky,
    /// Nobody is there.
    Down,
    /// Gets a new secret while it is told.
    Rotating,
}

/// One merchant of each; the others have no receiver.
const MANNERS: [Manner; 5] =
    [Manner::Healthy, Manner::Slow, Manner::Flaky, Manner::Down, Manner::Rotating];

const SLOWNESS: Duration = Duration::from_millis(250);
/// Longer than it is waited for.
const TOO_SLOW: Duration = Duration::from_millis(1_500).saturating_mul(TELLING_TIMEOUT_S);
/// For how long two secrets sign, and when nothing is under way any more that only the old one has signed.
const OVERLAP_S: u32 = 2;
const RETIRED: Duration = Duration::from_secs(5).saturating_mul(OVERLAP_S).saturating_add(TOO_SLOW);

pub(super) struct Receivers {
    pub(super) all: Vec<Arc<Receiver>>,
}

pub(super) struct Receiver {
    pub(super) manner: Manner,
    pub(super) merchant: String,
    /// The id of its endpoint.
    pub(super) endpoint: String,
    desk: Arc<Desk>,
    /// A place that is taken, so that nobody else can be there.
    _nobody: Option<TcpSocket>,
}

/// Where what is told arrives.
struct Desk {
    manner: Manner,
    /// Such as `x-bursar-signature`.
    simple_header: String,
    secrets: Mutex<Vec<SigningSecret>>,
    log: Mutex<Log>,
}

/// What a receiver has written down.
pub(super) struct Log {
    /// By event: how often it came.
    pub(super) seen: BTreeMap<String, Seen>,
    pub(super) requests: usize,
    /// What was not to be believed.
    pub(super) wrong: Vec<String>,
    dice: Dice,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) times: u64,
    /// How often it is to be refused.
    refusals: u64,
    is_late: bool,
}

impl Manner {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Flaky => "flaky",
            Self::Down => "down",
            Self::Rotating => "rotating its secret",
        }
    }

    /// Whoever is never there has subscribed to little: every letter to it dies slowly.
    pub(super) const fn family(self) -> Option<&'static str> {
        match self {
            Self::Down => Some("payin"),
            Self::Healthy | Self::Slow | Self::Flaky | Self::Rotating => None,
        }
    }
}

impl Receivers {
    pub(super) async fn open(
        stage: &Stage,
        crowd: &Crowd,
        merchants: &[Merchant],
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for (merchant, manner) in merchants.iter().zip(MANNERS) {
            let receiver = Receiver::open(stage, crowd, &merchant.id, (manner, seed)).await?;
            all.push(Arc::new(receiver));
        }
        Ok(Self { all })
    }

    /// Somebody wants a new secret while everything goes on. The old one is forgotten when nobody signs with it.
    pub(super) async fn rotate(&self, crowd: &Crowd) -> Result<(), Failure> {
        for receiver in self.all.iter().filter(|receiver| receiver.manner == Manner::Rotating) {
            let path =
                format!("/v1/webhook-endpoints/{}/rotate-secret", escape(&receiver.endpoint));
            let ask = Ask::post(path, json!({"overlap_s": OVERLAP_S}));
            let answer = tell(crowd.client(&receiver.merchant)?, &ask).await?.json;
            receiver.desk.secrets().insert(0, secret(&answer)?);
            let desk = Arc::clone(&receiver.desk);
            tokio::spawn(async move {
                tokio::time::sleep(RETIRED).await;
                desk.secrets().truncate(1);
            });
        }
        Ok(())
    }
}

impl Receiver {
    async fn open(
        stage: &Stage,
        crowd: &Crowd,
        merchant: &str,
        (manner, seed): (Manner, u64),
    ) -> Result<Self, Failure> {
        let desk = Arc::new(Desk {
            manner,
            simple_header: format!("x-{}-signature", stage.brand.to_ascii_lowercase()),
            secrets: Mutex::default(),
            log: Mutex::new(Log {
                seen: BTreeMap::new(),
                requests: 0,
                wrong: Vec::new(),
                dice: Dice::new(seed),
            }),
        });
        let (address, nobody) = if manner == Manner::Down {
            let (socket, address) = nobody()?;
            (address, Some(socket))
        } else {
            let (listener, address) = listen().await?;
            let router = Router::new().route("/told", post(receive)).with_state(Arc::clone(&desk));
            let served = axum::serve(listener, router).with_graceful_shutdown(stage.closed());
            tokio::spawn(async move { drop(served.await) });
            (address, None)
        };
        let types = manner.family().map_or_else(|| "*".to_owned(), |family| format!("{family}.*"));
        let body = json!({
            "merchant_id": merchant,
            "url": format!("http://{address}/told"),
            "event_types": [types],
            "concurrency": 256,
        });
        let ask = Ask::post("/v1/webhook-endpoints", body);
        let answer = tell(crowd.client(merchant)?, &ask).await?.json;
        desk.secrets().push(secret(&answer)?);
        let endpoint = word(&answer, "id")?.to_owned();
        Ok(Self { manner, merchant: merchant.to_owned(), endpoint, desk, _nobody: nobody })
    }

    /// Whether it must hear of this.
    pub(super) fn wants(&self, event: &Told) -> bool {
        let family = event.kind.split_once('.').map_or("", |(family, _)| family);
        let is_told = matches!(family, "payin" | "payout") && event.merchant == self.merchant;
        is_told && self.manner.family().is_none_or(|wanted| wanted == family)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.desk.log()
    }
}

impl Log {
    /// What came although it had come before.
    pub(super) fn duplicates(&self) -> u64 {
        self.seen.values().map(|seen| seen.times.saturating_sub(1)).sum()
    }
}

impl Desk {
    fn secrets(&self) -> MutexGuard<'_, Vec<SigningSecret>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As a merchant should: both signatures, the time, and that body and headers speak of the same event.
    fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<String, String> {
        let text = |name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let signed = Headers {
            id: text("webhook-id"),
            timestamp: text("webhook-timestamp"),
            signature: text("webhook-signature"),
        };
        let secrets = self.secrets().clone();
        verify(&secrets, &signed, body, Timestamp::now(), TOLERANCE)
            .and_then(|()| verify_simple(&secrets, text(&self.simple_header), body))
            .map_err(|why| format!("{}: {why}", signed.id))?;
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if body.get("id").and_then(Value::as_str) != Some(signed.id) {
            return Err(format!("{}: the body is about another event", signed.id));
        }
        Ok(signed.id.to_owned())
    }

    /// Writes it down, and says what is to be thought of it.
    fn note(&self, checked: Result<String, String>) -> Option<Seen> {
        let mut log = self.log();
        log.requests = log.requests.saturating_add(1);
        let id = checked.map_err(|why| log.wrong.push(why)).ok()?;
        let known = log.seen.get(&id).copied();
        let mut seen = known.unwrap_or_else(|| Seen {
            times: 0,
            refusals: log.dice.below(10).saturating_sub(6),
            is_late: log.dice.one_in(50),
        });
        seen.times = seen.times.saturating_add(1);
        log.seen.insert(id, seen);
        Some(seen)
    }
}

async fn receive(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let Some(seen) = desk.note(desk.check(&headers, &body)) else {
        return StatusCode::UNAUTHORIZED;
    };
    match desk.manner {
        Manner::Slow if seen.is_late && seen.times == 1 => tokio::time::sleep(TOO_SLOW).await,
        Manner::Slow => tokio::time::sleep(SLOWNESS).await,
        Manner::Flaky if seen.times <= seen.refusals => return StatusCode::SERVICE_UNAVAILABLE,
        Manner::Healthy | Manner::Flaky | Manner::Rotating | Manner::Down => {}
    }
    StatusCode::NO_CONTENT
}

/// An address where every connection is refused.
fn nobody() -> Result<(TcpSocket, std::net::SocketAddr), Failure> {
    let cannot = |error| Failure::new(format!("cannot take a port on 127.0.0.1: {error}"));
    let socket = TcpSocket::new_v4().map_err(cannot)?;
    socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).map_err(cannot)?;
    let address = socket.local_addr().map_err(cannot)?;
    Ok((socket, address))
}

fn secret(answer: &Value) -> Result<SigningSecret, Failure> {
    SigningSecret::parse(word(answer, "secret")?).map_err(|error| Failure::new(error.to_string()))
}
