//! The data of a delivery: terms, state and attempts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::flow::{Due, Flow};
use crate::ids::{DeliveryId, EndpointId, EventId};
use crate::registry::hexadecimal;

/// Lanes of first attempts, one for each endpoint, so that they never wait behind retries.
pub(crate) const FIRST: &str = "webhook:";
/// Lanes of retries, one for each endpoint.
pub(crate) const RETRY: &str = "webhook-retry:";
/// Lane of attempts in progress, due when their lease ends.
pub const LEASES: &str = "webhook-lease";
/// Lanes of dead-lettered and cancelled deliveries. They list these for replay; no host claims from them.
pub const DEAD: &str = "webhook-dead";
pub const CANCELLED: &str = "webhook-cancelled";

/// The class of an attempt that was not sent, because file descriptors or ports were exhausted.
pub(super) const UNSENT: &str = "no_means";

/// Number of attempts kept in full, the latest.
const HISTORY_MAX: usize = 16;

pub(crate) fn lane(family: &str, endpoint: EndpointId) -> String {
    format!("{family}{endpoint}")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    pub terms: Terms,
    pub state: State,
    /// Number of attempts made.
    pub attempts: u32,
    /// Attempts that do not count against the retry policy: made before the last replay, or not sent.
    #[serde(default, rename = "before")]
    pub uncounted_attempts: u32,
    /// A replayed delivery waits behind all first attempts.
    #[serde(default)]
    pub is_replayed: bool,
    /// The latest attempts, oldest first.
    pub history: Vec<AttemptRecord>,
}

/// The event and its endpoint. Every attempt sends the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub event: EventId,
    /// Such as `payout.success`.
    pub kind: String,
    pub endpoint: EndpointId,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Pending {
        due: Timestamp,
    },
    Delivering {
        since: Timestamp,
        lease_until: Timestamp,
    },
    WaitingRetry {
        due: Timestamp,
    },
    Delivered,
    Dlq {
        reason: DeadLetterReason,
        since: Timestamp,
    },
    /// The endpoint was disabled, or a caller cancelled the delivery.
    Cancelled {
        since: Timestamp,
    },
}

/// Why there are no more attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DeadLetterReason {
    /// Every attempt failed.
    Exhausted,
    SerialisationFailed,
    SigningFailed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    pub number: u32,
    pub at: Timestamp,
    pub took_ms: u64,
    pub result: Result,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Result {
    Answered {
        status: u16,
        response: Response,
    },
    Failed {
        class: String,
        detail: String,
    },
    /// The worker did not report before the lease ended: the request may have arrived.
    Lost,
}

/// The beginning of the receiver's response body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    Text(String),
    /// Not text: its bytes in hexadecimal.
    Hex(String),
}

/// The call to an endpoint; its secret parts are sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    pub endpoint: EndpointId,
    pub at: Timestamp,
    pub url: String,
    /// The endpoint's own headers, sealed.
    pub headers: Option<String>,
    /// The signing secrets, sealed, newest first.
    pub secrets: Vec<String>,
    pub event: EventId,
    pub kind: String,
    pub body: String,
}

impl State {
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "PENDING",
            Self::Delivering { .. } => "DELIVERING",
            Self::WaitingRetry { .. } => "WAITING_RETRY",
            Self::Delivered => "DELIVERED",
            Self::Dlq { .. } => "DLQ",
            Self::Cancelled { .. } => "CANCELLED",
        }
    }

    /// No attempt is in progress, and another one follows.
    pub const fn is_waiting(&self) -> bool {
        match self {
            Self::Pending { .. } | Self::WaitingRetry { .. } => true,
            Self::Delivering { .. }
            | Self::Delivered
            | Self::Dlq { .. }
            | Self::Cancelled { .. } => false,
        }
    }

    pub const fn is_over(&self) -> bool {
        match self {
            Self::Delivered | Self::Dlq { .. } | Self::Cancelled { .. } => true,
            Self::Pending { .. } | Self::Delivering { .. } | Self::WaitingRetry { .. } => false,
        }
    }
}

