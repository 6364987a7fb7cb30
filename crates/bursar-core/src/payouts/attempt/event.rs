//! Evidence about an attempt.

use serde::{Deserialize, Serialize};

/// One statement about an attempt. Repeated, it is the same evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    pub source: Source,
    pub verdict: Verdict,
    /// The channel's own reference of the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_reference: Option<String>,
    /// The channel's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// SHA-256 of the received bytes, in hexadecimal, if they came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The answer to a submission, or its absence.
    Submission,
    Callback,
    Query,
    /// An operator who has investigated.
    Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Proven: this try never reached the channel.
    NotSent {
        r#try: u32,
    },
    /// The outcome of this try is unknown.
    Unknown {
        r#try: u32,
    },
    /// The channel refused this try. If no other try arrived, it will not pay.
    Refused {
        r#try: u32,
        is_retryable: bool,
    },
    /// The channel accepted it; the outcome comes later.
    Accepted,
    Paid,
    /// The channel will not pay any try. Another attempt may succeed if the failure is retryable.
    NotPaid {
        is_retryable: bool,
    },
    /// The channel paid it, and the money came back.
    Returned,
}

impl Evidence {
    pub fn new(source: Source, verdict: Verdict) -> Self {
        Self { source, verdict, provider_reference: None, detail: None, digest: None }
    }

    /// Whether the content is the same, apart from the bytes that carried it.
    pub(crate) fn says(&self, other: &Self) -> bool {
        let Self { source, verdict, provider_reference, detail, digest: _ } = self;
        (source, verdict) == (&other.source, &other.verdict)
            && (provider_reference, detail) == (&other.provider_reference, &other.detail)
    }
}
