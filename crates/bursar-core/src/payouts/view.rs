//! The view of a payout in replies and events.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::beneficiary::MaskedBeneficiary;
use super::event::Decision;
use super::state::Payout;
use crate::flow::Flow;
use crate::ids::PayoutId;
use crate::ledger::funds::Funds;
use crate::payouts::attempt::Attempt;

/// The public view of a payout, in replies and in events to the merchant.
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
    /// Views of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneficiary: Option<MaskedBeneficiary>,
    /// The reference of the latest attempt at the channel.
    pub reference: String,
    /// The channel's own reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// The decision of the first of two operators; the second must decide the same.
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
    pub decision: Decision,
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
            beneficiary: Some(payout.masked_beneficiary()),
            reference: payout.reference().to_owned(),
            provider_reference: payout.provider_reference().map(str::to_owned),
            external_id: payout.terms.remarks.external_id.clone(),
            description: payout.terms.remarks.description.clone(),
            reason: payout.reason().map(str::to_owned),
            scheduled_at: payout.terms.scheduled_at,
            pending_decision: payout.proposal.as_ref().map(|proposal| PendingDecision {
                decision: proposal.decision,
                actor: proposal.actor.clone(),
            }),
            metadata: payout.terms.remarks.metadata.clone(),
            trace_id: payout.terms.remarks.trace_id.clone(),
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}

impl Payout {
    /// The beneficiary as views show it.
    pub fn masked_beneficiary(&self) -> MaskedBeneficiary {
        self.terms.beneficiary.masked(self.terms.beneficiary_id.as_deref())
    }

    /// The channel's own reference: of the settled attempt, or before settlement of the latest attempt that has one. The
    /// reference of an attempt that failed is never shown as that of the payment.
    pub fn provider_reference(&self) -> Option<&str> {
        let is_shown = |attempt: &&Attempt| self.settled.is_none_or(|it| it == attempt.number);
        let mut attempts = self.attempts.iter().rev().filter(is_shown);
        attempts.find_map(Attempt::provider_reference)
    }
}
