//! What may happen to a delivery.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::state::Response;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Its time has come: to be sent, or to be given up for lost.
    Due,
    /// An attempt has come back.
    Returned { attempt: u32, took_ms: u64, outcome: Outcome },
    /// The endpoint is off, or somebody has cancelled it: whatever waits is not sent.
    CalledOff,
    /// Somebody wants it sent again.
    Replayed,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Answered {
        status: u16,
        retry_after: Option<SignedDuration>,
        response: Response,
    },
    /// No answer: which kind of trouble, and in more words.
    Failed {
        class: String,
        detail: String,
    },
    /// It could not even be sent, and that is our fault.
    Unsendable {
        what: Unsendable,
        detail: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsendable {
    Serialisation,
    Signing,
    /// Its secrets were sealed with a key that is not here.
    NoKey,
    /// This machine could not even begin: it has no files or ports left. Nothing was sent.
    NoMeans,
}

/// A time, and when it counts as over.
pub(super) fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}
