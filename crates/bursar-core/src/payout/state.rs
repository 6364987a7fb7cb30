//! What a payout is: its terms, its attempts, and where it stands.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{Attempt, Knowledge};
use crate::ids::TransactionId;
use crate::money::Money;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payout {
    pub terms: Terms,
    /// The latest is last. There is always one: its reference is fixed before anything is sent.
    pub attempts: Vec<Attempt>,
    pub state: State,
    /// How often the hold was opened.
    pub hold_epoch: u32,
    /// What gave the money back; taken back itself if it turns out that the channel has paid.
    pub released_by: Option<TransactionId>,
    /// What one person decided and another must repeat.
    pub proposal: Option<Proposal>,
}

/// What was agreed when it was made; the quote is frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub merchant: String,
    pub channel: String,
    pub bank: String,
    pub beneficiary: String,
    pub amount: Money,
    pub fee: Money,
    pub vat: Money,
    pub scheduled_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Scheduled { until: Timestamp },
    Ready { not_before: Timestamp },
    Submitting { lease_until: Timestamp },
    Unconfirmed { asked: u32, not_found: u32, wait: Wait },
    Processing { polls: u32, deadline: Timestamp, wait: Wait },
    Stuck { reason: StuckReason, wait: Wait },
    Success,
    Failed { reason: String },
    Cancelled,
    Returned,
    LateSuccess,
}

/// Between two questions, or with one in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    Until(Timestamp),
    Asking { lease_until: Timestamp },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckReason {
    /// Asked again and again whether the channel has it, in vain.
    Ambiguous,
    /// The channel has it and does not come to an end.
    Pending,
    /// Both paid and not paid.
    Conflict,
}

/// A decision that waits for a second person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub ruling: super::Ruling,
    pub actor: String,
}

impl State {
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Scheduled { .. } => "SCHEDULED",
            Self::Ready { .. } => "READY",
            Self::Submitting { .. } => "SUBMITTING",
            Self::Unconfirmed { .. } => "UNCONFIRMED",
            Self::Processing { .. } => "PROCESSING",
            Self::Stuck { .. } => "STUCK",
            Self::Success => "SUCCESS",
            Self::Failed { .. } => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Returned => "RETURNED",
            Self::LateSuccess => "LATE_SUCCESS",
        }
    }

    pub const fn is_final(&self) -> bool {
        self.due().is_none()
    }

    /// When it must be looked at again, if nothing happens before.
    pub const fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Scheduled { until } => Some(*until),
            Self::Ready { not_before } => Some(*not_before),
            Self::Submitting { lease_until } => Some(*lease_until),
            Self::Unconfirmed { wait, .. }
            | Self::Processing { wait, .. }
            | Self::Stuck { wait, .. } => Some(match wait {
                Wait::Until(time) | Wait::Asking { lease_until: time } => *time,
            }),
            Self::Success
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Returned
            | Self::LateSuccess => None,
        }
    }
}

/// What is known about all attempts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Of the latest attempt; all earlier ones are known not to have been paid.
    Latest(Knowledge),
    /// Evidence that cannot all be true, or money that may be paid twice.
    Conflict,
}

impl Payout {
    pub fn latest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// The latest attempt's: what goes to the channel.
    pub fn reference(&self) -> &str {
        self.latest().map_or("", |attempt| attempt.reference.as_str())
    }

    /// Whether anybody said that any attempt was paid.
    pub(super) fn was_paid(&self) -> bool {
        self.attempts.iter().any(Attempt::was_paid)
    }

    pub(super) fn was_returned(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.knowledge() == Knowledge::Returned)
    }

    pub(super) fn known(&self) -> Known {
        let Some((latest, earlier)) = self.attempts.split_last() else {
            return Known::Latest(Knowledge::NotSent);
        };
        // A new attempt was made because the earlier ones had failed. If one of them has not, two may be paid.
        let has_revived = earlier.iter().any(|attempt| attempt.was_paid() || attempt.is_live());
        match latest.knowledge() {
            _ if has_revived => Known::Conflict,
            Knowledge::Conflict => Known::Conflict,
            knowledge @ (Knowledge::NotSent
            | Knowledge::InFlight
            | Knowledge::Unknown
            | Knowledge::Accepted
            | Knowledge::NotPaid { .. }
            | Knowledge::Paid
            | Knowledge::Returned) => Known::Latest(knowledge),
        }
    }
}
