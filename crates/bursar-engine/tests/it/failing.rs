//! Requests and flows that make turns fail: the engine isolates them, and nothing is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bursar_core::flow::Flow;
use bursar_core::ids::Seed;
use bursar_core::payouts::{Call, Create, Order};
use bursar_core::turn::{Ask as _, Body};
use bursar_engine::{Alert, Clock, Handle, Host, Limits, Outside, TestClock, Unanswered};
use bursar_store::{Memory, Query, Sqlite, Store, Walk as _};
use jiff::Timestamp;
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::outside::{ChannelAnswer, channel, pays};
use crate::poison::{BAD, Fails, Poison};
use crate::request::{block_on, create, create_for, fund, open_merchant, open_postgres, rules};
use crate::scratch::Scratch;

/// A clock that stands still unless it is put forward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_794_700_800).unwrap()
    }
}

fn start<S: Store + 'static>(store: S, outside: impl Outside) -> (JoinHandle<S>, Handle) {
    let clock = Arc::new(TestClock::over(Arc::new(Still)));
    let settings = (Limits::default(), Seed::from(7));
    let (host, handle) = Host::new(store, Arc::new(rules()), Arc::new(outside), clock, settings);
    (tokio::task::spawn_local(host.run()), handle)
}

async fn ask(handle: &Handle, body: Body) {
    handle.ask(body).await.unwrap().unwrap();
}

async fn flows(books: &mut impl Query) -> Vec<Flow> {
    books.flows(None, u32::MAX).await.unwrap()
}

fn statuses(flows: &[Flow]) -> BTreeMap<(&str, &str), usize> {
    let mut statuses = BTreeMap::new();
    for flow in flows {
        *statuses.entry((flow.merchant.as_str(), flow.state.status())).or_default() += 1;
    }
    statuses
}

pub(crate) async fn assert_sound(books: &mut impl Query) {
    let report = books.verify(&rules().rulebook).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}

/// Thirty-nine good payouts and a bad one in the middle, all due together; an hour passes.
async fn an_hour_with_a_bad_payout(books: impl Store + Query + 'static, fails: Fails) {
    let store = Poison::new(books, fails);
    let is_armed = Arc::clone(&store.is_armed);
    let (running, handle) = start(store, channel(pays));
    ask(&handle, open_merchant("m1")).await;
    ask(&handle, fund("m1")).await;
    ask(&handle, open_merchant(BAD)).await;
    ask(&handle, fund(BAD)).await;
    let later = Still.now() + jiff::SignedDuration::from_mins(1);
    for number in 0..40 {
        let merchant = if number == 20 { BAD } else { "m1" };
        ask(&handle, create_for(merchant, number, Some(later))).await;
    }
    is_armed.store(true, Ordering::SeqCst);
    handle.advance(3_600).await.unwrap();
    let stats = handle.stats();
    handle.stop();
    let mut books = running.await.unwrap().books;

    let flows = flows(&mut books).await;
    let expected = [(("m1", "SUCCESS"), 39), ((BAD, "SCHEDULED"), 1)];
    assert_eq!(statuses(&flows), expected.into(), "{fails:?}");
    let bad = flows.iter().find(|flow| flow.merchant == BAD).unwrap();
    // Quarantined for 1, 2, 4, 8, 16 and 32 minutes.
    assert_eq!(bad.backoff.unwrap().times, 6, "{fails:?}");
    assert_eq!(stats.quarantined, 6, "{fails:?}");
    assert_eq!(stats.alerts, 6, "{fails:?}");
    let alert = Alert::Quarantined { flow: bad.name() };
    assert!(stats.latest_alerts.iter().all(|(_, found)| *found == alert));
    let (seen, unseen) = if fails == Fails::Conflicting {
        (stats.conflicts, stats.panics)
    } else {
        (stats.panics, stats.conflicts)
    };
    assert!((12..60).contains(&seen), "{seen} turns failed");
    assert_eq!(unseen, 0);
    assert_sound(&mut books).await;
}

