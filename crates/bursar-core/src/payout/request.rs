//! What people may ask for about payouts, and how they see them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::event::Ruling;
use super::state::{Beneficiary, Payout, Remarks, Terms};
use crate::flow::Flow;
use crate::funds::{Funds, parse_money};
use crate::ids::PayoutId;
use crate::ledger::to_microseconds;
use crate::pricing::{Quote, quote};
use crate::rejection::Rejection;
use crate::rulebook::RequestHash;
use crate::rules::Rules;

/// Somebody to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPayout {
    pub merchant: String,
    pub channel: String,
    pub currency: String,
    /// A decimal, as text.
    pub amount: String,
    pub beneficiary: Beneficiary,
    pub scheduled_at: Option<Timestamp>,
    pub remarks: Remarks,
}

impl NewPayout {
    /// Checked against the channel, priced, and frozen.
    pub(crate) fn terms(&self, rules: &Rules) -> Result<Terms, Rejection> {
        let Some(channel) = rules.channels.get(&self.channel) else {
            let known = rules.channels.keys().cloned().collect();
            return Err(Rejection::UnknownChannel { channel: self.channel.clone(), known });
        };
        let amount = parse_money("amount", &self.amount, &self.currency)?;
        let currency = amount.currency();
        if !channel.currencies.contains(&currency) {
            let channel = self.channel.clone();
            return Err(Rejection::CurrencyOfChannel { channel, currency });
        }
        if amount.minor() <= 0 {
            return Err(Rejection::NothingToPay { amount });
        }
        self.beneficiary.check()?;
        self.remarks.check()?;
        let quote = quote(&rules.payout_tariffs, amount)?;
        let Quote { fee, vat } = quote.unwrap_or_else(|| Quote::nothing(currency));
        let (merchant, bank) = (self.merchant.clone(), channel.bank.clone());
        Ok(Terms {
            funds: Funds { merchant, bank, amount, fee, vat },
            channel: self.channel.clone(),
            beneficiary: self.beneficiary.clone(),
            scheduled_at: self.scheduled_at.map(to_microseconds),
            remarks: self.remarks.clone(),
        })
    }

    /// Over what was asked for, not over what it costs: prices and channels may change between a request and its
    /// repetition.
    pub(crate) fn request_hash(&self) -> Result<[u8; 32], Rejection> {
        let amount = parse_money("amount", &self.amount, &self.currency)?;
        let Beneficiary { name, account, msisdn, bank } = &self.beneficiary;
        let scheduled_at = self.scheduled_at.map(to_microseconds);
        let mut hash = RequestHash::new("payout", &self.merchant, scheduled_at);
        hash.add("channel", &self.channel);
        hash.add("currency", amount.currency().code());
        hash.add("amount", &amount.minor().to_string());
        hash.add("name", name);
        for (field, value) in [("account", account), ("msisdn", msisdn), ("bank", bank)] {
            hash.add(field, value.as_deref().unwrap_or_default());
        }
        hash.add("trace_id", self.remarks.trace_id.as_deref().unwrap_or_default());
        for (name, value) in &self.remarks.metadata {
            hash.add("metadata", name);
            hash.add("value", value);
        }
        Ok(hash.finish())
    }
}

/// Somebody asks for a payout to be cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancellation {
    pub id: PayoutId,
    pub expected_version: Option<u64>,
    pub actor: String,
}

/// Somebody decides about a payout that is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub id: PayoutId,
    pub ruling: Ruling,
    pub evidence: String,
    pub expected_version: u64,
    pub actor: String,
    /// Whether they may be the one of two who approves.
    pub is_approver: bool,
}

impl Cancellation {
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let version = self.expected_version.map_or(String::new(), |version| version.to_string());
        let mut hash = RequestHash::new("payout.cancel", &self.id.to_string(), None);
        hash.add("expected_version", &version);
        hash.add("actor", &self.actor);
        hash.finish()
    }
}

impl Resolution {
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let mut hash = RequestHash::new(self.action(), &self.id.to_string(), None);
        hash.add("expected_version", &self.expected_version.to_string());
        hash.add("actor", &self.actor);
        hash.add("evidence", &self.evidence);
        hash.finish()
    }

    /// The action, as the audit names it.
    pub(crate) const fn action(&self) -> &'static str {
        match self.ruling {
            Ruling::ConfirmPaid => "payout.confirm_paid",
            Ruling::ConfirmNotPaid => "payout.confirm_not_paid",
            Ruling::KeepWaiting => "payout.keep_waiting",
            Ruling::NewAttempt => "payout.new_attempt",
        }
    }
}

/// A payout as people see it: in answers and in the events that are told to the merchant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub id: String,
    pub status: String,
    #[serde(rename = "final")]
    pub is_final: bool,
    pub version: u64,
    pub merchant_id: String,
    pub amount: String,
    pub fee: String,
    pub vat: String,
    pub currency: String,
    pub channel: String,
    /// The latest attempt's: what the channel knows it by.
    pub reference: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// What one of two has decided; a second person must decide the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_decision: Option<PendingDecision>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDecision {
    pub decision: Ruling,
    pub actor: String,
}

impl View {
    pub fn new(flow: &Flow, payout: &Payout) -> Self {
        let Funds { merchant, amount, fee, vat, .. } = &payout.terms.funds;
        Self {
            id: PayoutId::from_uuid(flow.id.uuid()).to_string(),
            status: payout.state.status().to_owned(),
            is_final: payout.state.is_final(),
            version: flow.version,
            merchant_id: merchant.clone(),
            amount: amount.decimal(),
            fee: fee.decimal(),
            vat: vat.decimal(),
            currency: amount.currency().to_string(),
            channel: payout.terms.channel.clone(),
            reference: payout.reference().to_owned(),
            reason: payout.reason().map(str::to_owned),
            scheduled_at: payout.terms.scheduled_at,
            pending_decision: payout.proposal.as_ref().map(|proposal| PendingDecision {
                decision: proposal.ruling,
                actor: proposal.actor.clone(),
            }),
            metadata: payout.terms.remarks.metadata.clone(),
            trace_id: payout.terms.remarks.trace_id.clone(),
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}
