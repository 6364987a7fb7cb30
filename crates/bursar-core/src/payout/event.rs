//! What may happen to a payout.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::Evidence;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Its time has come, or the effect it waited for has not come back.
    Due,
    /// A submission has ended, one way or another.
    Submitted {
        attempt: u32,
        r#try: u32,
        outcome: Outcome,
    },
    /// A question was answered, or not; the lease tells which question.
    Queried {
        attempt: u32,
        lease_until: Timestamp,
        answer: Answer,
    },
    /// Somebody tells us something about an attempt: a callback, a statement.
    Told {
        attempt: u32,
        evidence: Evidence,
    },
    CancelAsked,
    Decided(Decision),
}

/// How a submission ended. The connector classifies; whatever it cannot prove is `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Proven: not a byte of it reached the channel.
    NotSent {
        detail: String,
    },
    Rejected {
        is_retryable: bool,
        detail: String,
    },
    Accepted {
        provider_reference: Option<String>,
    },
    Paid {
        provider_reference: Option<String>,
    },
    /// The channel already has this reference.
    Duplicate,
    Unknown {
        detail: String,
    },
}

/// What the channel said about a reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Paid {
        provider_reference: Option<String>,
    },
    NotPaid {
        is_retryable: bool,
        detail: String,
    },
    Pending {
        provider_reference: Option<String>,
    },
    Returned {
        detail: String,
    },
    NotFound,
    /// No answer, or one that means nothing: it is evidence of nothing.
    Failed {
        detail: String,
    },
}

/// A person's decision about a payout that is stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub ruling: Ruling,
    pub actor: String,
    /// Whether they may be the one of two who approves.
    pub is_approver: bool,
    /// What the decision rests on.
    pub evidence: String,
    /// Whether a second person must decide the same.
    pub needs_two: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    /// The last attempt is void; try once more under a new reference.
    NewAttempt,
}
