//! What goes into a workflow's history: requests and results as Temporal clients know them, and what activities say to
//! the workflow that runs them. Ids and amounts; never a secret, never the number of an account.

use std::collections::BTreeMap;

use bursar_core::request::News;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a `DisbursementWorkflow` is started with. One that only names its disbursement drives a payout that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisbursementRequest {
    #[serde(rename = "DisbursementID")]
    pub disbursement_id: String,
    #[serde(rename = "MerchantID")]
    pub merchant_id: String,
    #[serde(rename = "BeneficiaryID")]
    pub beneficiary_id: String,
    /// A decimal, as text.
    pub amount: String,
    pub currency: String,
    pub channel: String,
    pub idempotency_key: String,
    #[serde(rename = "TraceID")]
    pub trace_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    #[serde(deserialize_with = "or_nothing")]
    pub metadata: BTreeMap<String, Value>,
}

/// A map that is not there may be written as null.
fn or_nothing<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DisbursementResult {
    #[serde(rename = "DisbursementID")]
    pub disbursement_id: String,
    pub status: String,
    /// What the channel knows it by: its own name for it, or else ours.
    pub channel_ref: String,
    pub completed_at: Timestamp,
    pub fee: String,
    /// What the beneficiary receives.
    pub net_amount: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which delivery a `WebhookDeliveryWorkflow` drives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryRequest {
    #[serde(rename = "DeliveryID")]
    pub delivery: String,
    #[serde(rename = "EventID")]
    pub event: String,
    #[serde(rename = "EndpointID")]
    pub endpoint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct WebhookDeliveryResult {
    #[serde(rename = "EventID")]
    pub event_id: String,
    pub delivered: bool,
    pub attempts: u32,
    /// DELIVERED, DLQ, CANCELLED, `SERIALISATION_FAILED` or `SIGNING_FAILED`.
    pub final_status: String,
    pub last_error: String,
    pub completed_at: Timestamp,
}

/// What people send with the signal `manual-resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ManualResolution {
    /// SUCCESS or FAILED.
    pub status: String,
    pub resolved_by: String,
    #[serde(default)]
    pub notes: String,
}

/// What an activity is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The flow, once there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flow: String,
    /// The channel or endpoint that a job goes to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// What came of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news: Option<News>,
    /// What the workflow was started with, or what somebody has signalled.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// Counts what people have asked for, so that it is done once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u64,
    /// What people decide about was seen at this version.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

/// Where a flow stands, and what its workflow does next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub flow: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// As queries answer it.
    pub status: Value,
    /// None if it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// What the next activity takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news: Option<News>,
    /// Merchants are to be told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tells: bool,
    /// Why something that somebody wanted was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What the workflow ends with, once it is over.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Whether the cluster has a search attribute for the status.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_searchable: bool,
}

impl Step {
    /// Before anybody has looked.
    pub(crate) fn unknown(order: &Order) -> Self {
        Self {
            flow: order.flow.clone(),
            version: order.version,
            lane: order.lane.clone(),
            status: Value::Null,
            next: None,
            news: None,
            tells: false,
            refused: None,
            result: Value::Null,
            is_searchable: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Next {
    pub activity: String,
    /// How long to wait before, in milliseconds.
    #[serde(default)]
    pub pause: u64,
    /// How long it may take, in milliseconds. None for a turn, which is made where the workflow runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(is_true: &bool) -> bool {
    !*is_true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
