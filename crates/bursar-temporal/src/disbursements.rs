//! `DisbursementWorkflow`: one payout, started by the relay or by any client of the cluster.

use bursar_core::ids::PayoutId;
use bursar_core::payout::{NewPayout, Remarks};
use serde_json::{Value, json};

use crate::driver::Kind;
use crate::message::{DisbursementRequest, DisbursementResult, Next, Order};

pub(crate) const VALIDATE: &str = "ValidateRequest";
pub(crate) const RESERVE: &str = "ReserveBalance";

pub(crate) struct Disbursement;

impl Kind for Disbursement {
    const NAME: &'static str = "DisbursementWorkflow";
    const QUERY: &'static str = "status";
    const SIGNAL: Option<&'static str> = Some("manual-resolve");

    fn opening(input: &Value) -> (Next, Order) {
        let next = Next { activity: VALIDATE.to_owned(), pause: 0, timeout: None };
        (next, Order { input: input.clone(), ..Order::default() })
    }

    fn resumed(input: &Value, flow: &str) -> Value {
        json!({ "DisbursementID": flow, KNOWN_AS: given(input) })
    }

    /// Whoever has a name of their own for it finds it under that.
    fn result(input: &Value, mut result: Value) -> Value {
        if let (Some(given), Some(fields)) = (given(input), result.as_object_mut())
            && let Some(ours) = fields.insert("DisbursementID".to_owned(), given.clone())
        {
            fields.insert("PayoutID".to_owned(), ours);
        }
        result
    }
}

/// What a run that goes on for another one was called by whoever started that.
const KNOWN_AS: &str = "KnownAs";

/// The name that whoever started it has for it.
fn given(input: &Value) -> Option<&Value> {
    let given = input.get(KNOWN_AS).or(input.get("DisbursementID"));
    given.filter(|given| given.as_str().is_some_and(|name| !name.is_empty()))
}

/// A request that can be read.
pub(crate) enum Wanted {
    /// To drive a payout that is there.
    Known(PayoutId),
    /// To have one made, if its key has none yet.
    New(Box<DisbursementRequest>),
}

impl Wanted {
    /// What a workflow was started with, or what is wrong with it.
    pub(crate) fn read(input: &Value) -> Result<Self, String> {
        let request: DisbursementRequest =
            serde_json::from_value(input.clone()).map_err(|error| {
                format!("the request cannot be read: {error}. Nothing was reserved")
            })?;
        if let Ok(id) = request.disbursement_id.parse() {
            return Ok(Self::Known(id));
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
            Some(name) => {
                Err(format!("{name} is missing: nothing was reserved. Start it again with it"))
            }
            None => Ok(Self::New(Box::new(request))),
        }
    }
}

impl DisbursementRequest {
    /// The same payout as through the API: the same key with the same values is the same request.
    pub(crate) fn payout(self, beneficiary: bursar_core::payout::Beneficiary) -> NewPayout {
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        };
        let metadata = self.metadata.into_iter().map(|(name, value)| (name, text(value)));
        let trace_id = Some(self.trace_id).filter(|trace| !trace.is_empty());
        NewPayout {
            merchant: self.merchant_id,
            channel: self.channel,
            currency: self.currency,
            amount: self.amount,
            beneficiary,
            scheduled_at: self.scheduled_at,
            remarks: Remarks { metadata: metadata.collect(), trace_id },
        }
    }
}

impl DisbursementResult {
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
