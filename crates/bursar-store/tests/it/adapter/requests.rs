//! One function per request, so that a change of the core's request types changes this file only.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::host::{
    AckOutbox, ClaimOutbox, OutboxAck, OutboxEntry, Poll, RecordRefusal,
};
use bursar_core::flow::{self, ClaimDue, EffectOutcome, FailureCause, Load, Outcome};
use bursar_core::freezes::FreezeChange;
use bursar_core::idempotency::Key;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::ledger::{LedgerEvent, Post};
use bursar_core::payins::{CloseCase, NewPayIn};
use bursar_core::payouts::attempt::Evidence;
use bursar_core::payouts::{
    self, Callback, Cancel, Cancellation, Create, NewPayout, Resolution, Resolve,
};
use bursar_core::registry::{Change, Registration};
use bursar_core::turn::Body;
use bursar_core::webhooks::{self, StartDeliveries, delivery};

pub(crate) fn post(event: LedgerEvent, actor: Option<&str>) -> Body {
    Post { event, actor: actor.map(str::to_owned) }.into()
}

pub(crate) fn create_payout(key: Key, payout: NewPayout, actor: Option<&str>) -> Body {
    Create { key, payout, actor: actor.map(str::to_owned), workflow: None }.into()
}

pub(crate) fn create_workflow_payout(key: Key, payout: NewPayout, workflow: &str) -> Body {
    Create { key, payout, actor: None, workflow: Some(workflow.to_owned()) }.into()
}

pub(crate) fn cancel_payout(key: Key, cancellation: Cancellation) -> Body {
    Cancel { key, cancellation }.into()
}

pub(crate) fn resolve_payout(key: Key, resolution: Resolution) -> Body {
    Resolve { key, resolution }.into()
}

pub(crate) fn callback(channel: &str, reference: &str, evidence: Evidence) -> Body {
    let (channel, reference) = (channel.to_owned(), reference.to_owned());
    Callback { channel, reference, evidence }.into()
}

pub(crate) fn payin(payin: NewPayIn) -> Body {
    payin.into()
}

pub(crate) fn close_payin_case(close: CloseCase) -> Body {
    close.into()
}

pub(crate) fn freeze_change(change: FreezeChange) -> Body {
    change.into()
}

pub(crate) fn register(actor: &str, change: Change) -> Body {
    Registration { actor: actor.to_owned(), change }.into()
}

pub(crate) fn claim_due(lane: &str, limit: u32) -> Body {
    ClaimDue::new(lane.to_owned(), limit).into()
}

pub(crate) fn quarantine(lane: &str, has_failed: bool) -> Body {
    flow::Quarantine { lane: lane.to_owned(), cause: cause(has_failed) }.into()
}

pub(crate) fn payout_outcome(flow: FlowId, event: payouts::Event) -> Body {
    EffectOutcome { flow, outcome: Outcome::Payout(event) }.into()
}

pub(crate) fn delivery_outcome(flow: FlowId, event: delivery::Event) -> Body {
    EffectOutcome { flow, outcome: Outcome::Delivery(event) }.into()
}

pub(crate) fn start_deliveries(limit: u32, with_retries: bool) -> Body {
    round(limit, with_retries).into()
}

pub(crate) fn quarantine_delivery(has_failed: bool) -> Body {
    let round = StartDeliveries { share: 1, ..round(1, true) };
    webhooks::Quarantine { round, cause: cause(has_failed) }.into()
}

pub(crate) fn cancel_deliveries(endpoint: EndpointId, limit: u32) -> Body {
    webhooks::Cancel { endpoint, limit }.into()
}

pub(crate) fn replay(deliveries: BTreeSet<DeliveryId>) -> Body {
    webhooks::Replay { actor: "ops".to_owned(), deliveries }.into()
}

pub(crate) fn test_endpoint(endpoint: EndpointId) -> Body {
    webhooks::Test { actor: "ops".to_owned(), endpoint }.into()
}

/// The workflow of a flow polls it. An effect may start if it has a slot.
pub(crate) fn poll(flow: FlowId, has_slot: bool) -> Body {
    Poll { flow, outcome: None, slots: has_slot.then(Load::default) }.into()
}

/// Same, with the outcome of an effect.
pub(crate) fn poll_with_payout(flow: FlowId, event: payouts::Event) -> Body {
    Poll { flow, outcome: Some(Outcome::Payout(event)), slots: None }.into()
}

pub(crate) fn poll_with_delivery(flow: FlowId, event: delivery::Event) -> Body {
    Poll { flow, outcome: Some(Outcome::Delivery(event)), slots: None }.into()
}

/// The relay claims entries of an outbox lane.
pub(crate) fn claim_outbox(lane: &str, limit: u32) -> Body {
    ClaimOutbox { lane: lane.to_owned(), limit }.into()
}

/// The cluster has accepted an outbox entry, possibly under another workflow id.
pub(crate) fn acknowledge(flow: FlowId, entry: OutboxEntry, renamed: Option<String>) -> Body {
    AckOutbox { flows: BTreeMap::from([(flow, OutboxAck { entry, renamed })]) }.into()
}

pub(crate) fn record_refusal(action: &str) -> Body {
    let text = |text: &str| text.to_owned();
    let (actor, resource, note) = (text("temporal"), text("po_1"), text("not_stuck"));
    RecordRefusal { actor, action: text(action), resource, note }.into()
}

fn round(limit: u32, with_retries: bool) -> StartDeliveries {
    StartDeliveries { limit, share: u32::MAX, with_retries, ..StartDeliveries::default() }
}

fn cause(has_failed: bool) -> FailureCause {
    if has_failed { FailureCause::TurnFailed } else { FailureCause::Other }
}
