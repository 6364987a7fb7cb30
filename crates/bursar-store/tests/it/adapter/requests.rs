//! Requests: one function for each, so that another shape of the core's requests changes this file alone.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::attempt::Evidence;
use bursar_core::control::Switch;
use bursar_core::delivery;
use bursar_core::drive::{Drive, Look, Refused};
use bursar_core::host::{Errand, Taken};
use bursar_core::idempotency::Key;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::ledger::Event;
use bursar_core::payin::NewPayIn;
use bursar_core::payout::{self, Cancellation, NewPayout, Resolution};
use bursar_core::registry::{Change, Registration};
use bursar_core::request::{Blame, Body, Busy, Deliver, Mail, News, Report, Told, Wake};

pub(crate) fn post(event: Event, actor: Option<&str>) -> Body {
    match actor {
        Some(actor) => Body::PostByHand { actor: actor.to_owned(), event },
        None => Body::Post(event),
    }
}

pub(crate) fn create_payout(key: Key, payout: NewPayout, actor: Option<&str>) -> Body {
    Body::CreatePayout { key, payout, actor: actor.map(str::to_owned) }
}

pub(crate) fn create_driven_payout(key: Key, payout: NewPayout, workflow: &str) -> Body {
    Body::CreateDrivenPayout { key, payout, workflow: workflow.to_owned() }
}

pub(crate) fn cancel_payout(key: Key, cancellation: Cancellation) -> Body {
    Body::CancelPayout { key, cancellation }
}

pub(crate) fn resolve_payout(key: Key, resolution: Resolution) -> Body {
    Body::ResolvePayout { key, resolution }
}

pub(crate) fn callback(channel: &str, reference: &str, evidence: Evidence) -> Body {
    let (channel, reference) = (channel.to_owned(), reference.to_owned());
    Body::Tell(Told { channel, reference, evidence })
}

pub(crate) fn payin(payin: NewPayIn) -> Body {
    Body::TakePayIn(payin)
}

pub(crate) fn switch(switch: Switch) -> Body {
    Body::Switch(switch)
}

pub(crate) fn register(actor: &str, change: Change) -> Body {
    Body::Register(Registration { actor: actor.to_owned(), change })
}

pub(crate) fn wake(lane: &str, limit: u32) -> Body {
    Body::Wake(Wake { lane: lane.to_owned(), limit })
}

pub(crate) fn set_aside(lane: &str, is_to_blame: bool) -> Body {
    Body::SetAside { lane: lane.to_owned(), blame: blame(is_to_blame) }
}

pub(crate) fn payout_outcome(flow: FlowId, event: payout::Event) -> Body {
    Body::Report(Report { flow, event: News::Payout(event) })
}

pub(crate) fn delivery_outcome(flow: FlowId, event: delivery::Event) -> Body {
    Body::Report(Report { flow, event: News::Delivery(event) })
}

pub(crate) fn deliver(limit: u32, with_retries: bool) -> Body {
    Body::Mail(Mail::Deliver(deliveries(limit, with_retries)))
}

pub(crate) fn set_delivery_aside(is_to_blame: bool) -> Body {
    Body::Mail(Mail::SetAside(Deliver { share: 1, ..deliveries(1, true) }, blame(is_to_blame)))
}

pub(crate) fn cancel_deliveries(endpoint: EndpointId, limit: u32) -> Body {
    Body::Mail(Mail::Cancel { endpoint, limit })
}

pub(crate) fn replay(deliveries: BTreeSet<DeliveryId>) -> Body {
    Body::Mail(Mail::Replay { actor: "ops".to_owned(), deliveries })
}

pub(crate) fn test_endpoint(endpoint: EndpointId) -> Body {
    Body::Mail(Mail::Test { actor: "ops".to_owned(), endpoint })
}

/// The workflow of a flow looks at it; a call may begin if there is a slot for it.
pub(crate) fn look(flow: FlowId, has_slot: bool) -> Body {
    let hands = has_slot.then(Busy::default);
    Body::Drive(Drive::Look(Look { flow, news: None, hands }))
}

/// The same with the outcome of a call.
pub(crate) fn look_with_payout(flow: FlowId, event: payout::Event) -> Body {
    let news = Some(News::Payout(event));
    Body::Drive(Drive::Look(Look { flow, news, hands: None }))
}

pub(crate) fn look_with_delivery(flow: FlowId, event: delivery::Event) -> Body {
    let news = Some(News::Delivery(event));
    Body::Drive(Drive::Look(Look { flow, news, hands: None }))
}

/// The relay claims what waits in a lane of the outbox.
pub(crate) fn claim_outbox(lane: &str, limit: u32) -> Body {
    Body::Drive(Drive::Carry { lane: lane.to_owned(), limit })
}

/// The cluster has accepted an entry of the outbox, perhaps under another name.
pub(crate) fn outbox_done(flow: FlowId, errand: Errand, renamed: Option<String>) -> Body {
    let flows = BTreeMap::from([(flow, Taken { errand, renamed })]);
    Body::Drive(Drive::Taken { flows })
}

pub(crate) fn note_refusal(action: &str) -> Body {
    let text = |text: &str| text.to_owned();
    Body::Drive(Drive::Refused(Refused {
        actor: text("temporal"),
        action: text(action),
        resource: text("po_1"),
        note: text("not_stuck"),
    }))
}

fn deliveries(limit: u32, with_retries: bool) -> Deliver {
    Deliver { limit, share: u32::MAX, with_retries, ..Deliver::default() }
}

fn blame(is_to_blame: bool) -> Blame {
    if is_to_blame { Blame::Fails } else { Blame::None }
}
