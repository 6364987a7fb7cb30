//! Stored texts: read into today's types and written again.

use bursar_core::control::{Freeze, Scope};
use bursar_core::delivery::Delivery;
use bursar_core::flow::{Flow, FlowState, Kept, Parked};
use bursar_core::host::Host;
use bursar_core::idempotency::FlowReply;
use bursar_core::ids::{FlowId, Seed};
use bursar_core::payin::PayIn;
use bursar_core::payout::Payout;
use bursar_core::registry::Content;
use bursar_core::request::News;
use jiff::Timestamp;

use crate::desk::START;

/// What a flow is about: the value that differs between the kinds.
pub(crate) fn payout(payout: Payout) -> FlowState {
    FlowState::Payout(Box::new(payout))
}

pub(crate) fn payin(payin: PayIn) -> FlowState {
    FlowState::PayIn(Box::new(payin))
}

pub(crate) fn delivery(delivery: Delivery) -> FlowState {
    FlowState::Delivery(Box::new(delivery))
}

/// A flow in this state, with columns that never change.
pub(crate) fn flow(state: FlowState, parked: Option<Parked>, host: Host) -> Flow {
    let updated_at = START + jiff::SignedDuration::from_micros(90_000_001);
    Flow {
        id: FlowId::new(START, &Seed::from(1), 0),
        merchant: "m1".to_owned(),
        version: 3,
        sequence: 2,
        created_at: START,
        updated_at,
        state,
        parked,
        host,
    }
}

/// A stored text of this form, read and written again.
pub(crate) fn again(form: &str, text: &str) -> String {
    match form {
        "payout" | "payin" | "delivery" => {
            let Kept { state, parked, host } = Flow::decode(form, text).unwrap();
            assert_eq!(state.kind(), form);
            flow(state, parked, host).encode()
        }
        "reply" => FlowReply::decode(text).unwrap().encode(),
        "outcome" => json(&serde_json::from_str::<News>(text).unwrap()),
        "host" => json(&serde_json::from_str::<Host>(text).unwrap()),
        "freeze_scope" => json(&serde_json::from_str::<Scope>(text).unwrap()),
        "freeze" => json(&serde_json::from_str::<Freeze>(text).unwrap()),
        kind => Content::decode(kind, text).unwrap().encode(),
    }
}

/// As serde writes it: the stored form of everything that has no `encode` of its own.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

/// The reply that is stored under a key when a request about this flow is answered.
pub(crate) fn reply(flow: &Flow) -> String {
    FlowReply::new(flow).encode()
}

/// A record's content, as it is stored.
pub(crate) fn record(content: &Content) -> (&'static str, String) {
    (content.kind().name(), content.encode())
}

/// What the stores keep of a flow beside its state.
pub(crate) fn columns(flow: &Flow) -> String {
    let due = flow.due().map_or("-".to_owned(), |due| format!("{} {}", due.lane, due.at));
    let (kind, status) = (flow.state.kind(), flow.state.status());
    let event = flow.state.event().unwrap_or("-");
    let references: Vec<String> =
        flow.references().map(|(speaker, reference)| format!("{speaker}/{reference}")).collect();
    let references = references.join(",");
    format!("{kind} {} {status} {event} {} due {due} [{references}]", flow.name(), flow.is_live())
}

/// A time that many seconds after the beginning.
pub(crate) fn at(second: i64) -> Timestamp {
    START + jiff::SignedDuration::from_secs(second)
}
