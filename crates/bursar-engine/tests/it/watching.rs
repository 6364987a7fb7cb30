//! Time put forward, step by step, and the numbers that somebody watches.

use std::sync::{Arc, Mutex};

use bursar_core::effect::{Call, Effect};
use bursar_core::feed::Cursor;
use bursar_core::ids::Seed;
use bursar_core::payout::{Answer, Outcome};
use bursar_engine::{ChannelStats, Clock as _, Host, Limits, NotAdvanced, SystemClock, TestClock};
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::failing::Still;
use crate::poison::{Said, Says, pays};
use crate::request::{block_on, create, create_for, fund, open_merchant, rules};
use crate::scratch::Scratch;

/// The channel takes everything and says nothing.
fn says_nothing(effect: &Effect) -> Said {
    let detail = "timeout".to_owned();
    match effect.call {
        Call::Submit { .. } => Said::Outcome(Outcome::Unknown { detail }),
        Call::Query => Said::Answer(Answer::Failed { detail }),
    }
}

/// Half an hour after it was sent, in ten questions, each at its time.
async fn assert_it_ends_stuck(store: impl Store + Query + 'static) {
    let clock = TestClock::over(Arc::new(Still));
    let asked_at = Arc::new(Mutex::new(Vec::new()));
    let (times, looks_at) = (Arc::clone(&asked_at), clock.clone());
    let says = move |effect: &Effect| {
        times.lock().unwrap().push(looks_at.now().duration_since(Still.now()).as_secs());
        says_nothing(effect)
    };
    let settings = (Limits::default(), Seed::from(1));
    let (host, handle) = Host::new(
        store,
        Arc::new(rules()),
        Arc::new(Says(says)),
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
    // Sent at once; then after 5 s, 15 s more, and so on.
    let expected = [0, 5, 20, 50, 110, 230, 470, 770, 1_070, 1_430, 1_790];
    assert_eq!(*asked_at.lock().unwrap(), expected);
    let events = store.events(Cursor::default(), 100).await.unwrap();
    let told: Vec<(&str, i64)> = events
        .iter()
        .map(|(_, event)| (event.kind.as_str(), event.time.duration_since(Still.now()).as_secs()))
        .collect();
    let expected = [
        ("payout.ready", 0),
        ("payout.submitting", 0),
        ("payout.unconfirmed", 0),
        ("payout.stuck", 1_790),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_payout_that_is_never_answered_for_is_asked_about_at_its_times() {
    let (scratch, cluster) = (Scratch::new(), Cluster::start());
    block_on(async {
        assert_it_ends_stuck(Memory::default()).await;
        assert_it_ends_stuck(Sqlite::open(scratch.path()).unwrap()).await;
        assert_it_ends_stuck(Postgres::open(&cluster.url()).await.unwrap()).await;
    });
}

#[test]
fn what_is_scheduled_happens_at_its_time_however_much_there_is() {
    block_on(async {
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        // Fewer are woken at once than are due.
        let limits = Limits { wake_max: 3, ..Limits::default() };
        let settings = (limits, Seed::from(1));
        let (host, handle) =
            Host::new(Memory::default(), Arc::new(rules()), Arc::new(Says(pays)), clock, settings);
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
fn real_time_is_not_put_forward() {
    block_on(async {
        let settings = (Limits::default(), Seed::from(1));
        let (rules, says) = (Arc::new(rules()), Arc::new(Says(pays)));
        let (host, handle) =
            Host::new(Memory::default(), rules, says, Arc::new(SystemClock::default()), settings);
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
fn what_channels_leave_unknown_or_cannot_say_is_counted() {
    block_on(async {
        let asked = Mutex::new(0_u32);
        let says = move |effect: &Effect| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            match (&effect.call, *asked) {
                (Call::Submit { .. }, 1) => {
                    Said::Outcome(Outcome::Unknown { detail: "unmapped status Q7".to_owned() })
                }
                (Call::Submit { .. }, 2) => {
                    Said::Outcome(Outcome::Unknown { detail: "timeout".to_owned() })
                }
                (Call::Query, 6) => {
                    Said::Answer(Answer::Failed { detail: "unmapped code 12".to_owned() })
                }
                (Call::Submit { .. } | Call::Query, _) => pays(effect),
            }
        };
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let settings = (Limits::default(), Seed::from(1));
        let (rules, says) = (Arc::new(rules()), Arc::new(Says(says)));
        let (host, handle) = Host::new(Memory::default(), rules, says, clock, settings);
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
