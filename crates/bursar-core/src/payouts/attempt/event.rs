//! Evidence about an attempt.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::Money;

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
    /// The amount that the channel reports, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// SHA-256 of the received bytes, in hexadecimal, if they came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Amount and currency of a payment, as the channel writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reported {
    /// A decimal. None if the channel names only a currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
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
    /// A provider's report about the time that a restore has lost.
    Report,
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
    /// The channel reports an amount or a currency that was not asked for.
    AmountDiffers,
    /// The channel reports that it paid, or that the money came back, without the amount that it must name.
    AmountMissing,
}

impl Reported {
    /// Whether this is the amount that was asked for, as far as the channel names it.
    pub fn is(&self, asked: Money) -> bool {
        let Self { amount, currency } = self;
        let is_currency = |code: &String| code.eq_ignore_ascii_case(asked.currency().code());
        let is_amount = |text: &String| Money::parse(exact(text), asked.currency()) == Ok(asked);
        currency.as_ref().is_none_or(is_currency) && amount.as_ref().is_none_or(is_amount)
    }
}

/// The decimal without zeros at its end: some channels write more decimals than the currency has.
fn exact(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount.as_deref().unwrap_or("an unnamed amount");
        let currency = self.currency.as_deref().unwrap_or("an unnamed currency");
        write!(f, "{amount} {currency}")
    }
}

impl Evidence {
    pub fn new(source: Source, verdict: Verdict) -> Self {
        Self {
            source,
            verdict,
            provider_reference: None,
            detail: None,
            reported: None,
            digest: None,
        }
    }

    /// Whether the content is the same, apart from the bytes that carried it.
    pub(crate) fn says(&self, other: &Self) -> bool {
        let Self { source, verdict, provider_reference, detail, reported, digest: _ } = self;
        (source, verdict, reported) == (&other.source, &other.verdict, &other.reported)
            && (provider_reference, detail) == (&other.provider_reference, &other.detail)
    }
}
