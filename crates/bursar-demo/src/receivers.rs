//! Webhook receivers of merchants: they verify every signature, and some are slow, flaky or down.

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
use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::api_clients::{ApiClients, send};
use super::dice::Dice;
use super::feed::MerchantEvent;
use super::plan::Merchant;
use super::setup::{Setup, WEBHOOK_TIMEOUT_S, listen};
use super::text_field;

/// How a receiver behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    Healthy,
    /// Answers late, sometimes after the timeout.
    Slow,
    /// Answers 503 to some requests, up to three times, although it has recorded them.
    Flaky,
    /// Refuses connections.
    Down,
    /// Rotates its secret while deliveries arrive.
    Rotating,
}

/// One merchant for each behaviour; the others have no receiver.
const BEHAVIOURS: [Behaviour; 5] =
    [Behaviour::Healthy, Behaviour::Slow, Behaviour::Flaky, Behaviour::Down, Behaviour::Rotating];

const SLOWNESS: Duration = Duration::from_millis(250);
/// Longer than the timeout.
const TOO_SLOW: Duration = Duration::from_millis(1_500).saturating_mul(WEBHOOK_TIMEOUT_S);
/// How long both secrets sign, and when no request signed only with the old one can arrive any more.
const OVERLAP_S: u32 = 2;
const RETIRED: Duration = Duration::from_secs(5).saturating_mul(OVERLAP_S).saturating_add(TOO_SLOW);

pub(super) struct Receivers {
    pub(super) all: Vec<Arc<Receiver>>,
}

pub(super) struct Receiver {
    pub(super) behaviour: Behaviour,
    pub(super) merchant: String,
    /// The id of its endpoint.
    pub(super) endpoint: String,
    state: Arc<ReceiverState>,
    /// Reserves the port of a receiver that is down.
    _socket: Option<TcpSocket>,
}

/// State shared with the HTTP handler.
struct ReceiverState {
    behaviour: Behaviour,
    /// Such as `x-bursar-signature`.
    simple_header: String,
    secrets: Mutex<Vec<SigningSecret>>,
    log: Mutex<Log>,
}

/// The log of a receiver.
pub(super) struct Log {
    /// Requests by event id.
    pub(super) seen: BTreeMap<String, Seen>,
    pub(super) requests: usize,
    /// Requests that failed verification.
    pub(super) wrong: Vec<String>,
    dice: Dice,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) times: u64,
    /// How many requests for this event are answered with 503.
    refusals: u64,
    is_late: bool,
}

impl Behaviour {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Flaky => "flaky",
            Self::Down => "down",
            Self::Rotating => "rotating its secret",
        }
    }

    /// A receiver that is down subscribes to pay-ins only, because each of its deliveries uses the whole retry schedule.
    pub(super) const fn family(self) -> Option<&'static str> {
        match self {
            Self::Down => Some("payin"),
            Self::Healthy | Self::Slow | Self::Flaky | Self::Rotating => None,
        }
    }
}

impl Receivers {
    pub(super) async fn open(
        setup: &Setup,
        clients: &ApiClients,
        merchants: &[Merchant],
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for (merchant, behaviour) in merchants.iter().zip(BEHAVIOURS) {
            let receiver = Receiver::open(setup, clients, &merchant.id, (behaviour, seed)).await?;
            all.push(Arc::new(receiver));
        }
        Ok(Self { all })
    }

    /// Rotates a secret while deliveries arrive. The receiver drops the old one after the overlap.
    pub(super) async fn rotate(&self, clients: &ApiClients) -> Result<(), Failure> {
        for receiver in self.all.iter().filter(|receiver| receiver.behaviour == Behaviour::Rotating)
        {
            let path =
                format!("/v1/webhook-endpoints/{}/rotate-secret", escape(&receiver.endpoint));
            let request = ApiRequest::post(path, json!({"overlap_s": OVERLAP_S}));
            let answer = send(clients.client(&receiver.merchant)?, &request).await?.json;
            receiver.state.secrets().insert(0, secret(&answer)?);
            let state = Arc::clone(&receiver.state);
            tokio::spawn(async move {
                tokio::time::sleep(RETIRED).await;
                state.secrets().truncate(1);
            });
        }
        Ok(())
    }
}

