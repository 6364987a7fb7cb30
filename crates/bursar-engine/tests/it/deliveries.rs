//! D2, D3, D6 and D7 by an engine: retries that are due all at once, a delivery that makes turns fail, a clock that is set
//! back, an endpoint that is disabled with thousands of deliveries waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bursar_core::flow::{Effect, Flow};
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::webhooks::delivery::{View, WebhookCall};
use bursar_core::webhooks::{EndpointChange, Replay};
use bursar_engine::{Alert, Limits, TestClock};
use bursar_store::{Memory, Query, Sqlite, Store};

use crate::cluster::Cluster;
use crate::failing::{Still, assert_sound};
use crate::poison::{BAD, Fails, Poison};
use crate::request::{block_on, open_merchant, open_postgres};
use crate::scratch::Scratch;
use crate::webhooks::{
    Attempt, Endpoints, WallClock, add_endpoint, change, endpoint_id, merchant_with_events, pay_in,
    rules_without_jitter, set_up, start, statuses, within,
};

/// How many attempts started for each endpoint in each second.
fn starts_per_second(attempts: &[Attempt]) -> BTreeMap<(EndpointId, i64), usize> {
    let mut starts = BTreeMap::new();
    for attempt in attempts {
        *starts.entry((attempt.endpoint, attempt.at.as_second())).or_default() += 1;
    }
    starts
}

