//! `WebhookDeliveryWorkflow`: one event for one endpoint, started by the relay.

use bursar_core::flow::{Flow, Outcome, Pool};
use bursar_core::webhooks::delivery::{self, DeadLetterReason, Delivery, Event, Response, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Signal, WorkflowKind};
use crate::activities::{Activities, Failed};
use crate::activity_table::Activity;
use crate::message::{Next, Order, Step};
use crate::signals::WorkflowRef;

/// The input of a `WebhookDeliveryWorkflow`.
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

pub(crate) struct WebhookDelivery;

const DELIVER: &str = "DeliverWebhook";

/// The timeout of the first attempt: the workflow does not know the lease yet, which ends before.
const OPENING_MS: u64 = 120_000;

impl WorkflowKind for WebhookDelivery {
    type Flow = Delivery;

    const NAME: &'static str = "WebhookDeliveryWorkflow";
    const QUERY: &'static str = "delivery-status";
    const SIGNAL: Option<Signal> = None;
    const TASK_QUEUE: &'static str = "webhook-worker";
    const ACTIVITIES: &'static [Activity] =
        &[Activity::effect(DELIVER), Activity::turn("SendToDLQ")];

    fn opening(input: &Value) -> (Next, Order) {
        let request: DeliveryRequest = serde_json::from_value(input.clone()).unwrap_or_default();
        let next = Next { timeout_ms: Some(OPENING_MS), ..Next::turn(DELIVER) };
        let order = Order { flow: request.delivery, lane: request.endpoint, ..Order::default() };
        (next, order)
    }

    fn start_input(flow: &Flow, delivery: &Delivery) -> Value {
        json!({
            "DeliveryID": flow.name(),
            "EventID": delivery.terms.event.to_string(),
            "EndpointID": delivery.terms.endpoint.to_string(),
        })
    }

    fn lane(delivery: &Delivery) -> String {
        delivery.terms.endpoint.to_string()
    }

    fn pool(lane: &str) -> Option<Pool> {
        lane.parse().ok().map(Pool::Endpoint)
    }

    fn status(_: &Flow, delivery: &Delivery) -> Value {
        json!({
            "EventID": delivery.terms.event.to_string(),
            "Status": delivery.state.status(),
            "Attempts": delivery.attempts,
            "LastError": delivery.last_error(),
        })
    }

    fn result(flow: &Flow, delivery: &Delivery) -> Value {
        let delivered = delivery.state == State::Delivered;
        let result = WebhookDeliveryResult {
            event_id: delivery.terms.event.to_string(),
            delivered,
            attempts: delivery.attempts,
            final_status: final_status(&delivery.state).to_owned(),
            last_error: delivery.last_error().filter(|_| !delivered).unwrap_or_default(),
            completed_at: flow.updated_at,
        };
        serde_json::to_value(result).unwrap_or_default()
    }

    fn redact(outcome: Outcome) -> Outcome {
        redact_response_body(outcome)
    }

    async fn cancel(
        activities: &Activities,
        order: &Order,
        _: &WorkflowRef,
    ) -> Result<Step, Failed> {
        let outcome = Some(Outcome::Delivery(Event::Cancelled));
        let flow = order.flow.clone();
        activities.turn(&Order { flow, outcome, ..Order::default() }).await
    }
}

fn final_status(state: &State) -> &'static str {
    match state {
        State::Dlq { reason, .. } => match reason {
            DeadLetterReason::Exhausted => "DLQ",
            DeadLetterReason::SerialisationFailed | DeadLetterReason::SigningFailed => {
                reason.name()
            }
        },
        State::Pending { .. }
        | State::Delivering { .. }
        | State::WaitingRetry { .. }
        | State::Delivered
        | State::Cancelled { .. } => state.status(),
    }
}

/// The response body of an endpoint must not stand in a history.
fn redact_response_body(outcome: Outcome) -> Outcome {
    if let Outcome::Delivery(Event::Returned {
        attempt,
        took_ms,
        outcome: delivery::Outcome::Answered { status, retry_after, .. },
    }) = outcome
    {
        let response = Response::Text(String::new());
        let outcome = delivery::Outcome::Answered { status, retry_after, response };
        return Outcome::Delivery(Event::Returned { attempt, took_ms, outcome });
    }
    outcome
}
