//! The test clock: flows run at their due times while it advances. Statistics of the channels.

use std::sync::{Arc, Mutex};

use bursar_core::feed::Cursor;
use bursar_core::ids::Seed;
use bursar_core::payouts::{Answer, Call, Order, Outcome};
use bursar_engine::{ChannelStats, Clock as _, Host, Limits, NotAdvanced, SystemClock, TestClock};
use bursar_store::{Memory, Query, Sqlite, Store};
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::failing::Still;
use crate::outside::{ChannelAnswer, channel, pays};
use crate::request::{block_on, create, create_for, fund, open_merchant, open_postgres, rules};
use crate::scratch::Scratch;

/// Every call times out.
fn times_out(call: &Call) -> ChannelAnswer {
    let detail = "timeout".to_owned();
    match call.order {
        Order::Submit { .. } => ChannelAnswer::Submitted(Outcome::Unknown { detail }),
        Order::Query => ChannelAnswer::Queried(Answer::Failed { detail }),
    }
}

/// The payout is stuck half an hour after its submission, after ten queries, each at its due time.
async fn assert_it_ends_stuck(store: impl Store + Query + 'static) {
    let clock = TestClock::over(Arc::new(Still));
    let called_at = Arc::new(Mutex::new(Vec::new()));
    let (times, wall) = (Arc::clone(&called_at), clock.clone());
    let answers = move |call: &Call| {
        times.lock().unwrap().push(wall.now().duration_since(Still.now()).as_secs());
        times_out(call)
    };
    let settings = (Limits::default(), Seed::from(1));
    let (host, handle) = Host::new(
        store,
        Arc::new(rules()),
        Arc::new(channel(answers)),
        Arc::new(clock.clone()),
        settings,
    );
    let running = tokio::task::spawn_local(host.run());
    handle.ask(open_merchant("m1")).await.unwrap().unwrap();
    handle.ask(fund("m1")).await.unwrap().unwrap();
    handle.ask(create("m1", 1)).await.unwrap().unwrap();
    assert_eq!(
        handle.advance(1_789).await.unwrap(),
        Still.now() + SignedDuration::from_secs(1_789)
    );
    assert_eq!(handle.advance(11).await.unwrap(), Still.now() + SignedDuration::from_secs(1_800));
    handle.stop();
    let mut store = running.await.unwrap();
    // Submitted at once; queried after 5 s, 15 s more, and so on.
    let expected = [0, 5, 20, 50, 110, 230, 470, 770, 1_070, 1_430, 1_790];
    assert_eq!(*called_at.lock().unwrap(), expected);
    let events = store.events(Cursor::default(), 100).await.unwrap();
    let kinds: Vec<(&str, i64)> = events
        .iter()
        .map(|(_, event)| (event.kind.as_str(), event.time.duration_since(Still.now()).as_secs()))
        .collect();
    let expected = [
        ("payout.ready", 0),
        ("payout.submitting", 0),
        ("payout.unconfirmed", 0),
        ("payout.stuck", 1_790),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_payout_without_an_answer_is_queried_at_its_due_times() {
    let (scratch, cluster) = (Scratch::new(), Cluster::start());
    block_on(async {
        assert_it_ends_stuck(Memory::default()).await;
        assert_it_ends_stuck(Sqlite::open(scratch.path()).unwrap()).await;
        assert_it_ends_stuck(open_postgres(&cluster.url()).await).await;
    });
}

#[test]
fn scheduled_payouts_run_at_their_times_whatever_their_number() {
    block_on(async {
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        // One turn claims fewer than are due.
        let limits = Limits { claim_max: 3, ..Limits::default() };
        let settings = (limits, Seed::from(1));
        let (host, handle) = Host::new(
            Memory::default(),
            Arc::new(rules()),
            Arc::new(channel(pays)),
            clock,
            settings,
        );
        let running = tokio::task::spawn_local(host.run());
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        let hour =
            |number: u32| Still.now() + SignedDuration::from_hours(i64::from(number % 4) + 1);
        for number in 0..80 {
            handle.ask(create_for("m1", number, Some(hour(number)))).await.unwrap().unwrap();
        }
        handle.advance(4 * 3_600).await.unwrap();
        handle.stop();
        let mut books = running.await.unwrap();
        let mut paid_at: Vec<Timestamp> = Vec::new();
        for (_, event) in books.events(Cursor::default(), 10_000).await.unwrap() {
            if event.kind == "payout.success" {
                paid_at.push(event.time);
            }
        }
        let expected: Vec<Timestamp> =
            (0..4).flat_map(|number| std::iter::repeat_n(hour(number), 20)).collect();
        assert_eq!(paid_at.len(), 80);
        let second = SignedDuration::from_secs(1);
        for (paid, expected) in paid_at.iter().zip(expected) {
            assert!((expected..expected + second).contains(paid), "{paid} for {expected}");
        }
    });
}

#[test]
fn advancing_real_time_is_refused() {
    block_on(async {
        let settings = (Limits::default(), Seed::from(1));
        let (rules, outside) = (Arc::new(rules()), Arc::new(channel(pays)));
        let (host, handle) = Host::new(
            Memory::default(),
            rules,
            outside,
            Arc::new(SystemClock::default()),
            settings,
        );
        let running = tokio::task::spawn_local(host.run());
        assert_eq!(handle.advance(60).await, Err(NotAdvanced::RealTime));
        handle.stop();
        running.await.unwrap();
        assert_eq!(handle.advance(60).await, Err(NotAdvanced::Stopping));
    });
}

#[test]
fn a_test_clock_moves_with_time_and_never_back() {
    let clock = TestClock::default();
    let start = clock.now();
    assert!(clock.now() >= start);
    let later = start + SignedDuration::from_hours(1);
    assert!(clock.put_forward(later));
    assert!(clock.now() >= later);
    assert!(clock.put_forward(start));
    assert!(clock.now() >= later, "it does not go back");
    assert!(!SystemClock::default().put_forward(later));
}

#[test]
fn unknown_outcomes_and_unmapped_answers_are_counted_by_channel() {
    block_on(async {
        let calls = Mutex::new(0_u32);
        let answers = move |call: &Call| {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            let unknown = |detail: &str| {
                ChannelAnswer::Submitted(Outcome::Unknown { detail: detail.to_owned() })
            };
            match (&call.order, *calls) {
                (Order::Submit { .. }, 1) => unknown("unmapped status Q7"),
                (Order::Submit { .. }, 2) => unknown("timeout"),
                (Order::Query, 6) => {
                    ChannelAnswer::Queried(Answer::Failed { detail: "unmapped code 12".to_owned() })
                }
                (Order::Submit { .. } | Order::Query, _) => pays(call),
            }
        };
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let settings = (Limits::default(), Seed::from(1));
        let (rules, outside) = (Arc::new(rules()), Arc::new(channel(answers)));
        let (host, handle) = Host::new(Memory::default(), rules, outside, clock, settings);
        assert_eq!(handle.stats().last_turn_at, None);
        let running = tokio::task::spawn_local(host.run());
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        for number in 0..5 {
            handle.ask(create("m1", number)).await.unwrap().unwrap();
        }
        let now = handle.advance(60).await.unwrap();
        handle.advance(1).await.unwrap();
        let stats = handle.stats();
        handle.stop();
        running.await.unwrap();
        let expected = ChannelStats { submissions: 5, unknown: 2, unmapped: 2 };
        assert_eq!(stats.channels, [("wallet".to_owned(), expected)].into());
        assert!(stats.requests >= 6 + 5, "{stats:?}");
        assert!(stats.turns > 0 && stats.last_turn_at >= Some(now - SignedDuration::from_secs(60)));
        assert_eq!((stats.panics, stats.conflicts, stats.not_saved), (0, 0, 0));
        assert_eq!((stats.in_flight, stats.inbox, stats.alerts), (0, 0, 0));
    });
}