/// D2: every first attempt fails, the engine is down for two hours, and four thousand retries are due when it restarts.
#[test]
fn a_storm_of_retries_is_held_to_the_limits_of_each_and_of_all() {
    const EVENTS: u32 = 500;
    const CONCURRENCY: u32 = 16;
    const RATE: u32 = 10;
    const TOTAL: u32 = 64;
    block_on(async {
        let mut rules = rules_without_jitter();
        rules.deliveries.breaker_after = usize::MAX;
        // The last four also have a rate limit.
        let rate = |number| (number > 4).then_some(RATE);
        let endpoint = |number| add_endpoint("m1", endpoint_id(number), CONCURRENCY, rate(number));
        let mut books = Memory::default();
        set_up(
            &mut books,
            &rules,
            merchant_with_events("m1", (1..=8).map(endpoint).collect(), EVENTS),
        )
        .await;
        let clock = WallClock::new();
        let limits = Limits { deliveries_max: TOTAL, ..Limits::default() };
        let all = usize::try_from(EVENTS).unwrap() * 8;

        let failing = Endpoints::new(Duration::ZERO, |_, _| 503);
        let (running, handle) =
            start(books, &rules, &failing, Arc::new(clock.clone()), (limits, 1));
        within(60, || failing.attempts().len() >= all).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let expected = [(("m1".to_owned(), "WAITING_RETRY"), EVENTS * 8)];
        assert_eq!(statuses(&mut books).await, expected.into());

        clock.set_by(2 * 3_600);
        let accepting = Endpoints::new(Duration::from_millis(100), |_, _| 200);
        let (running, handle) =
            start(books, &rules, &accepting, Arc::new(clock.clone()), (limits, 2));
        within(120, || accepting.attempts().len() >= all && accepting.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let expected = [(("m1".to_owned(), "DELIVERED"), EVENTS * 8)];
        assert_eq!(statuses(&mut books).await, expected.into(), "none is lost");
        let attempts = accepting.attempts();
        assert_eq!(attempts.len(), all, "none is sent twice");
        let (own, total): (Vec<usize>, Vec<usize>) =
            attempts.iter().map(|attempt| attempt.in_flight).unzip();
        assert_eq!(own.into_iter().max(), Some(16), "the concurrency of an endpoint is reached");
        assert_eq!(total.into_iter().max(), Some(64), "the limit of all endpoints is reached");
        let limited: BTreeSet<EndpointId> = (5..=8).map(endpoint_id).collect();
        let starts = starts_per_second(&attempts).into_iter();
        let most = starts.filter(|((id, _), _)| limited.contains(id)).map(|(_, count)| count);
        assert_eq!(most.max(), Some(10), "the rate limit is reached");
    });
}

/// D3: forty good deliveries and a bad one in the middle, all due together; a day passes.
async fn a_day_with_a_bad_delivery(mut books: impl Store + Query + 'static) {
    let rules = rules_without_jitter();
    let mut bodies =
        merchant_with_events("m1", vec![add_endpoint("m1", endpoint_id(1), 32, None)], 20);
    bodies.extend(merchant_with_events(BAD, vec![add_endpoint(BAD, endpoint_id(2), 32, None)], 1));
    bodies.push(open_merchant("m2"));
    bodies.push(add_endpoint("m2", endpoint_id(3), 32, None));
    bodies.extend((0..20).map(|number| pay_in("m2", number)));
    set_up(&mut books, &rules, bodies).await;
    let store = Poison::new(books, Fails::Saving);
    store.is_armed.store(true, Ordering::SeqCst);
    let endpoints = Endpoints::new(Duration::ZERO, |_, _| 200);
    let clock = Arc::new(TestClock::over(Arc::new(Still)));
    let (running, handle) = start(store, &rules, &endpoints, clock, (Limits::default(), 7));
    handle.advance(24 * 3_600).await.unwrap();
    let stats = handle.stats();
    handle.stop();
    let mut books = running.await.unwrap().books;

    let key = |merchant: &str, status| (merchant.to_owned(), status);
    let expected =
        [(key("m1", "DELIVERED"), 20), (key("m2", "DELIVERED"), 20), (key(BAD, "DLQ"), 1)];
    assert_eq!(statuses(&mut books).await, expected.into());
    assert_eq!(
        endpoints.attempts().len(),
        40,
        "the bad one is not sent, and no other is sent twice"
    );
    let flows = books.flows(None, u32::MAX).await.unwrap();
    let is_bad = |flow: &&Flow| flow.merchant == BAD && flow.state.delivery().is_some();
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
    // Quarantined at once and after 1, 2, 4, 8, 16 and 32 minutes more; dead-lettered after 64 more.
    assert_eq!(bad.updated_at.duration_since(bad.created_at).as_mins(), 127);
    assert_eq!((stats.quarantined, stats.alerts, stats.deliveries.unsendable), (7, 8, 1));
    let alerts: Vec<&Alert> = stats.latest_alerts.iter().map(|(_, alert)| alert).collect();
    let flow = bad.name();
    let expected = [&Alert::Quarantined { flow: flow.clone() }, &Alert::DeadLettered { flow }];
    assert_eq!(alerts, expected, "an alert is raised for each");
    assert!((16..80).contains(&stats.panics), "{} turns failed", stats.panics);

    // The bug is fixed: the dead letter is replayed.
    let replay = Replay {
        actor: "ops".to_owned(),
        deliveries: [DeliveryId::from_uuid(bad.id.uuid())].into(),
    };
    let clock = Arc::new(WallClock::new());
    let (running, handle) = start(books, &rules, &endpoints, clock, (Limits::default(), 8));
    handle.ask(replay.into()).await.unwrap().unwrap();
    within(10, || endpoints.attempts().len() == 41 && endpoints.in_flight() == 0).await;
    handle.stop();
    let mut books = running.await.unwrap();
    assert_eq!(statuses(&mut books).await.get(&key(BAD, "DELIVERED")), Some(&1));
    assert_sound(&mut books).await;
}

/// If dead-lettering fails too, the delivery is deferred, longer each time; all others go on.
#[test]
fn a_delivery_that_cannot_be_dead_lettered_does_not_delay_others() {
    block_on(async {
        let rules = rules_without_jitter();
        let mut bodies =
            merchant_with_events(BAD, vec![add_endpoint(BAD, endpoint_id(1), 32, None)], 1);
        bodies.extend(merchant_with_events(
            "m1",
            vec![add_endpoint("m1", endpoint_id(2), 32, None)],
            20,
        ));
        let mut books = Memory::default();
        set_up(&mut books, &rules, bodies).await;
        let store = Poison::new(books, Fails::DeadLettering);
        store.is_armed.store(true, Ordering::SeqCst);
        let endpoints = Endpoints::new(Duration::ZERO, |_, _| 200);
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let (running, handle) = start(store, &rules, &endpoints, clock, (Limits::default(), 7));
        handle.advance(7 * 24 * 3_600).await.unwrap();
        // No lane is paused because of it, days later.
        handle.ask(pay_in("m1", 99)).await.unwrap().unwrap();
        handle.advance(1).await.unwrap();
        let stats = handle.stats();
        handle.stop();
        let mut books = running.await.unwrap().books;
        let key = |merchant: &str, status| (merchant.to_owned(), status);
        let expected = [(key("m1", "DELIVERED"), 21), (key(BAD, "PENDING"), 1)];
        assert_eq!(statuses(&mut books).await, expected.into());
        assert_eq!((endpoints.attempts().len(), stats.deliveries.unsendable), (21, 0));
        let mut alerts = stats.latest_alerts.iter();
        assert!(alerts.all(|(_, alert)| matches!(alert, Alert::Quarantined { .. })), "{stats:?}");
    });
}

#[test]
fn a_delivery_that_cannot_be_saved_is_given_up_and_all_others_go_on() {
    block_on(a_day_with_a_bad_delivery(Memory::default()));
}

#[test]
fn sqlite_a_delivery_that_cannot_be_saved_is_dead_lettered() {
    let scratch = Scratch::new();
    block_on(a_day_with_a_bad_delivery(Sqlite::open(scratch.path()).unwrap()));
}

#[test]
fn postgres_a_delivery_that_cannot_be_saved_is_dead_lettered() {
    let cluster = Cluster::start();
    block_on(async {
        a_day_with_a_bad_delivery(open_postgres(&cluster.url()).await).await;
    });
}

/// D6: the clock is set back an hour while deliveries are in flight. Waiting deliveries are late by an hour, and nothing
/// else changes: attempts in flight end within their lease, and new deliveries start at once.
#[test]
fn a_clock_that_is_set_back_loses_no_delivery_and_makes_no_storm() {
    const EVENTS: u32 = 400;
    block_on(async {
        let rules = rules_without_jitter();
        let mut bodies = merchant_with_events(
            "m1",
            vec![add_endpoint("m1", endpoint_id(1), 8, Some(20))],
            EVENTS,
        );
        bodies.extend(merchant_with_events(
            "m2",
            vec![add_endpoint("m2", endpoint_id(2), 8, None)],
            10,
        ));
        let mut books = Memory::default();
        set_up(&mut books, &rules, bodies).await;
        let (clock, is_down) = (WallClock::new(), Arc::new(AtomicBool::new(true)));
        // The second endpoint is down at first.
        let down = Arc::clone(&is_down);
        let status = move |_: &Effect, call: &WebhookCall| {
            let is_second = call.endpoint == endpoint_id(2);
            if is_second && down.load(Ordering::SeqCst) { 503 } else { 200 }
        };
        let endpoints = Endpoints::new(Duration::from_millis(300), status);
        let limits = Limits::default();
        let (running, handle) =
            start(books, &rules, &endpoints, Arc::new(clock.clone()), (limits, 1));
        // Until some are in flight.
        within(20, || endpoints.attempts().len() > 100 && endpoints.in_flight() > 0).await;
        let before = endpoints.attempts().len();
        clock.set_by(-3_600);
        is_down.store(false, Ordering::SeqCst);
        handle.ask(pay_in("m2", 99)).await.unwrap().unwrap();
        within(1, || endpoints.attempts().len() == before + 1).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!(
            endpoints.attempts().len(),
            before + 1,
            "waiting deliveries are due by the wall clock"
        );
        // Skips most of the hour, in which nothing is due.
        clock.set_by(57 * 60);
        within(10 * 60, || endpoints.attempts().len() >= 421 && endpoints.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        let key = |merchant: &str| (merchant.to_owned(), "DELIVERED");
        let expected = [(key("m1"), EVENTS), (key("m2"), 11)];
        assert_eq!(statuses(&mut books).await, expected.into(), "none is lost");
        let attempts = endpoints.attempts();
        let flows: BTreeSet<FlowId> = attempts.iter().map(|attempt| attempt.flow).collect();
        assert_eq!((flows.len(), attempts.len()), (411, 421), "only failed ones are retried");
        let lease = Duration::from_secs(35);
        assert!(attempts.iter().all(|attempt| attempt.lease == lease), "leases hold");
        assert!(attempts.iter().all(|attempt| attempt.in_flight.0 <= 8));
        let after = starts_per_second(&attempts[before..]).into_iter();
        let most = after.filter(|((id, _), _)| *id == endpoint_id(1)).map(|(_, count)| count);
        assert!(most.max() == Some(20), "the rate limit holds");
        assert_sound(&mut books).await;
    });
}

/// D7: the only request is the one that disables the endpoint; the engine cancels by itself.
#[test]
fn disabling_an_endpoint_cancels_waiting_deliveries_and_lets_attempts_in_flight_end() {
    let scratch = Scratch::new();
    block_on(async {
        let rules = rules_without_jitter();
        let endpoint = vec![add_endpoint("m1", endpoint_id(1), 50, None)];
        let mut books = Sqlite::open(scratch.path()).unwrap();
        set_up(&mut books, &rules, merchant_with_events("m1", endpoint, 2_050)).await;
        let endpoints = Endpoints::new(Duration::from_secs(20), |_, _| 200);
        let clock = Arc::new(WallClock::new());
        let (running, handle) = start(books, &rules, &endpoints, clock, (Limits::default(), 1));
        within(5, || endpoints.in_flight() == 50).await;
        let disable = EndpointChange::Disable { reason: "moving".to_owned() };
        handle.ask(change("m1", endpoint_id(1), disable)).await.unwrap().unwrap();
        within(30, || endpoints.in_flight() == 0).await;
        handle.stop();
        let mut books = running.await.unwrap();
        assert_eq!(endpoints.attempts().len(), 50, "nothing more was sent");
        let key = |status| ("m1".to_owned(), status);
        let expected = [(key("CANCELLED"), 2_000), (key("DELIVERED"), 50)];
        assert_eq!(statuses(&mut books).await, expected.into());
        assert_sound(&mut books).await;
    });
}
