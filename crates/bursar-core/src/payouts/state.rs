//! The data of a payout: terms, attempts and state.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::beneficiary::Beneficiary;
use super::client_metadata::ClientMetadata;
use super::recheck::Recheck;
use crate::ids::{TransactionId, next_reference};
use crate::ledger::funds::Funds;
use crate::payouts::attempt::{Attempt, Knowledge};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payout {
    /// Shared by all versions.
    pub terms: Arc<Terms>,
    /// The latest is last. There is always one: its reference is fixed before anything is sent.
    pub attempts: Vec<Attempt>,
    pub state: State,
    /// The attempt for which the money is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<u32>,
    /// A discrepancy of a finished payout, which an operator must look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Discrepancy>,
    /// An operator has closed the case. New evidence of a discrepancy opens it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_case_closed: bool,
    /// How often the hold was opened.
    pub hold_epoch: u32,
    /// The transaction that released the money; it is reverted if the channel has paid nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<TransactionId>,
    /// The decision of the first of two operators; the second must repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// An operator wants it sent before all others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_urgent: bool,
    /// What the channel was asked since the last restore of the books.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<Recheck>,
}

/// The agreed terms; the quote does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub funds: Funds,
    pub channel: String,
    pub beneficiary: Beneficiary,
    /// The id of the registered beneficiary, if the request named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneficiary_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "ClientMetadata::is_empty")]
    pub remarks: ClientMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Scheduled {
        until: Timestamp,
    },
    Ready {
        not_before: Timestamp,
    },
    Submitting {
        lease_until: Timestamp,
    },
    Unconfirmed {
        asked: u32,
        not_found: u32,
        wait: Wait,
    },
    Processing {
        polls: u32,
        deadline: Timestamp,
        wait: Wait,
    },
    Stuck {
        reason: StuckReason,
        wait: Wait,
    },
    Success,
    Failed {
        reason: String,
    },
    Cancelled,
    /// It missed the cut-off of its channel.
    Expired,
    Returned,
    LateSuccess,
}

/// Between two queries, or with one in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    Until(Timestamp),
    Asking { lease_until: Timestamp },
}

impl Wait {
    pub(super) const fn time(self) -> Timestamp {
        match self {
            Self::Until(time) | Self::Asking { lease_until: time } => time,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckReason {
    /// All queries about an unknown outcome ended without an answer.
    Ambiguous,
    /// The channel accepted it and does not report an outcome.
    Pending,
    /// Both paid and not paid.
    Conflict,
    /// The channel reports another amount or currency than was asked for.
    AmountDiffers,
}

/// Evidence that arrived after the money moved and contradicts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discrepancy {
    /// The money was released, and the channel has paid: the merchant owes it.
    PaidAfterRelease,
    /// The money has moved, and the channel reports another amount.
    AmountDiffers,
    /// Settled as paid, and the channel reports that it was not.
    Contradicted,
    /// More than one attempt was paid.
    PaidTwice,
}

impl Discrepancy {
    pub const fn name(self) -> &'static str {
        match self {
            Self::PaidAfterRelease => "paid_after_release",
            Self::AmountDiffers => "amount_differs",
            Self::Contradicted => "contradicted",
            Self::PaidTwice => "paid_twice",
        }
    }
}

/// A decision that waits for a second operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    #[serde(rename = "ruling")]
    pub decision: super::Decision,
    pub actor: String,
    pub is_approver: bool,
    /// The people who made the actor's key alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
}

impl StuckReason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::Pending => "pending_too_long",
            Self::Conflict => "conflict",
            Self::AmountDiffers => "amount_differs",
        }
    }
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
            Self::Expired => "EXPIRED",
            Self::Returned => "RETURNED",
            Self::LateSuccess => "LATE_SUCCESS",
        }
    }

    /// The event emitted for this state.
    pub const fn event(&self) -> &'static str {
        match self {
            Self::Scheduled { .. } => "payout.scheduled",
            Self::Ready { .. } => "payout.ready",
            Self::Submitting { .. } => "payout.submitting",
            Self::Unconfirmed { .. } => "payout.unconfirmed",
            Self::Processing { .. } => "payout.processing",
            Self::Stuck { .. } => "payout.stuck",
            Self::Success => "payout.success",
            Self::Failed { .. } => "payout.failed",
            Self::Cancelled => "payout.cancelled",
            Self::Expired => "payout.expired",
            Self::Returned => "payout.returned",
            Self::LateSuccess => "payout.late_success",
        }
    }

    /// Why it failed, or why it is stuck.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed { reason } => Some(reason),
            Self::Stuck { reason, .. } => Some(reason.name()),
            Self::Scheduled { .. }
            | Self::Ready { .. }
            | Self::Submitting { .. }
            | Self::Unconfirmed { .. }
            | Self::Processing { .. }
            | Self::Success
            | Self::Cancelled
            | Self::Expired
            | Self::Returned
            | Self::LateSuccess => None,
        }
    }

    pub const fn is_final(&self) -> bool {
        self.due().is_none()
    }

    /// The lease of the query in flight.
    pub(super) const fn question(&self) -> Option<Timestamp> {
        match self {
            Self::Unconfirmed { wait: Wait::Asking { lease_until }, .. }
            | Self::Processing { wait: Wait::Asking { lease_until }, .. }
            | Self::Stuck { wait: Wait::Asking { lease_until }, .. } => Some(*lease_until),
            Self::Unconfirmed { wait: Wait::Until(_), .. }
            | Self::Processing { wait: Wait::Until(_), .. }
            | Self::Stuck { wait: Wait::Until(_), .. }
            | Self::Scheduled { .. }
            | Self::Ready { .. }
            | Self::Submitting { .. }
            | Self::Success
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Expired
            | Self::Returned
            | Self::LateSuccess => None,
        }
    }

    /// When the next step is due, if no event comes first.
    pub const fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Scheduled { until } => Some(*until),
            Self::Ready { not_before } => Some(*not_before),
            Self::Submitting { lease_until } => Some(*lease_until),
            Self::Unconfirmed { wait, .. }
            | Self::Processing { wait, .. }
            | Self::Stuck { wait, .. } => Some(wait.time()),
            Self::Success
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Expired
            | Self::Returned
            | Self::LateSuccess => None,
        }
    }
}

