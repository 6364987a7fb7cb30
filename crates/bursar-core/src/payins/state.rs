//! The data of a pay-in: terms, state and provider reports.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::case::Case;
use super::event::ProviderStatus;
use crate::flow::Flow;
use crate::ids::PayInId;
use crate::ledger::funds::Funds;
use crate::money::Money;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayIn {
    pub terms: Terms,
    pub state: State,
    /// The provider's reports by id, each with the time of its arrival.
    pub said: BTreeMap<String, ProviderReport>,
    /// Reports of other values under the same reference, which an operator must look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
}

/// One report of the provider. Its id is the provider's own, or a digest of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderReport {
    pub said: ProviderStatus,
    pub at: Timestamp,
}

/// The payment that the provider reports, and the fee for it; the quote does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The amount is what the customer paid, before fee and VAT.
    pub funds: Funds,
    pub provider: String,
    /// The provider's reference of the payment.
    pub reference: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Pending,
    Collected,
    /// Booked, but the provider now reports a failure. A report reverts nothing; an operator must look at it.
    Contradicted,
    Failed,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Collected, Self::Contradicted, Self::Failed];

    pub const fn status(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Collected => "COLLECTED",
            Self::Contradicted => "CONTRADICTED",
            Self::Failed => "FAILED",
        }
    }

    pub const fn event(self) -> &'static str {
        match self {
            Self::Pending => "payin.pending",
            Self::Collected => "payin.success",
            Self::Contradicted => "payin.contradicted",
            Self::Failed => "payin.failed",
        }
    }

    /// Whether the ledger credited the merchant.
    pub const fn is_booked(self) -> bool {
        match self {
            Self::Collected | Self::Contradicted => true,
            Self::Pending | Self::Failed => false,
        }
    }
}

/// The public view of a pay-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub id: String,
    pub status: String,
    pub version: u64,
    pub merchant_id: String,
    pub provider: String,
    pub reference: String,
    pub amount: String,
    pub net: String,
    pub fee: String,
    pub vat: String,
    pub currency: String,
    /// `amount_differs` if the provider has reported other values too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl View {
    pub fn new(flow: &Flow, payin: &PayIn) -> Self {
        let Terms { funds, provider, reference } = &payin.terms;
        let Funds { merchant, amount, fee, vat, .. } = funds;
        Self {
            id: PayInId::from_uuid(flow.id.uuid()).to_string(),
            status: payin.state.status().to_owned(),
            version: flow.version,
            merchant_id: merchant.clone(),
            provider: provider.clone(),
            reference: reference.clone(),
            amount: amount.to_string(),
            net: net(*amount, *fee, *vat).to_string(),
            fee: fee.to_string(),
            vat: vat.to_string(),
            currency: amount.currency().to_string(),
            reason: payin.reason().map(str::to_owned),
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}

/// The net amount for the merchant, never negative.
fn net(amount: Money, fee: Money, vat: Money) -> Money {
    let left = amount.minor().saturating_sub(fee.minor()).saturating_sub(vat.minor());
    Money::from_minor(left, amount.currency())
}
