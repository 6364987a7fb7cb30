//! What a delivery is: its terms, where it stands, and how it got there.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::flow::{Due, Flow};
use crate::ids::{DeliveryId, EndpointId, EventId, FlowId};
use crate::registry::hexadecimal;

/// First attempts wait in these lanes, one for each endpoint, and never behind retries.
pub(crate) const FIRST: &str = "webhook:";
/// The same for retries.
pub(crate) const RETRY: &str = "webhook-retry:";
/// What is being sent waits here for its lease to end.
pub const LEASES: &str = "webhook-lease";
/// Dead letters wait for a person, and cancelled ones for somebody who wants them after all: nobody wakes these.
pub const DEAD: &str = "webhook-dead";
pub const CANCELLED: &str = "webhook-cancelled";

/// The class of an attempt that never began, for want of files or ports.
pub(super) const UNSENT: &str = "no_means";

/// Attempts that are kept in full, the latest.
const HISTORY_MAX: usize = 16;

pub(crate) fn lane(family: &str, endpoint: EndpointId) -> String {
    format!("{family}{endpoint}")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    pub terms: Terms,
    pub state: State,
    /// How many attempts were made.
    pub attempts: u32,
    /// How many of them do not count: they were made before it was last replayed, or never began.
    #[serde(default)]
    pub before: u32,
    /// Somebody has asked for it again: it waits behind everything that is new.
    #[serde(default)]
    pub is_replayed: bool,
    /// The latest attempts, oldest first.
    pub history: Vec<Attempted>,
}

/// What is told to whom. The bytes are those of every attempt.
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
        reason: Deadlettered,
        since: Timestamp,
    },
    /// The endpoint was off.
    Cancelled {
        since: Timestamp,
    },
}

/// Why nobody tries any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Deadlettered {
    /// Every attempt failed.
    Exhausted,
    SerialisationFailed,
    SigningFailed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempted {
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
    /// Whoever sent it has not come back: it may have arrived.
    Lost,
}

/// The beginning of what the receiver said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    Text(String),
    /// Not text: its bytes in hexadecimal.
    Hex(String),
}

/// A delivery on its way, once what was decided is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    pub flow: FlowId,
    pub endpoint: EndpointId,
    /// How many the endpoint takes at once.
    pub concurrency: u32,
    pub attempt: u32,
    pub at: Timestamp,
    pub lease_until: Timestamp,
    pub url: String,
    /// The endpoint's own headers, sealed.
    pub headers: Option<String>,
    /// The secrets that sign, sealed, newest first.
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

    /// Nothing of it is under way, and something will be.
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

impl Deadlettered {
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
        Self { terms, state, attempts: 0, before: 0, is_replayed: false, history: Vec::new() }
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

    /// Whether it was tried or asked for before.
    pub(crate) fn is_retry(&self) -> bool {
        self.attempts > 0 || self.is_replayed
    }

    /// What went wrong last, in words.
    pub fn last_error(&self) -> Option<String> {
        self.history.iter().rev().find_map(|attempt| attempt.result.error())
    }

    pub(super) fn remember(&mut self, attempted: Attempted) {
        // However often nothing was sent, what was said to those that were is still there.
        let is_unsent = |known: &Attempted| known.result.is_unsent();
        if is_unsent(&attempted) && self.history.last().is_some_and(is_unsent) {
            self.history.pop();
        }
        if self.history.len() >= HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(attempted);
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
            Self::Lost => Some("whoever sent it has not come back: it may have arrived".to_owned()),
        }
    }
}

impl Response {
    /// Bytes of any kind, so that no store stumbles over them.
    pub fn new(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text.to_owned()),
            Ok(_) | Err(_) => Self::Hex(hexadecimal(bytes)),
        }
    }
}

/// A delivery as people see it.
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
