//! Messages between workflows and activities, as they stand in histories. They contain ids and amounts; never a secret, never
//! the number of an account. The stored field names are fixed: old histories must replay.

use bursar_core::flow::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The input of an activity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The name of the flow, once it exists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flow: String,
    /// The channel or endpoint that an effect goes to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// The outcome of an effect that is not saved yet.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "news")]
    pub outcome: Option<Outcome>,
    /// The input of the workflow, or of a signal.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// Counts signal requests and cancellations of a run: part of the idempotency key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u64,
    /// The version of the flow that a signal decides about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

/// The output of an activity: where the flow stands, and what its workflow does next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub flow: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// The answer of the status query.
    pub status: Value,
    /// None if the flow is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// An outcome that the next activity saves.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "news")]
    pub outcome: Option<Outcome>,
    /// The step has created webhook deliveries.
    #[serde(default, skip_serializing_if = "is_false", rename = "tells")]
    pub notifies: bool,
    /// Why a request of an operator, or the due step, was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The result of the workflow, once the flow is over.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Whether the cluster has a search attribute for the status.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_searchable: bool,
}

impl Step {
    /// Before the first poll.
    pub(crate) fn unknown(order: &Order) -> Self {
        Self {
            flow: order.flow.clone(),
            version: order.version,
            lane: order.lane.clone(),
            status: Value::Null,
            next: None,
            outcome: None,
            notifies: false,
            refused: None,
            result: Value::Null,
            is_searchable: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Next {
    pub activity: String,
    /// How long the workflow waits before.
    #[serde(default, rename = "pause")]
    pub pause_ms: u64,
    /// The timeout of an effect. None for a turn, which is a local activity.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "timeout")]
    pub timeout_ms: Option<u64>,
}

impl Next {
    /// A turn without a pause.
    pub(crate) fn turn(activity: &str) -> Self {
        Self { activity: activity.to_owned(), pause_ms: 0, timeout_ms: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(is_true: &bool) -> bool {
    !*is_true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use bursar_core::webhooks::delivery::Event;
    use serde_json::json;

    use super::{Next, Order, Outcome, Step};

    /// A renamed field would be read as absent, and the workflow would deviate from its history.
    #[test]
    fn stored_names_stay() {
        let outcome = Some(Outcome::Delivery(Event::Cancelled));
        let order = Order {
            flow: "dlv_1".to_owned(),
            lane: "we_1".to_owned(),
            outcome: outcome.clone(),
            input: json!({}),
            number: 1,
            version: 2,
        };
        let stored = json!({
            "flow": "dlv_1", "lane": "we_1", "news": { "delivery": "called_off" }, "input": {},
            "number": 1, "version": 2,
        });
        assert_eq!(serde_json::to_value(&order).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Order>(stored).unwrap(), order);

        let next = Next { activity: "SendToDLQ".to_owned(), pause_ms: 5, timeout_ms: Some(7) };
        let step = Step {
            status: json!({ "Status": "PENDING" }),
            next: Some(next),
            outcome,
            notifies: true,
            refused: Some("no".to_owned()),
            result: json!({}),
            is_searchable: true,
            ..Step::unknown(&order)
        };
        let stored = json!({
            "flow": "dlv_1", "version": 2, "lane": "we_1", "status": { "Status": "PENDING" },
            "next": { "activity": "SendToDLQ", "pause": 5, "timeout": 7 },
            "news": { "delivery": "called_off" }, "tells": true, "refused": "no", "result": {},
            "is_searchable": true,
        });
        assert_eq!(serde_json::to_value(&step).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Step>(stored).unwrap(), step);
    }
}
