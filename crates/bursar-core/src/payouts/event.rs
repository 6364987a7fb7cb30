//! The events of a payout.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::payouts::attempt::{Evidence, Reported};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The timer has expired, or the lease of the running effect has ended.
    Due,
    /// A submission has ended, with any outcome.
    Submitted {
        attempt: u32,
        r#try: u32,
        outcome: Outcome,
    },
    /// A query has ended, with or without an answer; the lease identifies the query.
    Queried {
        attempt: u32,
        lease_until: Timestamp,
        answer: Answer,
    },
    /// Evidence about an attempt from outside: a callback or a statement.
    #[serde(rename = "told")]
    EvidenceReceived {
        attempt: u32,
        evidence: Evidence,
    },
    CancelAsked,
    /// The window of the channel has closed.
    CutOff,
    Rescheduled(When),
    /// A decision waits for what the channel says after a restore.
    RecheckAsked,
    Decided(ManualDecision),
}

/// When a payout that waits is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// At once, and before all others.
    Urgent,
    At(Timestamp),
}

/// Prefix of the detail of an answer that the connector has no mapping for.
pub const UNMAPPED: &str = "unmapped ";

impl Event {
    /// The message of the channel or the connector beside the outcome.
    pub(super) fn detail(&self) -> Option<&str> {
        match self {
            Self::Submitted { outcome, .. } => match outcome {
                Outcome::NotSent { detail, .. }
                | Outcome::Rejected { detail, .. }
                | Outcome::Unknown { detail } => Some(detail),
                Outcome::Accepted { .. } | Outcome::Paid { .. } | Outcome::Duplicate => None,
            },
            Self::Queried { answer, .. } => match answer {
                Answer::NotPaid { detail, .. }
                | Answer::Returned { detail, .. }
                | Answer::Failed { detail } => Some(detail),
                Answer::Paid { .. } | Answer::Pending { .. } | Answer::NotFound => None,
            },
            Self::Due
            | Self::EvidenceReceived { .. }
            | Self::CancelAsked
            | Self::CutOff
            | Self::Rescheduled(_)
            | Self::RecheckAsked
            | Self::Decided(_) => None,
        }
    }
}

/// How a submission ended. The connector classifies; every outcome that it cannot prove is `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Proven: no byte of it reached the channel.
    NotSent {
        detail: String,
        /// This machine is the reason: no files, ports, memory or time. It says nothing about the channel.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_ours: bool,
    },
    Rejected {
        is_retryable: bool,
        detail: String,
    },
    Accepted {
        provider_reference: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<Reported>,
    },
    Paid {
        provider_reference: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<Reported>,
    },
    /// The channel already has this reference.
    Duplicate,
    Unknown {
        detail: String,
    },
}

/// The answer of the channel to a status query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Paid {
        provider_reference: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<Reported>,
    },
    NotPaid {
        is_retryable: bool,
        detail: String,
    },
    Pending {
        provider_reference: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<Reported>,
    },
    Returned {
        detail: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<Reported>,
    },
    NotFound,
    /// No answer, or an unusable one: it is no evidence.
    Failed {
        detail: String,
    },
}

/// An operator's decision about a stuck payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManualDecision {
    #[serde(rename = "ruling")]
    pub decision: Decision,
    pub actor: String,
    /// Whether the actor may be the approver of the two.
    pub is_approver: bool,
    /// The people who made the actor's key alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
    /// The grounds of the decision.
    pub evidence: String,
    /// Whether a second operator must decide the same.
    pub needs_two: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    /// The last attempt is void; start another one under a new reference.
    NewAttempt,
    /// The discrepancy of a finished payout was looked into.
    CloseCase,
}
