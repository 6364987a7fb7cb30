//! Decodes stored texts into the current types and encodes them again.

use bursar_core::flow::host::Host;
use bursar_core::flow::{Backoff, DecodedFlow, Flow, FlowState, FlowView, Outcome};
use bursar_core::freezes::{Freeze, Scope};
use bursar_core::ids::{FlowId, Seed};
use bursar_core::payins::PayIn;
use bursar_core::payouts::Payout;
use bursar_core::registry::Content;
use bursar_core::webhooks::delivery::Delivery;
use jiff::Timestamp;

use crate::desk::START;

/// The state of a payout flow.
pub(crate) fn payout(payout: Payout) -> FlowState {
    FlowState::Payout(Box::new(payout))
}

pub(crate) fn payin(payin: PayIn) -> FlowState {
    FlowState::PayIn(Box::new(payin))
}

pub(crate) fn delivery(delivery: Delivery) -> FlowState {
    FlowState::Delivery(Box::new(delivery))
}

/// A flow in this state, with fixed columns.
pub(crate) fn flow(state: FlowState, backoff: Option<Backoff>, host: Host) -> Flow {
    let updated_at = START + jiff::SignedDuration::from_micros(90_000_001);
    Flow {
        id: FlowId::new(START, &Seed::from(1), 0),
        merchant: "m1".to_owned(),
        version: 3,
        sequence: 2,
        created_at: START,
        updated_at,
        state,
        backoff,
        host,
    }
}

/// Decodes a stored text of this form and encodes it again.
pub(crate) fn again(form: &str, text: &str) -> String {
    match form {
        "payout" | "payin" | "delivery" => {
            let DecodedFlow { state, backoff, host } = Flow::decode(form, text).unwrap();
            assert_eq!(state.kind(), form);
            flow(state, backoff, host).encode()
        }
        "reply" => FlowView::decode(text).unwrap().encode(),
        "outcome" => json(&serde_json::from_str::<Outcome>(text).unwrap()),
        "host" => json(&serde_json::from_str::<Host>(text).unwrap()),
        "freeze_scope" => json(&serde_json::from_str::<Scope>(text).unwrap()),
        "freeze" => json(&serde_json::from_str::<Freeze>(text).unwrap()),
        kind => Content::decode(kind, text).unwrap().encode(),
    }
}

/// The JSON of serde: the stored form of types without an `encode` method.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

/// The reply about this flow that is stored under an idempotency key.
pub(crate) fn reply(flow: &Flow) -> String {
    FlowView::new(flow).encode()
}

/// The kind and the stored content of a record.
pub(crate) fn record(content: &Content) -> (&'static str, String) {
    (content.kind().name(), content.encode())
}

/// The columns of a flow besides its state.
pub(crate) fn columns(flow: &Flow) -> String {
    let due = flow.due().map_or("-".to_owned(), |due| format!("{} {}", due.lane, due.at));
    let (kind, status) = (flow.state.kind(), flow.state.status());
    let event = flow.state.event().unwrap_or("-");
    let references: Vec<String> =
        flow.references().map(|(speaker, reference)| format!("{speaker}/{reference}")).collect();
    let references = references.join(",");
    format!("{kind} {} {status} {event} {} due {due} [{references}]", flow.name(), flow.is_live())
}

/// This many seconds after `START`.
pub(crate) fn at(second: i64) -> Timestamp {
    START + jiff::SignedDuration::from_secs(second)
}