#[test]
fn a_flow_that_cannot_be_loaded_is_quarantined_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_payout(Memory::default(), Fails::Loading));
}

#[test]
fn a_flow_that_cannot_be_saved_is_set_aside_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_payout(Memory::default(), Fails::Saving));
}

#[test]
fn a_flow_that_always_conflicts_is_quarantined_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_payout(Memory::default(), Fails::Conflicting));
}

#[test]
fn sqlite_rolls_back_a_failed_turn() {
    let scratch = Scratch::new();
    block_on(an_hour_with_a_bad_payout(Sqlite::open(scratch.path()).unwrap(), Fails::Saving));
}

#[test]
fn postgres_rolls_back_a_failed_turn() {
    let cluster = Cluster::start();
    block_on(async {
        let books = open_postgres(&cluster.url()).await;
        an_hour_with_a_bad_payout(books, Fails::Loading).await;
    });
}

#[test]
fn a_flow_that_cannot_be_quarantined_pauses_only_its_lane() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::Everything);
        let is_armed = Arc::clone(&store.is_armed);
        let (running, handle) = start(store, channel(pays));
        ask(&handle, open_merchant("m1")).await;
        ask(&handle, fund("m1")).await;
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        let later = Still.now() + jiff::SignedDuration::from_mins(1);
        ask(&handle, create_for(BAD, 0, Some(later))).await;
        is_armed.store(true, Ordering::SeqCst);
        handle.advance(90).await.unwrap();
        let stats = handle.stats();
        let alert = Alert::LanePaused { lane: "submit:payout:wallet".to_owned() };
        assert_eq!(stats.latest_alerts.back().map(|(_, alert)| alert), Some(&alert));
        // Others are created. Those of the same channel wait until the lane is tried again.
        ask(&handle, create("m1", 1)).await;
        handle.advance(60).await.unwrap();
        // The bug is fixed.
        is_armed.store(false, Ordering::SeqCst);
        handle.advance(60).await.unwrap();
        handle.stop();
        let mut books = running.await.unwrap().books;
        let flows = flows(&mut books).await;
        let expected = [(("m1", "SUCCESS"), 1), ((BAD, "SUCCESS"), 1)];
        assert_eq!(statuses(&flows), expected.into());
        assert_sound(&mut books).await;
    });
}

#[test]
fn a_request_that_makes_a_turn_fail_is_answered_with_failed_and_all_others_succeed() {
    for fails in [Fails::Loading, Fails::Saving, Fails::Conflicting] {
        block_on(async {
            let store = Poison::new(Memory::default(), fails);
            let is_armed = Arc::clone(&store.is_armed);
            let (running, handle) = start(store, channel(pays));
            ask(&handle, open_merchant("m1")).await;
            ask(&handle, fund("m1")).await;
            ask(&handle, open_merchant(BAD)).await;
            ask(&handle, fund(BAD)).await;
            is_armed.store(true, Ordering::SeqCst);
            let mut asking = tokio::task::JoinSet::new();
            for number in 0..100 {
                let (handle, merchant) =
                    (handle.clone(), if number % 50 == 7 { BAD } else { "m1" });
                asking.spawn(async move {
                    (merchant, handle.ask(create(merchant, number)).await.map(Result::unwrap))
                });
            }
            for (merchant, answer) in asking.join_all().await {
                if merchant == BAD {
                    assert_eq!(answer.unwrap_err(), Unanswered::Failed);
                } else {
                    answer.unwrap();
                }
            }
            handle.advance(1).await.unwrap();
            let stats = handle.stats();
            handle.stop();
            let mut books = running.await.unwrap().books;
            assert_eq!(statuses(&flows(&mut books).await), [(("m1", "SUCCESS"), 98)].into());
            // Bisection finds two among a hundred in a few turns.
            assert!(stats.panics + stats.conflicts <= 20, "{stats:?}");
            assert_eq!(stats.alerts, 0, "the callers know: no alert is raised");
            assert_sound(&mut books).await;
        });
    }
}