impl DeadLetterReason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exhausted => "EXHAUSTED",
            Self::SerialisationFailed => "SERIALISATION_FAILED",
            Self::SigningFailed => "SIGNING_FAILED",
        }
    }
}

impl Delivery {
    pub fn new(terms: Terms, now: Timestamp) -> Self {
        let state = State::Pending { due: now };
        Self {
            terms,
            state,
            attempts: 0,
            uncounted_attempts: 0,
            is_replayed: false,
            history: Vec::new(),
        }
    }

    pub(crate) fn due(&self) -> Option<Due> {
        let endpoint = self.terms.endpoint;
        let (lane, at) = match self.state {
            State::Pending { due } if !self.is_retry() => (lane(FIRST, endpoint), due),
            State::Pending { due } | State::WaitingRetry { due } => (lane(RETRY, endpoint), due),
            State::Delivering { lease_until, .. } => (LEASES.to_owned(), lease_until),
            State::Dlq { since, .. } => (DEAD.to_owned(), since),
            State::Cancelled { since } => (CANCELLED.to_owned(), since),
            State::Delivered => return None,
        };
        Some(Due { lane, at })
    }

    /// Whether there was an earlier attempt or a replay.
    pub(crate) fn is_retry(&self) -> bool {
        self.attempts > 0 || self.is_replayed
    }

    /// The error of the latest failed attempt.
    pub fn last_error(&self) -> Option<String> {
        self.history.iter().rev().find_map(|attempt| attempt.result.error())
    }

    pub(super) fn remember(&mut self, attempt_record: AttemptRecord) {
        // Repeated unsent attempts replace each other, so that they do not push out the receiver's responses.
        let is_unsent = |known: &AttemptRecord| known.result.is_unsent();
        if is_unsent(&attempt_record) && self.history.last().is_some_and(is_unsent) {
            self.history.pop();
        }
        if self.history.len() >= HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(attempt_record);
    }
}

impl Result {
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::Answered { status, .. } if (200..300).contains(status))
    }

    fn is_unsent(&self) -> bool {
        matches!(self, Self::Failed { class, .. } if class == UNSENT)
    }

    pub fn error(&self) -> Option<String> {
        match self {
            Self::Answered { .. } if self.is_success() => None,
            Self::Answered { status, .. } => Some(format!("it answered {status}")),
            Self::Failed { class, detail } => Some(format!("{class}: {detail}")),
            Self::Lost => Some(
                "the worker that sent it has not reported back: it may have arrived".to_owned(),
            ),
        }
    }
}

impl Response {
    /// Accepts any bytes and returns a form that every store can keep.
    pub fn new(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text.to_owned()),
            Ok(_) | Err(_) => Self::Hex(hexadecimal(bytes)),
        }
    }
}

/// The public view of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub id: String,
    pub event_id: String,
    pub event_type: String,
    pub endpoint_id: String,
    pub merchant_id: String,
    pub status: String,
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Why it is a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl View {
    pub fn new(flow: &Flow, delivery: &Delivery) -> Self {
        let Delivery { terms, state, attempts, .. } = delivery;
        let (next_attempt_at, reason) = match state {
            State::Pending { due } | State::WaitingRetry { due } => (Some(*due), None),
            State::Dlq { reason, .. } => (None, Some(reason.name().to_owned())),
            State::Delivering { .. } | State::Delivered | State::Cancelled { .. } => (None, None),
        };
        Self {
            id: DeliveryId::from_uuid(flow.id.uuid()).to_string(),
            event_id: terms.event.to_string(),
            event_type: terms.kind.clone(),
            endpoint_id: terms.endpoint.to_string(),
            merchant_id: flow.merchant.clone(),
            status: state.status().to_owned(),
            attempts: *attempts,
            next_attempt_at,
            last_error: delivery.last_error(),
            reason,
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}
