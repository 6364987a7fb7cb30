//! What anybody can say about an attempt.

use serde::{Deserialize, Serialize};

/// One thing that somebody said. Said again, it is the same evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    pub source: Source,
    pub verdict: Verdict,
    /// The channel's own name for the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_reference: Option<String>,
    /// What the channel said, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// SHA-256 of the bytes that said so, in hexadecimal, if they came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The answer to a submission, or the lack of one.
    Submission,
    Callback,
    Query,
    /// A person who has looked.
    Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Proven: the channel never got this try.
    NotSent {
        r#try: u32,
    },
    /// Nobody knows what became of this try.
    Unknown {
        r#try: u32,
    },
    /// The channel did not take this try. If no other one has arrived, it will not be paid.
    Refused {
        r#try: u32,
        is_retryable: bool,
    },
    /// The channel has it; the outcome comes later.
    Accepted,
    Paid,
    /// The channel will not pay it, whatever it got. Another attempt may do better, or not.
    NotPaid {
        is_retryable: bool,
    },
    /// It was paid, and the money came back.
    Returned,
}

impl Evidence {
    pub fn new(source: Source, verdict: Verdict) -> Self {
        Self { source, verdict, provider_reference: None, detail: None, digest: None }
    }

    /// Whether it says the same, in whichever bytes.
    pub(crate) fn says(&self, other: &Self) -> bool {
        let Self { source, verdict, provider_reference, detail, digest: _ } = self;
        (source, verdict) == (&other.source, &other.verdict)
            && (provider_reference, detail) == (&other.provider_reference, &other.detail)
    }
}
