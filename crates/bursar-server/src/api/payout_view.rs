//! A payout as the API shows it: whom it pays, masked, how the channel and the caller name it, and its status.

use std::collections::BTreeMap;

use bursar_core::payouts::{MaskedBeneficiary, View};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::payout_decisions::Decision;
use crate::auth::Caller;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Payout {
    id: String,
    /// SCHEDULED, READY, SUBMITTING, UNCONFIRMED, PROCESSING, STUCK, SUCCESS, FAILED, CANCELLED, EXPIRED,
    /// RETURNED or `LATE_SUCCESS`.
    status: String,
    /// The payout has ended. Only a correction by the channel can change it.
    #[serde(rename = "final")]
    is_final: bool,
    /// Increases with every visible change; a decision names the version that it is based on.
    version: u64,
    merchant_id: String,
    amount: String,
    fee: String,
    vat: String,
    currency: String,
    channel: String,
    /// Whom it pays. Absent only in the repeated reply to a request of an earlier version.
    #[serde(skip_serializing_if = "Option::is_none")]
    beneficiary: Option<PaidBeneficiary>,
    /// The reference of the latest attempt at the channel.
    reference: String,
    /// The channel's own reference: of the settled attempt, or before settlement of the latest attempt that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_reference: Option<String>,
    /// The caller's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_at: Option<Timestamp>,
    /// The first of two decisions; a second person must make the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pending_decision: Option<PendingDecision>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// The beneficiary of a payout, masked.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PaidBeneficiary {
    /// The id of the registered beneficiary, if the request named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The first letter of each word.
    #[schema(example = "A*** K***")]
    name: String,
    /// The last four characters; the last two of a number with fewer than eight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "****6702")]
    account: Option<String>,
    /// The last four digits; the last two of a number with fewer than eight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "****4567")]
    msisdn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank: Option<String>,
}

impl From<MaskedBeneficiary> for PaidBeneficiary {
    fn from(masked: MaskedBeneficiary) -> Self {
        let MaskedBeneficiary { id, name, account, msisdn, bank } = masked;
        Self { id, name, account, msisdn, bank }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PendingDecision {
    decision: Decision,
    actor: String,
}

impl From<View> for Payout {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            status: view.status,
            is_final: view.is_final,
            version: view.version,
            merchant_id: view.merchant_id,
            amount: view.amount,
            fee: view.fee,
            vat: view.vat,
            currency: view.currency,
            channel: view.channel,
            beneficiary: view.beneficiary.map(Into::into),
            reference: view.reference,
            provider_reference: view.provider_reference,
            external_id: view.external_id,
            description: view.description,
            reason: view.reason,
            scheduled_at: view.scheduled_at,
            pending_decision: view.pending_decision.map(|pending| PendingDecision {
                decision: pending.decision.into(),
                actor: pending.actor,
            }),
            metadata: view.metadata,
            trace_id: view.trace_id,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

impl Payout {
    /// Only staff sees which colleague has proposed a decision.
    pub(super) fn seen_by(mut self, caller: &Caller) -> Self {
        self.pending_decision = self.pending_decision.filter(|_| caller.is_staff());
        self
    }
}
