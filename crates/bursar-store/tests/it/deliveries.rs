//! What merchants are told, from the commit that makes the event to the endpoint that takes it, on every store.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::delivery::{DEAD, LEASES, Parcel};
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::registry::{EndpointChange, Health, Kind, SettingsPatch, Status};
use bursar_core::request::{Body, Busy, Deliver, Mail, Reply};
use bursar_store::{Browse, FlowFilter, Memory, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::scratch::Scratch;
use crate::workload::block_on;

use crate::office::{Office, add, answered, calm, change, deliver, endpoint_id};

async fn whoever_subscribed_is_told(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    office.tell().await;
    let [all, payouts, payins] = [1, 2, 3].map(endpoint_id);
    for (id, kinds) in [(all, "*"), (payouts, "payout.*"), (payins, "payin.success")] {
        office.desk.ask(add(id, &[kinds])).await.unwrap();
    }
    let event = office.tell().await;
    let told = office.desk.store.deliveries_of(event).await.unwrap();
    let to: BTreeSet<EndpointId> =
        told.iter().map(|flow| flow.state.delivery().unwrap().terms.endpoint).collect();
    assert_eq!(to, BTreeSet::from([all, payins]), "what was told before is not told again");
    let ids: BTreeSet<FlowId> = told.iter().map(|flow| flow.id).collect();
    let expected = [all, payins].map(|endpoint| FlowId::from(DeliveryId::of(event, endpoint)));
    assert_eq!(ids, expected.into());

    // The body is the event, to the byte, and it stays so.
    let body = &told[0].state.delivery().unwrap().terms.body;
    let read: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(read["id"], event.to_string());
    assert_eq!((&read["type"], &read["sequence"]), (&"payin.success".into(), &1.into()));
    assert_eq!(read["data"]["status"], "COLLECTED");

    let (begun, parcels) = office.deliver(deliver(10)).await;
    assert_eq!((begun.count, parcels.len()), (2, 2));
    assert!(parcels.iter().all(|parcel| parcel.body == *body && parcel.attempt == 1));
    for parcel in &parcels {
        assert_eq!(office.status(parcel.flow).await, "DELIVERING");
        office.came_back(parcel, answered(204)).await;
        let view = office.view(parcel.flow).await;
        assert_eq!((view.status.as_str(), view.attempts, view.last_error), ("DELIVERED", 1, None));
    }
    assert_eq!(office.deliver(deliver(10)).await.0.count, 0, "nothing is sent twice");

    let of_one = FlowFilter { kind: "delivery", endpoint: Some(payins), ..FlowFilter::default() };
    let page = office.desk.store.flows_back(&of_one, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 1);
    office.desk.assert_sound().await;
}

async fn retries_come_in_their_time_and_end(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    office.desk.ask(add(endpoint, &["*"])).await.unwrap();
    office.tell().await;
    let mut flow = None;
    for pause in [0, 60, 300, 1_800, 7_200, 43_200, 86_400, 259_200] {
        // A second passes with every question.
        office.desk.now += SignedDuration::from_secs(pause);
        if pause > 0 {
            office.desk.now -= SignedDuration::from_secs(2);
            assert_eq!(office.deliver(deliver(10)).await.0.count, 0, "not before its time");
        }
        let (_, parcels) = office.deliver(deliver(10)).await;
        let [parcel] = parcels.try_into().unwrap();
        office.desk.now -= SignedDuration::from_secs(1);
        office.came_back(&parcel, answered(503)).await;
        flow = Some(parcel.flow);
    }
    let flow = flow.unwrap();
    let view = office.view(flow).await;
    assert_eq!((view.status.as_str(), view.attempts), ("DLQ", 8));
    assert_eq!(view.reason.as_deref(), Some("EXHAUSTED"));
    assert_eq!(view.last_error.as_deref(), Some("it answered 503"));
    let filter = FlowFilter { kind: "delivery", ..FlowFilter::default() };
    let dead = office.desk.store.lane_back(DEAD, &filter, None, 10).await.unwrap();
    assert_eq!(dead.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [flow]);
    let other = FlowFilter { endpoint: Some(endpoint_id(9)), ..filter };
    assert_eq!(office.desk.store.lane_back(DEAD, &other, None, 10).await.unwrap().flows, []);

    let again = office.replay(flow).await.unwrap();
    assert_eq!((again[0].status.as_str(), again[0].attempts), ("PENDING", 8));
    assert_eq!(office.replay(flow).await.unwrap()[0].status, "PENDING", "asked twice, done once");
    let (_, parcels) = office.deliver(deliver(10)).await;
    assert_eq!(parcels[0].attempt, 9);
    office.came_back(&parcels[0], answered(500)).await;
    assert_eq!(office.status(flow).await, "WAITING_RETRY", "the schedule begins anew");
    office.desk.assert_sound().await;
}

async fn an_endpoint_that_is_off_gets_nothing(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    office.desk.ask(add(endpoint, &["*"])).await.unwrap();
    for _ in 0..4 {
        office.tell().await;
    }
    let (begun, parcels) = office.deliver(deliver(10)).await;
    assert_eq!(begun.count, 2, "as many at once as it takes");
    assert_eq!(begun.full, BTreeSet::from([endpoint]));
    office.came_back(&parcels[0], answered(500)).await;
    let off = change(endpoint, EndpointChange::Disable { reason: "moving".to_owned() });
    office.desk.ask(off).await.unwrap();
    office.tell().await;
    let cancel = Body::Mail(Mail::Cancel { endpoint, limit: 10 });
    match office.desk.ask(cancel.clone()).await.unwrap() {
        Reply::Woken(woken) => assert_eq!(woken.flows.len(), 3, "two first attempts and a retry"),
        other => panic!("{other:?}"),
    }
    assert_eq!(office.status(parcels[0].flow).await, "CANCELLED");
    assert_eq!(office.status(parcels[1].flow).await, "DELIVERING", "what is under way comes back");
    office.came_back(&parcels[1], answered(200)).await;
    assert_eq!(office.status(parcels[1].flow).await, "DELIVERED");
    assert_eq!(office.replay(parcels[0].flow).await.unwrap_err().code(), "endpoint_off");

    office.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap();
    assert_eq!(office.deliver(deliver(10)).await.0.count, 0, "nothing is sent again by itself");
    match office.desk.ask(cancel).await.unwrap() {
        Reply::Woken(woken) => assert_eq!(woken.flows, Vec::<String>::new()),
        other => panic!("{other:?}"),
    }
    office.replay(parcels[0].flow).await.unwrap();
    let (_, again) = office.deliver(deliver(10)).await;
    office.came_back(&again[0], answered(410)).await;
    let known = office.endpoint(endpoint).await;
    assert!(matches!(known.status, Status::Disabled { .. }), "{known:?}");
    assert_eq!(office.status(again[0].flow).await, "CANCELLED");
    let told = office.desk.store.events_of(&endpoint.to_string(), 0, 10).await.unwrap();
    assert_eq!(told[0].kind, "webhook_endpoint.disabled");
    office.desk.ask(change(endpoint, EndpointChange::Delete)).await.unwrap();
    assert_eq!(office.endpoint(endpoint).await.secrets, [], "its secrets go with it");
    let gone = office.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap_err();
    assert_eq!(gone.code(), "not_found");
    office.desk.assert_sound().await;
}

async fn nobody_waits_behind_an_endpoint_that_is_slow(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let mut ids: Vec<EndpointId> = [1, 2, 3].map(endpoint_id).into();
    ids.sort_unstable();
    for id in &ids {
        office.desk.ask(add(*id, &["*"])).await.unwrap();
    }
    for _ in 0..5 {
        office.tell().await;
    }
    let to = |parcels: &[Parcel]| -> Vec<EndpointId> {
        parcels.iter().map(|parcel| parcel.endpoint).collect()
    };
    // Two hands each: whoever has no hand free is named, and passed over.
    let (begun, parcels) = office.deliver(deliver(3)).await;
    assert_eq!((to(&parcels), &begun.full), (vec![ids[0]; 2], &[ids[0]].into()));
    let (begun, parcels) = office.deliver(Deliver { skipped: begun.full, ..deliver(1) }).await;
    assert_eq!((to(&parcels), begun.last), (vec![ids[1]], Some(ids[1])));
    // Whoever had a turn comes last.
    let busy = BTreeMap::from([
        (ids[0], Busy { in_flight: 2, ..Busy::default() }),
        (ids[1], Busy { in_flight: 1, room: 1, begun: 0 }),
    ]);
    let next = Deliver { after: begun.last, busy: busy.clone(), ..deliver(3) };
    assert_eq!(to(&office.deliver(next).await.1), [ids[2]; 2]);
    let rest = Deliver { busy, skipped: [ids[0], ids[2]].into(), ..deliver(3) };
    let (begun, parcels) = office.deliver(rest).await;
    assert_eq!((to(&parcels), begun.is_cut), (vec![ids[1]], false));

    // A lease that ends: sent again at once, and counted.
    office.desk.now += SignedDuration::from_secs(40);
    assert_eq!(office.desk.wake(LEASES, 100).await.flows.len(), 6);
    let (_, again) = office.deliver(deliver(100)).await;
    let first = |parcel: &&Parcel| parcel.attempt == 1;
    assert_eq!(again.len(), 6);
    assert_eq!(again.iter().filter(first).count(), 6, "first attempts never wait behind retries");
    office.desk.assert_sound().await;
}

async fn an_eighth_is_kept_for_what_was_tried_before(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    office.desk.ask(add(endpoint, &["*"])).await.unwrap();
    let more = SettingsPatch { concurrency: Some(20), ..SettingsPatch::default() };
    let more = change(endpoint, EndpointChange::Alter(Box::new(more)));
    office.desk.ask(more).await.unwrap();
    for _ in 0..9 {
        office.tell().await;
    }
    let (begun, parcels) = office.deliver(deliver(8)).await;
    assert_eq!((begun.count, begun.retries, begun.is_cut), (7, 0, true), "more wait");
    office.came_back(&parcels[0], answered(500)).await;
    office.desk.now += SignedDuration::from_mins(1);
    for _ in 0..7 {
        office.tell().await;
    }
    let (begun, _) = office.deliver(deliver(8)).await;
    assert_eq!((begun.count, begun.retries), (8, 1), "nine are new, and the retry has its turn");
    office.desk.assert_sound().await;
}

async fn a_breaker_opens_and_lets_one_through(store: impl Store + Query + Browse) {
    let mut rules = calm();
    rules.deliveries.breaker_after = 2;
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    office.desk.ask(add(endpoint, &["*"])).await.unwrap();
    for _ in 0..4 {
        office.tell().await;
    }
    let (_, parcels) = office.deliver(deliver(10)).await;
    for parcel in &parcels {
        office.came_back(parcel, answered(500)).await;
    }
    let opened = office.endpoint(endpoint).await.health.breaker.unwrap();
    let (begun, _) = office.deliver(deliver(10)).await;
    assert_eq!((begun.count, begun.blocked), (0, [(endpoint, opened.until)].into()));
    office.desk.now = opened.until;
    let (begun, probe) = office.deliver(deliver(10)).await;
    assert_eq!((begun.count, probe.len()), (1, 1), "one is tried, the others wait for it");
    office.came_back(&probe[0], answered(500)).await;
    let again = office.endpoint(endpoint).await.health.breaker.unwrap();
    assert_eq!(again.times, 2, "twice as long");
    office.desk.now = again.until;
    let (_, probe) = office.deliver(deliver(10)).await;
    office.came_back(&probe[0], answered(200)).await;
    assert_eq!(office.endpoint(endpoint).await.health, Health::default());
    assert_eq!(office.deliver(deliver(10)).await.0.count, 2);

    // Failing for days: switched off.
    office.desk.now += SignedDuration::from_hours(200);
    office.tell().await;
    office.desk.wake(LEASES, 10).await;
    let (_, parcels) = office.deliver(deliver(1)).await;
    office.came_back(&parcels[0], answered(500)).await;
    assert!(office.endpoint(endpoint).await.is_enabled());
    office.desk.now += SignedDuration::from_hours(120);
    let (_, parcels) = office.deliver(deliver(1)).await;
    office.came_back(&parcels[0], answered(500)).await;
    assert_eq!(office.endpoint(endpoint).await.status.name(), "disabled");
    office.desk.assert_sound().await;
}

async fn endpoints_are_checked(store: impl Store + Query + Browse) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    let (first, stranger) = (endpoint_id(1), endpoint_id(99));
    assert_eq!(desk.ask(add(first, &["*"])).await.unwrap_err().code(), "unknown_merchant");
    desk.open_merchant().await;
    for kind in ["", "payout", "alert.*", "payout.Success", "payout.x y"] {
        let refused = desk.ask(add(first, &[kind])).await.unwrap_err();
        assert_eq!(refused.code(), "bad_endpoint", "{kind}");
    }
    for number in 1..=16 {
        desk.ask(add(endpoint_id(number), &["payout.*", "payin.failed"])).await.unwrap();
    }
    let many = desk.ask(add(endpoint_id(17), &["*"])).await.unwrap_err();
    assert_eq!(many.code(), "too_many_endpoints");
    let test = |endpoint| Body::Mail(Mail::Test { actor: "ops".to_owned(), endpoint });
    assert_eq!(desk.ask(test(stranger)).await.unwrap_err().code(), "not_found");
    match desk.ask(test(first)).await.unwrap() {
        Reply::Replayed(views) => assert_eq!(views[0].event_type, "webhook.test"),
        other => panic!("{other:?}"),
    }
    let mut office = Office { desk, payins: 0 };
    let (_, parcels) = office.deliver(deliver(1)).await;
    assert_eq!((parcels[0].endpoint, parcels[0].kind.as_str()), (first, "webhook.test"));
    let overlap = SignedDuration::from_hours(24);
    let rotate = EndpointChange::Rotate { secret: "newer".to_owned(), overlap };
    office.desk.ask(change(first, rotate)).await.unwrap();
    office.desk.ask(test(first)).await.unwrap();
    let (_, parcels) = office.deliver(deliver(1)).await;
    assert_eq!(parcels[0].secrets, ["newer", "sealed"]);
    office.desk.now += overlap;
    office.desk.ask(test(first)).await.unwrap();
    let (_, parcels) = office.deliver(deliver(1)).await;
    assert_eq!(parcels[0].secrets, ["newer"]);
    let records = office.desk.store.records(Kind::Endpoint, Some("m1"), None, 100).await.unwrap();
    assert_eq!(records.records.len(), 16);
    office.desk.assert_sound().await;
}

