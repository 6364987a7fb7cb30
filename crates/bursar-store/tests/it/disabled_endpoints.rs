//! D7: an endpoint is disabled while ten thousand deliveries are pending and fifty are in flight, on every store.

use std::collections::BTreeMap;

use bursar_core::flow::Load;
use bursar_core::webhooks::delivery::CANCELLED;
use bursar_core::webhooks::{self, EndpointChange, SettingsPatch, StartDeliveries};
use bursar_store::{Browse, FlowFilter, Store};

use crate::desk::Desk;
use crate::endpoints::{
    Sent, WebhookDesk, add, answered, change, deliver, endpoint_id, rules_without_jitter,
};
use crate::stores::on_every_store;

const IN_FLIGHT: u32 = 50;
/// The limit that the engine uses.
const AT_ONCE: u32 = 500;

async fn disabling_cancels_pending_deliveries_and_keeps_those_in_flight(
    store: impl Store + Browse,
) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    webhooks.desk.ask(add(endpoint, &["*"])).await.unwrap();
    let fifty = SettingsPatch { concurrency: Some(IN_FLIGHT), ..SettingsPatch::default() };
    let fifty = change(endpoint, EndpointChange::Alter(Box::new(fifty)));
    webhooks.desk.ask(fifty).await.unwrap();
    for _ in 0..20 {
        webhooks.emit_many(AT_ONCE).await;
    }
    webhooks.emit_many(IN_FLIGHT).await;
    let sent = fill(&mut webhooks).await;
    assert_eq!(sent.len(), 50);
    let off = EndpointChange::Disable { reason: "moving".to_owned() };
    webhooks.desk.ask(change(endpoint, off)).await.unwrap();

    let mut turns = Vec::new();
    loop {
        let cancel = webhooks::Cancel { endpoint, limit: AT_ONCE };
        let cancelled = webhooks.desk.ask(cancel).await.unwrap().flows.len();
        if cancelled == 0 {
            break;
        }
        turns.push(cancelled);
    }
    assert_eq!(turns, [500; 20], "turns keep their usual size");
    assert_eq!(webhooks.deliver(deliver(AT_ONCE)).await.0.count, 0, "no further delivery is sent");

    for (number, delivery) in sent.iter().enumerate() {
        assert_eq!(webhooks.status(delivery.flow).await, "DELIVERING");
        let status = if number % 2 == 0 { 204 } else { 500 };
        webhooks.returned(delivery, answered(status)).await;
        let view = webhooks.view(delivery.flow).await;
        let (expected, error) = match status {
            204 => ("DELIVERED", None),
            _ => ("CANCELLED", Some("it answered 500")),
        };
        assert_eq!((view.status.as_str(), view.last_error.as_deref()), (expected, error));
        assert_eq!(view.attempts, 1, "the attempt is recorded");
    }
    assert_eq!(
        webhooks.statuses().await,
        BTreeMap::from([("CANCELLED", 10_025), ("DELIVERED", 25)]),
        "no delivery is lost"
    );
    let filter = FlowFilter { kind: "delivery", ..FlowFilter::default() };
    let page = webhooks.desk.store.list_lane_desc(CANCELLED, &filter, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 10, "cancelled deliveries are listed");
    webhooks.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap();
    assert_eq!(
        webhooks.deliver(deliver(AT_ONCE)).await.0.count,
        0,
        "cancelled deliveries need a replay"
    );
    webhooks.desk.assert_sound().await;
}

/// Starts deliveries until the endpoint has no free slot.
async fn fill<S: Store + Browse>(webhooks: &mut WebhookDesk<'_, S>) -> Vec<Sent> {
    let mut sent: Vec<Sent> = Vec::new();
    loop {
        let in_flight = u32::try_from(sent.len()).unwrap();
        let load = Load { in_flight, room: IN_FLIGHT - in_flight, started: 0 };
        let next = StartDeliveries { loads: [(endpoint_id(1), load)].into(), ..deliver(AT_ONCE) };
        let (started, more) = webhooks.deliver(next).await;
        sent.extend(more);
        if started.count == 0 {
            return sent;
        }
    }
}

on_every_store! { disabling_cancels_pending_deliveries_and_keeps_those_in_flight, }