impl Receiver {
    async fn open(
        setup: &Setup,
        clients: &ApiClients,
        merchant: &str,
        (behaviour, seed): (Behaviour, u64),
    ) -> Result<Self, Failure> {
        let state = Arc::new(ReceiverState {
            behaviour,
            simple_header: format!("x-{}-signature", setup.brand.to_ascii_lowercase()),
            secrets: Mutex::default(),
            log: Mutex::new(Log {
                seen: BTreeMap::new(),
                requests: 0,
                wrong: Vec::new(),
                dice: Dice::new(seed),
            }),
        });
        let (address, reserved) = if behaviour == Behaviour::Down {
            let (socket, address) = refusing_address()?;
            (address, Some(socket))
        } else {
            let (listener, address) = listen().await?;
            let router =
                Router::new().route("/webhooks", post(receive)).with_state(Arc::clone(&state));
            let served = axum::serve(listener, router).with_graceful_shutdown(setup.closed());
            tokio::spawn(async move { drop(served.await) });
            (address, None)
        };
        let types =
            behaviour.family().map_or_else(|| "*".to_owned(), |family| format!("{family}.*"));
        let body = json!({
            "merchant_id": merchant,
            "url": format!("http://{address}/webhooks"),
            "event_types": [types],
            "concurrency": 256,
        });
        let request = ApiRequest::post("/v1/webhook-endpoints", body);
        let answer = send(clients.client(merchant)?, &request).await?.json;
        state.secrets().push(secret(&answer)?);
        let endpoint = text_field(&answer, "id")?.to_owned();
        Ok(Self { behaviour, merchant: merchant.to_owned(), endpoint, state, _socket: reserved })
    }

    /// Whether the receiver is subscribed to this event.
    pub(super) fn wants(&self, event: &MerchantEvent) -> bool {
        let family = event.kind.split_once('.').map_or("", |(family, _)| family);
        let is_own = matches!(family, "payin" | "payout") && event.merchant == self.merchant;
        is_own && self.behaviour.family().is_none_or(|wanted| wanted == family)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.state.log()
    }
}

impl Log {
    /// Requests for events that had arrived before.
    pub(super) fn duplicates(&self) -> u64 {
        self.seen.values().map(|seen| seen.times.saturating_sub(1)).sum()
    }
}

impl ReceiverState {
    fn secrets(&self) -> MutexGuard<'_, Vec<SigningSecret>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Verifies both signatures, the time, and that body and headers name the same event.
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

    /// Logs a request; none if its verification failed.
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

async fn receive(
    State(state): State<Arc<ReceiverState>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(seen) = state.note(state.check(&headers, &body)) else {
        return StatusCode::UNAUTHORIZED;
    };
    match state.behaviour {
        Behaviour::Slow if seen.is_late && seen.times == 1 => tokio::time::sleep(TOO_SLOW).await,
        Behaviour::Slow => tokio::time::sleep(SLOWNESS).await,
        Behaviour::Flaky if seen.times <= seen.refusals => return StatusCode::SERVICE_UNAVAILABLE,
        Behaviour::Healthy | Behaviour::Flaky | Behaviour::Rotating | Behaviour::Down => {}
    }
    StatusCode::NO_CONTENT
}

/// An address that refuses every connection.
fn refusing_address() -> Result<(TcpSocket, std::net::SocketAddr), Failure> {
    let cannot = |error| Failure::new(format!("cannot take a port on 127.0.0.1: {error}"));
    let socket = TcpSocket::new_v4().map_err(cannot)?;
    socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).map_err(cannot)?;
    let address = socket.local_addr().map_err(cannot)?;
    Ok((socket, address))
}

fn secret(answer: &Value) -> Result<SigningSecret, Failure> {
    SigningSecret::parse(text_field(answer, "secret")?)
        .map_err(|error| Failure::new(error.to_string()))
}
