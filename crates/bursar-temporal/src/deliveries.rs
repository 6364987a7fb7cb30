//! `WebhookDeliveryWorkflow`: one event for one endpoint, started by the relay.

use serde_json::Value;

use crate::driver::Kind;
use crate::message::{DeliveryRequest, Next, Order, WebhookDeliveryResult};

pub(crate) const DELIVER: &str = "DeliverWebhook";

pub(crate) struct Delivery;

impl Kind for Delivery {
    const NAME: &'static str = "WebhookDeliveryWorkflow";
    const QUERY: &'static str = "delivery-status";
    const SIGNAL: Option<&'static str> = None;

    fn opening(input: &Value) -> (Next, Order) {
        let request: DeliveryRequest = serde_json::from_value(input.clone()).unwrap_or_default();
        let next = Next { activity: DELIVER.to_owned(), pause: 0, timeout: Some(OPENING_MS) };
        let order = Order { flow: request.delivery, lane: request.endpoint, ..Order::default() };
        (next, order)
    }

    fn resumed(input: &Value, _: &str) -> Value {
        input.clone()
    }

    fn result(_: &Value, result: Value) -> Value {
        result
    }
}

/// How long the first attempt may take: whoever does it knows better, and gives up before.
const OPENING_MS: u64 = 120_000;

impl WebhookDeliveryResult {
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
