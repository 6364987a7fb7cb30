//! The request of a `DisbursementWorkflow`: validates it, creates the payout and reserves its money.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::ids::PayoutId;
use bursar_core::payouts::{Beneficiary, ClientMetadata, Create, NewPayout};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::RESERVE;
use crate::activities::{Activities, Failed};
use crate::message::{Next, Order, Step};
use crate::signals::WorkflowRef;

/// The input of a `DisbursementWorkflow`. If `DisbursementID` is the id of a payout, the workflow drives that payout.
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
    #[serde(rename = "ExternalID", skip_serializing_if = "String::is_empty")]
    pub external_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    #[serde(deserialize_with = "or_empty")]
    pub metadata: BTreeMap<String, Value>,
}

/// Clients may write an empty map as null.
fn or_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A request that was read.
enum Parsed {
    /// Drive an existing payout.
    Existing(PayoutId),
    /// Create a payout, unless its idempotency key has one.
    New(Box<DisbursementRequest>),
}

impl Parsed {
    fn new(input: &Value) -> Result<Self, Failed> {
        let request: DisbursementRequest =
            serde_json::from_value(input.clone()).map_err(|error| {
                bad_request(format!("the request cannot be read: {error}. Nothing was reserved"))
            })?;
        if let Ok(id) = request.disbursement_id.parse() {
            return Ok(Self::Existing(id));
        }
        let fields = [
            ("MerchantID", &request.merchant_id),
            ("BeneficiaryID", &request.beneficiary_id),
            ("Amount", &request.amount),
            ("Currency", &request.currency),
            ("Channel", &request.channel),
            ("IdempotencyKey", &request.idempotency_key),
        ];
        let missing = fields.into_iter().find(|(_, value)| value.is_empty()).map(|(name, _)| name);
        match missing {
            Some(name) => Err(bad_request(format!(
                "{name} is missing: nothing was reserved. Start it again with it"
            ))),
            None => Ok(Self::New(Box::new(request))),
        }
    }
}

fn bad_request(message: String) -> Failed {
    Failed::Refused { code: "bad_request".to_owned(), message }
}

impl DisbursementRequest {
    /// The same payout as through the API: the same key with the same values is the same request.
    fn payout(self, beneficiary: Beneficiary) -> NewPayout {
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        };
        let metadata = self.metadata.into_iter().map(|(name, value)| (name, text(value)));
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        NewPayout {
            merchant: self.merchant_id,
            channel: self.channel,
            currency: self.currency,
            amount: self.amount,
            beneficiary,
            beneficiary_id: Some(self.beneficiary_id),
            scheduled_at: self.scheduled_at,
            remarks: ClientMetadata {
                metadata: metadata.collect(),
                trace_id: given(self.trace_id),
                external_id: given(self.external_id),
                description: given(self.description),
            },
        }
    }
}

/// Checks that the request can be read and that its beneficiary exists. Saves nothing.
pub(super) async fn validate(activities: &Activities, order: &Order) -> Result<Step, Failed> {
    match Parsed::new(&order.input)? {
        Parsed::Existing(_) => {}
        Parsed::New(request) => drop(beneficiary(activities, &request).await?),
    }
    let status = json!({ "Status": "VALIDATED" });
    Ok(Step { status, next: Some(Next::turn(RESERVE)), ..Step::unknown(order) })
}

/// Creates the payout and its hold, unless its idempotency key has one.
pub(super) async fn reserve(
    activities: &Activities,
    order: &Order,
    workflow: &WorkflowRef,
) -> Result<Step, Failed> {
    let flow = match Parsed::new(&order.input)? {
        Parsed::Existing(id) => id.to_string(),
        Parsed::New(request) => {
            let beneficiary = beneficiary(activities, &request).await?;
            let scope = format!("merchant:{}", request.merchant_id);
            let key = Key::new(scope, request.idempotency_key.clone());
            let (payout, workflow) = (request.payout(beneficiary), Some(workflow.id.clone()));
            let created = activities.ask(Create { key, payout, actor: None, workflow }).await?;
            created.view.id.clone()
        }
    };
    activities.turn(&Order { flow, ..Order::default() }).await
}

async fn beneficiary(
    activities: &Activities,
    request: &DisbursementRequest,
) -> Result<Beneficiary, Failed> {
    let DisbursementRequest { merchant_id, beneficiary_id, .. } = request;
    let found = activities.port.beneficiary(merchant_id, beneficiary_id).await;
    found.map_err(Failed::Unavailable)?.ok_or_else(|| Failed::Refused {
        code: "unknown_beneficiary".to_owned(),
        message: format!(
            "merchant {merchant_id} has no beneficiary {beneficiary_id:?}: nothing was reserved. Add it first"
        ),
    })
}
