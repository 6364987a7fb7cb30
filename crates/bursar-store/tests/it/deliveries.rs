//! Webhook deliveries on every store, from the commit that emits the event to the response of the endpoint.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::Load;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::registry::Kind;
use bursar_core::webhooks::delivery::{DEAD, LEASES};
use bursar_core::webhooks::{self, EndpointChange, Health, SettingsPatch, StartDeliveries, Status};
use bursar_store::{Browse, FlowFilter, Store};
use jiff::SignedDuration;

use crate::desk::Desk;
use crate::endpoints::{
    Sent, WebhookDesk, add, answered, change, deliver, endpoint_id, rules_without_jitter,
};
use crate::stores::on_every_store;

async fn webhooks_reach_subscribed_endpoints(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    webhooks.emit().await;
    let [all, payouts, payins] = [1, 2, 3].map(endpoint_id);
    for (id, kinds) in [(all, "*"), (payouts, "payout.*"), (payins, "payin.success")] {
        webhooks.desk.ask(add(id, &[kinds])).await.unwrap();
    }
    let event = webhooks.emit().await;
    let created = webhooks.desk.store.deliveries_of(event).await.unwrap();
    let to: BTreeSet<EndpointId> =
        created.iter().map(|flow| flow.state.delivery().unwrap().terms.endpoint).collect();
    assert_eq!(to, BTreeSet::from([all, payins]), "an endpoint receives no earlier event");
    let ids: BTreeSet<FlowId> = created.iter().map(|flow| flow.id).collect();
    let expected = [all, payins].map(|endpoint| FlowId::from(DeliveryId::of(event, endpoint)));
    assert_eq!(ids, expected.into());

    // Every attempt sends the stored bytes of the event.
    let body = &created[0].state.delivery().unwrap().terms.body;
    let read: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(read["id"], event.to_string());
    assert_eq!((&read["type"], &read["sequence"]), (&"payin.success".into(), &1.into()));
    assert_eq!(read["data"]["status"], "COLLECTED");

    let (started, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!((started.count, sent.len()), (2, 2));
    assert!(sent.iter().all(|delivery| delivery.call.body == *body && delivery.attempt == 1));
    for delivery in &sent {
        assert_eq!(webhooks.status(delivery.flow).await, "DELIVERING");
        webhooks.returned(delivery, answered(204)).await;
        let view = webhooks.view(delivery.flow).await;
        assert_eq!((view.status.as_str(), view.attempts, view.last_error), ("DELIVERED", 1, None));
    }
    assert_eq!(webhooks.deliver(deliver(10)).await.0.count, 0, "no delivery is sent twice");

    let of_one =
        FlowFilter { kind: "delivery", parent: Some(payins.uuid()), ..FlowFilter::default() };
    let page = webhooks.desk.store.list_flows_desc(&of_one, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 1);
    webhooks.desk.assert_sound().await;
}

async fn retries_follow_the_schedule_and_end_in_a_dead_letter(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    webhooks.desk.ask(add(endpoint, &["*"])).await.unwrap();
    webhooks.emit().await;
    let mut flow = None;
    for pause in [0, 60, 300, 1_800, 7_200, 43_200, 86_400, 259_200] {
        // The clock advances one second with every request.
        webhooks.desk.now += SignedDuration::from_secs(pause);
        if pause > 0 {
            webhooks.desk.now -= SignedDuration::from_secs(2);
            assert_eq!(webhooks.deliver(deliver(10)).await.0.count, 0, "no retry before it is due");
        }
        let (_, sent) = webhooks.deliver(deliver(10)).await;
        let [delivery] = sent.try_into().unwrap();
        webhooks.desk.now -= SignedDuration::from_secs(1);
        webhooks.returned(&delivery, answered(503)).await;
        flow = Some(delivery.flow);
    }
    let flow = flow.unwrap();
    let view = webhooks.view(flow).await;
    assert_eq!((view.status.as_str(), view.attempts), ("DLQ", 8));
    assert_eq!(view.reason.as_deref(), Some("EXHAUSTED"));
    assert_eq!(view.last_error.as_deref(), Some("it answered 503"));
    let filter = FlowFilter { kind: "delivery", ..FlowFilter::default() };
    let dead = webhooks.desk.store.list_lane_desc(DEAD, &filter, None, 10).await.unwrap();
    assert_eq!(dead.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [flow]);
    let other = FlowFilter { parent: Some(endpoint_id(9).uuid()), ..filter };
    assert_eq!(webhooks.desk.store.list_lane_desc(DEAD, &other, None, 10).await.unwrap().flows, []);

    let again = webhooks.replay(flow).await.unwrap();
    assert_eq!((again[0].status.as_str(), again[0].attempts), ("PENDING", 8));
    assert_eq!(
        webhooks.replay(flow).await.unwrap()[0].status,
        "PENDING",
        "a second replay changes nothing"
    );
    let (_, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!(sent[0].attempt, 9);
    webhooks.returned(&sent[0], answered(500)).await;
    assert_eq!(webhooks.status(flow).await, "WAITING_RETRY", "a replay restarts the schedule");
    webhooks.desk.assert_sound().await;
}

async fn a_disabled_endpoint_receives_nothing(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    webhooks.desk.ask(add(endpoint, &["*"])).await.unwrap();
    for _ in 0..4 {
        webhooks.emit().await;
    }
    let (started, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!(started.count, 2, "the concurrency of the endpoint is the limit");
    assert_eq!(started.full, BTreeSet::from([endpoint]));
    webhooks.returned(&sent[0], answered(500)).await;
    let off = change(endpoint, EndpointChange::Disable { reason: "moving".to_owned() });
    webhooks.desk.ask(off).await.unwrap();
    webhooks.emit().await;
    let cancel = webhooks::Cancel { endpoint, limit: 10 };
    let cancelled = webhooks.desk.ask(cancel.clone()).await.unwrap().flows;
    assert_eq!(cancelled.len(), 3, "two first attempts and a retry");
    assert_eq!(webhooks.status(sent[0].flow).await, "CANCELLED");
    assert_eq!(
        webhooks.status(sent[1].flow).await,
        "DELIVERING",
        "an attempt in flight is not cancelled"
    );
    webhooks.returned(&sent[1], answered(200)).await;
    assert_eq!(webhooks.status(sent[1].flow).await, "DELIVERED");
    assert_eq!(webhooks.replay(sent[0].flow).await.unwrap_err().code(), "endpoint_off");

    webhooks.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap();
    assert_eq!(
        webhooks.deliver(deliver(10)).await.0.count,
        0,
        "cancelled deliveries need a replay"
    );
    assert_eq!(webhooks.desk.ask(cancel).await.unwrap().flows, Vec::<String>::new());
    webhooks.replay(sent[0].flow).await.unwrap();
    let (_, again) = webhooks.deliver(deliver(10)).await;
    webhooks.returned(&again[0], answered(410)).await;
    let known = webhooks.endpoint(endpoint).await;
    assert!(matches!(known.status, Status::Disabled { .. }), "{known:?}");
    assert_eq!(webhooks.status(again[0].flow).await, "CANCELLED");
    let events = webhooks.desk.store.events_of(&endpoint.to_string(), 0, 10).await.unwrap();
    assert_eq!(events[0].kind, "webhook_endpoint.disabled");
    webhooks.desk.ask(change(endpoint, EndpointChange::Delete)).await.unwrap();
    assert_eq!(webhooks.endpoint(endpoint).await.secrets, [], "a deleted endpoint has no secrets");
    let gone = webhooks.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap_err();
    assert_eq!(gone.code(), "not_found");
    webhooks.desk.assert_sound().await;
}

async fn a_slow_endpoint_does_not_delay_others(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let mut ids: Vec<EndpointId> = [1, 2, 3].map(endpoint_id).into();
    ids.sort_unstable();
    for id in &ids {
        webhooks.desk.ask(add(*id, &["*"])).await.unwrap();
    }
    for _ in 0..5 {
        webhooks.emit().await;
    }
    let to = |sent: &[Sent]| -> Vec<EndpointId> {
        sent.iter().map(|delivery| delivery.call.endpoint).collect()
    };
    // Each endpoint has two slots. The reply names the endpoints without a free slot, and the next round skips them.
    let (started, sent) = webhooks.deliver(deliver(3)).await;
    assert_eq!((to(&sent), &started.full), (vec![ids[0]; 2], &[ids[0]].into()));
    let (started, sent) =
        webhooks.deliver(StartDeliveries { skipped: started.full, ..deliver(1) }).await;
    assert_eq!((to(&sent), started.last), (vec![ids[1]], Some(ids[1])));
    // Round robin: the next round starts after the last endpoint.
    let loads = BTreeMap::from([
        (ids[0], Load { in_flight: 2, ..Load::default() }),
        (ids[1], Load { in_flight: 1, room: 1, started: 0 }),
    ]);
    let next = StartDeliveries { after: started.last, loads: loads.clone(), ..deliver(3) };
    assert_eq!(to(&webhooks.deliver(next).await.1), [ids[2]; 2]);
    let rest = StartDeliveries { loads, skipped: [ids[0], ids[2]].into(), ..deliver(3) };
    let (started, sent) = webhooks.deliver(rest).await;
    assert_eq!((to(&sent), started.is_cut), (vec![ids[1]], false));

    // Expired leases: the deliveries are sent again at once, as new attempts.
    webhooks.desk.now += SignedDuration::from_secs(40);
    assert_eq!(webhooks.desk.claim(LEASES, 100).await.flows.len(), 6);
    let (_, again) = webhooks.deliver(deliver(100)).await;
    let first = |delivery: &&Sent| delivery.attempt == 1;
    assert_eq!(again.len(), 6);
    assert_eq!(again.iter().filter(first).count(), 6, "first attempts precede retries");
    webhooks.desk.assert_sound().await;
}

async fn an_eighth_of_each_round_is_reserved_for_retries(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    webhooks.desk.ask(add(endpoint, &["*"])).await.unwrap();
    let more = SettingsPatch { concurrency: Some(20), ..SettingsPatch::default() };
    let more = change(endpoint, EndpointChange::Alter(Box::new(more)));
    webhooks.desk.ask(more).await.unwrap();
    for _ in 0..9 {
        webhooks.emit().await;
    }
    let (started, sent) = webhooks.deliver(deliver(8)).await;
    assert_eq!((started.count, started.retries, started.is_cut), (7, 0, true), "the round is cut");
    webhooks.returned(&sent[0], answered(500)).await;
    webhooks.desk.now += SignedDuration::from_mins(1);
    for _ in 0..7 {
        webhooks.emit().await;
    }
    let (started, _) = webhooks.deliver(deliver(8)).await;
    assert_eq!(
        (started.count, started.retries),
        (8, 1),
        "the retry has a slot besides nine first attempts"
    );
    webhooks.desk.assert_sound().await;
}

async fn a_breaker_opens_and_admits_one_probe(store: impl Store + Browse) {
    let mut rules = rules_without_jitter();
    rules.deliveries.breaker_after = 2;
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    webhooks.desk.ask(add(endpoint, &["*"])).await.unwrap();
    for _ in 0..4 {
        webhooks.emit().await;
    }
    let (_, sent) = webhooks.deliver(deliver(10)).await;
    for delivery in &sent {
        webhooks.returned(delivery, answered(500)).await;
    }
    let opened = webhooks.endpoint(endpoint).await.health.breaker.unwrap();
    let (started, _) = webhooks.deliver(deliver(10)).await;
    assert_eq!((started.count, started.blocked), (0, [(endpoint, opened.until)].into()));
    webhooks.desk.now = opened.until;
    let (started, probe) = webhooks.deliver(deliver(10)).await;
    assert_eq!((started.count, probe.len()), (1, 1), "one probe, and no other call");
    webhooks.returned(&probe[0], answered(500)).await;
    let again = webhooks.endpoint(endpoint).await.health.breaker.unwrap();
    assert_eq!(again.times, 2, "the breaker doubles its pause");
    webhooks.desk.now = again.until;
    let (_, probe) = webhooks.deliver(deliver(10)).await;
    webhooks.returned(&probe[0], answered(200)).await;
    assert_eq!(webhooks.endpoint(endpoint).await.health, Health::default());
    assert_eq!(webhooks.deliver(deliver(10)).await.0.count, 2);

    // Failing for days: the engine disables the endpoint.
    webhooks.desk.now += SignedDuration::from_hours(200);
    webhooks.emit().await;
    webhooks.desk.claim(LEASES, 10).await;
    let (_, sent) = webhooks.deliver(deliver(1)).await;
    webhooks.returned(&sent[0], answered(500)).await;
    assert!(webhooks.endpoint(endpoint).await.is_enabled());
    webhooks.desk.now += SignedDuration::from_hours(120);
    let (_, sent) = webhooks.deliver(deliver(1)).await;
    webhooks.returned(&sent[0], answered(500)).await;
    assert_eq!(webhooks.endpoint(endpoint).await.status.name(), "disabled");
    webhooks.desk.assert_sound().await;
}

async fn endpoint_settings_are_validated(store: impl Store + Browse) {
    let rules = rules_without_jitter();
    let mut desk = Desk::new(&rules, store, 1);
    let (first, unknown) = (endpoint_id(1), endpoint_id(99));
    assert_eq!(desk.ask(add(first, &["*"])).await.unwrap_err().code(), "unknown_merchant");
    desk.open_merchant().await;
    for kind in ["", "payout", "alert.*", "payout.Success", "payout.x y"] {
        let refused = desk.ask(add(first, &[kind])).await.unwrap_err();
        assert_eq!(refused.code(), "bad_endpoint", "{kind}");
        let why =
            format!("there is no event type `{kind}`, so that it would never receive anything");
        assert!(refused.to_string().contains(&why), "{refused}");
    }
    for number in 1..=16 {
        desk.ask(add(endpoint_id(number), &["payout.*", "payin.failed"])).await.unwrap();
    }
    let many = desk.ask(add(endpoint_id(17), &["*"])).await.unwrap_err();
    assert_eq!(many.code(), "too_many_endpoints");
    let test = |endpoint| webhooks::Test { actor: "ops".to_owned(), endpoint };
    assert_eq!(desk.ask(test(unknown)).await.unwrap_err().code(), "not_found");
    assert_eq!(desk.ask(test(first)).await.unwrap()[0].event_type, "webhook.test");
    let mut webhooks = WebhookDesk { desk, payins: 0 };
    let (_, sent) = webhooks.deliver(deliver(1)).await;
    assert_eq!((sent[0].call.endpoint, sent[0].call.kind.as_str()), (first, "webhook.test"));
    let overlap = SignedDuration::from_hours(24);
    let rotate = EndpointChange::Rotate { secret: "newer".to_owned(), overlap };
    webhooks.desk.ask(change(first, rotate)).await.unwrap();
    webhooks.desk.ask(test(first)).await.unwrap();
    let (_, sent) = webhooks.deliver(deliver(1)).await;
    assert_eq!(sent[0].call.secrets, ["newer", "sealed"]);
    webhooks.desk.now += overlap;
    webhooks.desk.ask(test(first)).await.unwrap();
    let (_, sent) = webhooks.deliver(deliver(1)).await;
    assert_eq!(sent[0].call.secrets, ["newer"]);
    let records = webhooks.desk.store.records(Kind::Endpoint, Some("m1"), None, 100).await.unwrap();
    assert_eq!(records.records.len(), 16);
    webhooks.desk.assert_sound().await;
}

on_every_store! {
    webhooks_reach_subscribed_endpoints,
    retries_follow_the_schedule_and_end_in_a_dead_letter,
    a_disabled_endpoint_receives_nothing,
    a_slow_endpoint_does_not_delay_others,
    an_eighth_of_each_round_is_reserved_for_retries,
    a_breaker_opens_and_admits_one_probe,
    endpoint_settings_are_validated,
}
