//! A row of a provider's report about the time that a restore has lost.

use serde::{Deserialize, Serialize};

use crate::payouts::attempt::{Evidence, Reported, Source, Verdict};
use crate::registry::{Kind, RecordKey};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedPayment {
    pub status: ReportedStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// What became of a payment, as the provider reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    Paid,
    Pending,
    Failed,
    Returned,
}

impl ReportedStatus {
    pub const ALL: [Self; 4] = [Self::Paid, Self::Pending, Self::Failed, Self::Returned];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Returned => "returned",
        }
    }
}

impl ReportedPayment {
    /// The key of the row about a reference in the report with this digest: another report has rows of its own.
    pub fn key(channel: &str, report: &str, reference: &str) -> RecordKey {
        RecordKey { kind: Kind::ReportedPayment, id: format!("{channel}/{report}/{reference}") }
    }

    pub fn evidence(&self) -> Evidence {
        let verdict = match self.status {
            ReportedStatus::Paid => Verdict::Paid,
            ReportedStatus::Pending => Verdict::Accepted,
            ReportedStatus::Failed => Verdict::NotPaid { is_retryable: false },
            ReportedStatus::Returned => Verdict::Returned,
        };
        let (amount, currency) = (self.amount.clone(), self.currency.clone());
        let reported =
            (amount.is_some() || currency.is_some()).then_some(Reported { amount, currency });
        Evidence { reported, ..Evidence::new(Source::Report, verdict) }
    }
}