/// The knowledge about all attempts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Knowledge about the latest attempt; all earlier ones are known not to be paid.
    Latest(Knowledge),
    /// Contradicting evidence, or two attempts that may both be paid.
    Conflict,
}

impl Payout {
    pub fn latest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// The reference of the latest attempt at the channel.
    pub fn reference(&self) -> &str {
        self.latest().map_or("", |attempt| attempt.reference.as_str())
    }

    /// The reference of an attempt with this number, whether or not there is one.
    pub(super) fn reference_of(&self, number: u32) -> String {
        let known = self.attempts.iter().find(|attempt| attempt.number == number);
        let first = self.attempts.first().map_or("", |attempt| attempt.reference.as_str());
        known.map_or_else(|| next_reference(first, number), |known| known.reference.clone())
    }

    /// Why it failed, why it is stuck, the discrepancy, or that a restore holds it back.
    pub fn reason(&self) -> Option<&str> {
        let restored = || self.is_unproven().then_some("restored");
        self.case.map(Discrepancy::name).or_else(|| self.state.reason()).or_else(restored)
    }

    /// Whether any evidence says that any attempt was paid.
    pub(super) fn was_paid(&self) -> bool {
        self.attempts.iter().any(Attempt::was_paid)
    }

    /// The attempt with evidence of payment, best with the amount that was asked for, or else the latest.
    pub(super) fn paid_attempt(&self) -> u32 {
        let paid = || self.attempts.iter().filter(|attempt| attempt.was_paid());
        // Of two paid attempts, a returned one has cost nothing.
        let kept = || paid().filter(|attempt| !attempt.was_returned());
        let exact = kept().find(|attempt| !attempt.reports_other_amount());
        let found = exact.or(kept().next()).or(paid().next()).or(self.latest());
        found.map_or(0, |attempt| attempt.number)
    }

    /// Whether the channel reported another amount for any attempt.
    pub(super) fn reports_other_amount(&self) -> bool {
        self.attempts.iter().any(Attempt::reports_other_amount)
    }

    /// Whether the settled attempt also has evidence that it was not paid.
    pub(super) fn is_contradicted(&self) -> bool {
        let settled = self.attempts.iter().find(|attempt| Some(attempt.number) == self.settled);
        settled.is_some_and(Attempt::is_contradicted)
    }

    pub(super) fn was_returned(&self, number: Option<u32>) -> bool {
        let mut attempts = self.attempts.iter();
        attempts.any(|attempt| Some(attempt.number) == number && attempt.was_returned())
    }

    /// Whether nothing is known that a submission could contradict.
    pub(super) fn may_be_sent(&self) -> bool {
        match self.known() {
            Known::Latest(Knowledge::NotSent | Knowledge::InFlight | Knowledge::Unknown) => true,
            Known::Conflict
            | Known::Latest(
                Knowledge::Accepted
                | Knowledge::NotPaid { .. }
                | Knowledge::Paid
                | Knowledge::Returned
                | Knowledge::Conflict
                | Knowledge::AmountMissing
                | Knowledge::AmountDiffers,
            ) => false,
        }
    }

    pub(super) fn known(&self) -> Known {
        let Some((latest, earlier)) = self.attempts.split_last() else {
            return Known::Latest(Knowledge::NotSent);
        };
        // A new attempt starts only after the earlier ones failed. If one of them is paid or live after all, two may be
        // paid.
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
            | Knowledge::Returned
            | Knowledge::AmountMissing
            | Knowledge::AmountDiffers) => Known::Latest(knowledge),
        }
    }
}
