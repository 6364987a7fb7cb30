//! The events of a delivery.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::state::Response;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The delivery is due: send it, or treat the attempt as lost because its lease ended.
    Due,
    /// The outcome of an attempt.
    Returned { attempt: u32, took_ms: u64, outcome: Outcome },
    /// The endpoint is disabled, or a caller cancelled the delivery: a waiting delivery is not sent.
    #[serde(rename = "called_off")]
    Cancelled,
    /// An operator or merchant requests the delivery again.
    Replayed,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Answered {
        status: u16,
        retry_after: Option<SignedDuration>,
        response: Response,
    },
    /// No answer: the class of the error, and its details.
    Failed {
        class: String,
        detail: String,
    },
    /// The attempt was not sent, and the fault is on this side.
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
    /// The secrets are sealed with a key that this process does not have.
    NoKey,
    /// This machine has no file descriptors or ports left. Nothing was sent.
    #[serde(rename = "no_means")]
    LocalResourceExhausted,
}

pub(super) fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}