#[test]
fn a_panic_after_the_commit_is_answered_as_unknown() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::AfterTheCommit);
        let is_armed = Arc::clone(&store.is_armed);
        let (running, handle) = start(store, channel(pays));
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        is_armed.store(true, Ordering::SeqCst);
        let unanswered = handle.ask(create(BAD, 1)).await.unwrap_err();
        let text = unanswered.to_string();
        assert!(matches!(unanswered, Unanswered::NotSaved(_)), "{text}");
        assert!(text.starts_with("whether the commit was saved is not known"), "{text}");
        is_armed.store(false, Ordering::SeqCst);
        let again = handle.ask(create(BAD, 1)).await.unwrap().unwrap();
        assert!(Create::reply(again).unwrap().is_replay, "it had been done");
        // A submission planned in such a commit was never sent: its lease ends and the channel is queried.
        handle.advance(300).await.unwrap();
        handle.stop();
        let mut books = running.await.unwrap().books;
        assert_eq!(statuses(&flows(&mut books).await), [((BAD, "SUCCESS"), 1)].into());
        assert_sound(&mut books).await;
    });
}

/// The store fails from the moment at which the channel has paid: the outcome cannot be saved.
#[test]
fn an_outcome_that_makes_turns_fail_is_dropped_and_the_channel_is_queried() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::Saving);
        let is_armed = Arc::clone(&store.is_armed);
        let arms = Arc::clone(&is_armed);
        let sent = Arc::new(AtomicBool::new(false));
        let first = Arc::clone(&sent);
        let answers = move |call: &Call| {
            if !first.swap(true, Ordering::SeqCst) {
                arms.store(true, Ordering::SeqCst);
            }
            pays(call)
        };
        let (running, handle) = start(store, channel(answers));
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        ask(&handle, create(BAD, 1)).await;
        handle.advance(1).await.unwrap();
        assert!(sent.load(Ordering::SeqCst), "it was sent");
        let stats = handle.stats();
        // Twice together with other requests, then three times alone.
        assert_eq!((stats.dropped_outcomes, stats.panics), (1, 5));
        is_armed.store(false, Ordering::SeqCst);
        // The lease ends, the outcome is unknown, and the first query is answered.
        handle.advance(300).await.unwrap();
        handle.stop();
        let mut books = running.await.unwrap().books;
        assert_eq!(statuses(&flows(&mut books).await), [((BAD, "SUCCESS"), 1)].into());
        let events = books.events(bursar_core::feed::Cursor::default(), 100).await.unwrap();
        let kinds: Vec<&str> = events.iter().map(|(_, event)| event.kind.as_str()).collect();
        let expected =
            ["payout.ready", "payout.submitting", "payout.unconfirmed", "payout.success"];
        assert_eq!(kinds, expected);
        assert_sound(&mut books).await;
    });
}

#[test]
fn a_panic_of_the_connector_leaves_the_outcome_unknown() {
    block_on(async {
        let answers = |call: &Call| -> ChannelAnswer {
            match call.order {
                Order::Submit { .. } => panic!("a bug in the connector"),
                Order::Query => pays(call),
            }
        };
        let store = Poison::new(Memory::default(), Fails::Saving);
        let (running, handle) = start(store, channel(answers));
        ask(&handle, open_merchant("m1")).await;
        ask(&handle, fund("m1")).await;
        ask(&handle, create("m1", 1)).await;
        handle.advance(60).await.unwrap();
        assert_eq!(handle.stats().channels["wallet"].unknown, 1);
        handle.stop();
        let mut books = running.await.unwrap().books;
        assert_eq!(statuses(&flows(&mut books).await), [(("m1", "SUCCESS"), 1)].into());
    });
}
