//! D2, D3, D6 and D7 by an engine: retries that come all at once, a delivery that makes turns fail, a clock that is set
//! back, an endpoint that is switched off with thousands behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bursar_core::delivery::View;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::registry::EndpointChange;
use bursar_core::request::{Body, Mail};
use bursar_engine::{Alert, Limits, TestClock};
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};

use crate::cluster::Cluster;
use crate::failing::{Still, assert_sound};
use crate::mail::{
    Brings, Seen, Wall, add, calm, change, endpoint_id, set_up, start, statuses, tell, told, within,
};
use crate::poison::{BAD, Fails, Poison};
use crate::request::{block_on, open_merchant};
use crate::scratch::Scratch;

/// In which second how many began, for each endpoint.
fn begun(seen: &[Seen]) -> BTreeMap<(EndpointId, i64), usize> {
    let mut begun = BTreeMap::new();
    for seen in seen {
        *begun.entry((seen.endpoint, seen.at.as_second())).or_default() += 1;
    }
    begun
}

/// D2: everything fails once, the engine is away for two hours, and four thousand retries are due when it is back.
#[test]
fn a_storm_of_retries_is_held_to_the_limits_of_each_and_of_all() {
    const EVENTS: u32 = 500;
    const CONCURRENCY: u32 = 16;
    const RATE: u32 = 10;
    const IN_ALL: u32 = 64;
    block_on(async {
        let mut rules = calm();
        rules.deliveries.breaker_after = usize::MAX;
        // The last four may also begin only so many in a second.
        let rate = |number| (number > 4).then_some(RATE);
        let endpoint = |number| add("m1", endpoint_id(number), CONCURRENCY, rate(number));
        let mut books = Memory::default();
        set_up(&mut books, &rules, told("m1", (1..=8).map(endpoint).collect(), EVENTS)).await;
        let clock = Wall::new();
        let limits = Limits { deliveries_max: IN_ALL, ..Limits::default() };
        let all = usize::try_from(EVENTS).unwrap() * 8;

        let fails = Brings::new(Duration::ZERO, |_| 503);
        let (running, handle) = start(books, &rules, &fails, Arc::new(clock.clone()), (limits, 1));
        within(60, || fails.seen().len() >= all).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let expected = [(("m1".to_owned(), "WAITING_RETRY"), EVENTS * 8)];
        assert_eq!(statuses(&mut books).await, expected.into());

        clock.set(2 * 3_600);
        let takes = Brings::new(Duration::from_millis(100), |_| 200);
        let (running, handle) = start(books, &rules, &takes, Arc::new(clock.clone()), (limits, 2));
        within(120, || takes.seen().len() >= all && takes.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let expected = [(("m1".to_owned(), "DELIVERED"), EVENTS * 8)];
        assert_eq!(statuses(&mut books).await, expected.into(), "none is lost");
        let seen = takes.seen();
        assert_eq!(seen.len(), all, "none is sent twice");
        let (own, together): (Vec<usize>, Vec<usize>) =
            seen.iter().map(|seen| seen.together).unzip();
        assert_eq!(own.into_iter().max(), Some(16), "as many for each as it takes");
        assert_eq!(together.into_iter().max(), Some(64), "and so many in all");
        let limited: BTreeSet<EndpointId> = (5..=8).map(endpoint_id).collect();
        let begun = begun(&seen).into_iter();
        let most = begun.filter(|((id, _), _)| limited.contains(id)).map(|(_, count)| count);
        assert_eq!(most.max(), Some(10), "so many in a second");
    });
}

/// D3: forty good deliveries and a bad one in the middle, all due together, and a day.
async fn a_day_with_a_bad_delivery(mut books: impl Store + Query + 'static) {
    let rules = calm();
    let mut bodies = told("m1", vec![add("m1", endpoint_id(1), 32, None)], 20);
    bodies.extend(told(BAD, vec![add(BAD, endpoint_id(2), 32, None)], 1));
    bodies.push(open_merchant("m2"));
    bodies.push(add("m2", endpoint_id(3), 32, None));
    bodies.extend((0..20).map(|number| tell("m2", number)));
    set_up(&mut books, &rules, bodies).await;
    let store = Poison::new(books, Fails::Saving);
    store.is_armed.store(true, Ordering::SeqCst);
    let courier = Brings::new(Duration::ZERO, |_| 200);
    let clock = Arc::new(TestClock::over(Arc::new(Still)));
    let (running, handle) = start(store, &rules, &courier, clock, (Limits::default(), 7));
    handle.advance(24 * 3_600).await.unwrap();
    let stats = handle.stats();
    handle.stop();
    let mut books = running.await.unwrap().books;

    let key = |merchant: &str, status| (merchant.to_owned(), status);
    let expected =
        [(key("m1", "DELIVERED"), 20), (key("m2", "DELIVERED"), 20), (key(BAD, "DLQ"), 1)];
    assert_eq!(statuses(&mut books).await, expected.into());
    assert_eq!(courier.seen().len(), 40, "the bad one is not sent, and no other is sent twice");
    let flows = books.flows(None, u32::MAX).await.unwrap();
    let is_bad =
        |flow: &&bursar_core::flow::Flow| flow.merchant == BAD && flow.state.delivery().is_some();
    let bad = flows.iter().find(is_bad).unwrap();
    let delivery = bad.state.delivery().unwrap();
    let view = View::new(bad, delivery);
    assert_eq!(view.reason.as_deref(), Some("SERIALISATION_FAILED"));
    assert_eq!(
        view.last_error.as_deref(),
        Some(
            "SERIALISATION_FAILED: whatever Bursar did with it failed: report the bug, then replay it"
        )
    );
    // Set aside at once and after 1, 2, 4, 8, 16 and 32 minutes more; given up after 64 more.
    assert_eq!(bad.updated_at.duration_since(bad.created_at).as_mins(), 127);
    assert_eq!((stats.set_aside, stats.alerts, stats.deliveries.unsendable), (7, 8, 1));
    let alerts: Vec<&Alert> = stats.latest_alerts.iter().map(|(_, alert)| alert).collect();
    let flow = bad.name();
    let expected = [&Alert::SetAside { flow: flow.clone() }, &Alert::GivenUp { flow }];
    assert_eq!(alerts, expected, "somebody is told");
    assert!((16..80).contains(&stats.panics), "{} turns failed", stats.panics);

    // The bug is mended.
    let replay = Mail::Replay {
        actor: "ops".to_owned(),
        deliveries: [DeliveryId::from_uuid(bad.id.uuid())].into(),
    };
    let clock = Arc::new(Wall::new());
    let (running, handle) = start(books, &rules, &courier, clock, (Limits::default(), 8));
    handle.ask(Body::Mail(replay)).await.unwrap().unwrap();
    within(10, || courier.seen().len() == 41 && courier.in_flight() == 0).await;
    handle.stop();
    let mut books = running.await.unwrap();
    assert_eq!(statuses(&mut books).await.get(&key(BAD, "DELIVERED")), Some(&1));
    assert_sound(&mut books).await;
}

/// What cannot even be given up is put off, longer and longer; all others go on.
#[test]
fn a_delivery_that_cannot_be_given_up_keeps_nobody_waiting() {
    block_on(async {
        let rules = calm();
        let mut bodies = told(BAD, vec![add(BAD, endpoint_id(1), 32, None)], 1);
        bodies.extend(told("m1", vec![add("m1", endpoint_id(2), 32, None)], 20));
        let mut books = Memory::default();
        set_up(&mut books, &rules, bodies).await;
        let store = Poison::new(books, Fails::GivingUp);
        store.is_armed.store(true, Ordering::SeqCst);
        let courier = Brings::new(Duration::ZERO, |_| 200);
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let (running, handle) = start(store, &rules, &courier, clock, (Limits::default(), 7));
        handle.advance(7 * 24 * 3_600).await.unwrap();
        // Nothing rests because of it, days later.
        handle.ask(tell("m1", 99)).await.unwrap().unwrap();
        handle.advance(1).await.unwrap();
        let stats = handle.stats();
        handle.stop();
        let mut books = running.await.unwrap().books;
        let key = |merchant: &str, status| (merchant.to_owned(), status);
        let expected = [(key("m1", "DELIVERED"), 21), (key(BAD, "PENDING"), 1)];
        assert_eq!(statuses(&mut books).await, expected.into());
        assert_eq!((courier.seen().len(), stats.deliveries.unsendable), (21, 0));
        let mut alerts = stats.latest_alerts.iter();
        assert!(alerts.all(|(_, alert)| matches!(alert, Alert::SetAside { .. })), "{stats:?}");
    });
}

#[test]
fn a_delivery_that_cannot_be_saved_is_given_up_and_all_others_go_on() {
    block_on(a_day_with_a_bad_delivery(Memory::default()));
}

#[test]
fn a_bad_delivery_in_sqlite_is_given_up_and_all_others_go_on() {
    let scratch = Scratch::new();
    block_on(a_day_with_a_bad_delivery(Sqlite::open(scratch.path()).unwrap()));
}

#[test]
fn a_bad_delivery_in_postgres_is_given_up_and_all_others_go_on() {
    let cluster = Cluster::start();
    block_on(async {
        a_day_with_a_bad_delivery(Postgres::open(&cluster.url()).await.unwrap()).await;
    });
}

/// D6: in the middle of sending the clock goes back an hour. What waits is late by as much, and that is all: what is
/// under way comes back in its lease, and what is new goes out at once.
#[test]
fn a_clock_that_is_set_back_loses_no_delivery_and_makes_no_storm() {
    const EVENTS: u32 = 400;
    block_on(async {
        let rules = calm();
        let mut bodies = told("m1", vec![add("m1", endpoint_id(1), 8, Some(20))], EVENTS);
        bodies.extend(told("m2", vec![add("m2", endpoint_id(2), 8, None)], 10));
        let mut books = Memory::default();
        set_up(&mut books, &rules, bodies).await;
        let (clock, is_down) = (Wall::new(), Arc::new(AtomicBool::new(true)));
        // The second endpoint takes nothing at first.
        let down = Arc::clone(&is_down);
        let says = move |parcel: &bursar_core::delivery::Parcel| {
            let is_second = parcel.endpoint == endpoint_id(2);
            if is_second && down.load(Ordering::SeqCst) { 503 } else { 200 }
        };
        let courier = Brings::new(Duration::from_millis(300), says);
        let limits = Limits::default();
        let (running, handle) =
            start(books, &rules, &courier, Arc::new(clock.clone()), (limits, 1));
        // Some are on their way.
        within(20, || courier.seen().len() > 100 && courier.in_flight() > 0).await;
        let before = courier.seen().len();
        clock.set(-3_600);
        is_down.store(false, Ordering::SeqCst);
        handle.ask(tell("m2", 99)).await.unwrap().unwrap();
        within(1, || courier.seen().len() == before + 1).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!(courier.seen().len(), before + 1, "what waits is due when the clock says so");
        // Nothing happens for most of the hour.
        clock.set(57 * 60);
        within(10 * 60, || courier.seen().len() >= 421 && courier.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let key = |merchant: &str| (merchant.to_owned(), "DELIVERED");
        let expected = [(key("m1"), EVENTS), (key("m2"), 11)];
        assert_eq!(statuses(&mut books).await, expected.into(), "none is lost");
        let seen = courier.seen();
        let first: BTreeSet<FlowId> = seen.iter().map(|seen| seen.flow).collect();
        assert_eq!((first.len(), seen.len()), (411, 421), "only what had failed is sent again");
        assert!(seen.iter().all(|seen| seen.lease == Duration::from_secs(35)), "leases hold");
        assert!(seen.iter().all(|seen| seen.together.0 <= 8));
        let after = begun(&seen[before..]).into_iter();
        let most = after.filter(|((id, _), _)| *id == endpoint_id(1)).map(|(_, count)| count);
        assert!(most.max() == Some(20), "no more in a second than it takes");
        assert_sound(&mut books).await;
    });
}

/// D7, as the engine does it by itself: nobody asks for anything but the switch.
#[test]
fn what_waits_for_an_endpoint_that_is_switched_off_is_cancelled_and_what_is_sent_comes_back() {
    let scratch = Scratch::new();
    block_on(async {
        let rules = calm();
        let endpoints = vec![add("m1", endpoint_id(1), 50, None)];
        let mut books = Sqlite::open(scratch.path()).unwrap();
        set_up(&mut books, &rules, told("m1", endpoints, 2_050)).await;
        let courier = Brings::new(Duration::from_secs(20), |_| 200);
        let clock = Arc::new(Wall::new());
        let (running, handle) = start(books, &rules, &courier, clock, (Limits::default(), 1));
        within(5, || courier.in_flight() == 50).await;
        let off = EndpointChange::Disable { reason: "moving".to_owned() };
        handle.ask(change("m1", endpoint_id(1), off)).await.unwrap().unwrap();
        within(30, || courier.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        assert_eq!(courier.seen().len(), 50, "nothing more was sent");
        let key = |status| ("m1".to_owned(), status);
        let expected = [(key("CANCELLED"), 2_000), (key("DELIVERED"), 50)];
        assert_eq!(statuses(&mut books).await, expected.into());
        assert_sound(&mut books).await;
    });
}