macro_rules! on_every_store {
    ($($suite:ident: $memory:ident, $sqlite:ident, $postgres:ident;)*) => {
        $(
            #[test]
            fn $memory() {
                block_on($suite(Memory::default()));
            }

            #[test]
            fn $sqlite() {
                let scratch = Scratch::new();
                block_on($suite(Sqlite::open(scratch.path()).unwrap()));
            }

            #[test]
            fn $postgres() {
                let cluster = Cluster::start();
                block_on(async { $suite(Postgres::open(&cluster.url()).await.unwrap()).await });
            }
        )*
    };
}

on_every_store! {
    whoever_subscribed_is_told: told_in_memory, told_in_sqlite, told_in_postgres;
    retries_come_in_their_time_and_end: retried_in_memory, retried_in_sqlite, retried_in_postgres;
    an_endpoint_that_is_off_gets_nothing: off_in_memory, off_in_sqlite, off_in_postgres;
    nobody_waits_behind_an_endpoint_that_is_slow: fair_in_memory, fair_in_sqlite, fair_in_postgres;
    an_eighth_is_kept_for_what_was_tried_before: kept_in_memory, kept_in_sqlite, kept_in_postgres;
    a_breaker_opens_and_lets_one_through: breaker_in_memory, breaker_in_sqlite, breaker_in_postgres;
    endpoints_are_checked: checked_in_memory, checked_in_sqlite, checked_in_postgres;
}
