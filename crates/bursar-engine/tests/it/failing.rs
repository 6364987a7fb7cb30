//! Requests and flows that make turns fail: they are alone with it, and nothing is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bursar_core::effect::Effect;
use bursar_core::flow::Flow;
use bursar_core::ids::Seed;
use bursar_core::request::{Body, Reply};
use bursar_core::verify::Verifier;
use bursar_engine::{Alert, Channels, Clock, Handle, Host, Limits, TestClock, Unanswered};
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::Timestamp;
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::poison::{BAD, Fails, Poison, Said, Says, pays};
use crate::request::{block_on, create, create_for, fund, open_merchant, rules};
use crate::scratch::Scratch;

/// A clock that stands still unless it is put forward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_794_700_800).unwrap()
    }
}

fn start<S: Store + 'static>(store: S, channels: Arc<dyn Channels>) -> (JoinHandle<S>, Handle) {
    let clock = Arc::new(TestClock::over(Arc::new(Still)));
    let settings = (Limits::default(), Seed::from(7));
    let (host, handle) = Host::new(store, Arc::new(rules()), channels, clock, settings);
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
    let rules = rules();
    let accounts = books.accounts().await.unwrap();
    let mut verifier = Verifier::new(&rules.rulebook, &accounts);
    for commit in books.history(0, u32::MAX).await.unwrap() {
        verifier.add(&commit);
    }
    for flow in flows(books).await {
        verifier.add_flow(&flow);
    }
    let (holds, due) = (books.holds().await.unwrap(), books.due().await.unwrap());
    let report = verifier.finish(&accounts, &holds, &due, &books.end().await.unwrap());
    assert_eq!(report.differences, Vec::<String>::new());
}

/// Forty good payouts and a bad one in the middle, all due together, and an hour.
async fn an_hour_with_a_bad_one(books: impl Store + Query + 'static, fails: Fails) {
    let store = Poison::new(books, fails);
    let is_armed = Arc::clone(&store.is_armed);
    let (running, handle) = start(store, Arc::new(Says(pays)));
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
    // Set aside after 1, 2, 4, 8, 16 and 32 minutes.
    assert_eq!(bad.parked.unwrap().times, 6, "{fails:?}");
    assert_eq!(stats.set_aside, 6, "{fails:?}");
    assert_eq!(stats.alerts, 6, "{fails:?}");
    let alert = Alert::SetAside { flow: bad.name() };
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
fn a_flow_that_cannot_be_loaded_is_set_aside_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_one(Memory::default(), Fails::Loading));
}

#[test]
fn a_flow_that_cannot_be_saved_is_set_aside_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_one(Memory::default(), Fails::Saving));
}

#[test]
fn a_flow_that_always_conflicts_is_set_aside_and_all_others_go_on() {
    block_on(an_hour_with_a_bad_one(Memory::default(), Fails::Conflicting));
}

#[test]
fn what_a_failed_turn_had_begun_is_rolled_back_by_a_file() {
    let scratch = Scratch::new();
    block_on(an_hour_with_a_bad_one(Sqlite::open(scratch.path()).unwrap(), Fails::Saving));
}

#[test]
fn what_a_failed_turn_had_begun_is_rolled_back_by_a_server() {
    let cluster = Cluster::start();
    block_on(async {
        let books = Postgres::open(&cluster.url()).await.unwrap();
        an_hour_with_a_bad_one(books, Fails::Loading).await;
    });
}

#[test]
fn a_flow_that_cannot_even_be_set_aside_keeps_only_its_lane_waiting() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::Everything);
        let is_armed = Arc::clone(&store.is_armed);
        let (running, handle) = start(store, Arc::new(Says(pays)));
        ask(&handle, open_merchant("m1")).await;
        ask(&handle, fund("m1")).await;
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        let later = Still.now() + jiff::SignedDuration::from_mins(1);
        ask(&handle, create_for(BAD, 0, Some(later))).await;
        is_armed.store(true, Ordering::SeqCst);
        handle.advance(90).await.unwrap();
        let stats = handle.stats();
        let alert = Alert::LaneRests { lane: "schedule:wallet".to_owned() };
        assert_eq!(stats.latest_alerts.back().map(|(_, alert)| alert), Some(&alert));
        // Others are made and sent: they wait in another lane.
        ask(&handle, create("m1", 1)).await;
        handle.advance(60).await.unwrap();
        // Whatever it was, it is over.
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
fn a_request_that_makes_a_turn_fail_is_told_so_and_its_neighbours_are_answered() {
    for fails in [Fails::Loading, Fails::Saving, Fails::Conflicting] {
        block_on(async {
            let store = Poison::new(Memory::default(), fails);
            let is_armed = Arc::clone(&store.is_armed);
            let (running, handle) = start(store, Arc::new(Says(pays)));
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
            // Halving finds two among a hundred in a few turns.
            assert!(stats.panics + stats.conflicts <= 20, "{stats:?}");
            assert_eq!(stats.alerts, 0, "whoever asked was told");
            assert_sound(&mut books).await;
        });
    }
}

#[test]
fn a_panic_behind_the_commit_is_not_taken_for_nothing_done() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::BehindTheCommit);
        let is_armed = Arc::clone(&store.is_armed);
        let (running, handle) = start(store, Arc::new(Says(pays)));
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        is_armed.store(true, Ordering::SeqCst);
        let unanswered = handle.ask(create(BAD, 1)).await.unwrap_err();
        let text = unanswered.to_string();
        assert!(matches!(unanswered, Unanswered::NotSaved(_)), "{text}");
        assert!(text.starts_with("whether the commit was saved is not known"), "{text}");
        is_armed.store(false, Ordering::SeqCst);
        let again = handle.ask(create(BAD, 1)).await.unwrap().unwrap();
        assert!(matches!(again, Reply::Flow { is_replay: true, .. }), "it had been done");
        // If its submission was planned behind such a commit, nobody sent it: its lease ends and it is asked about.
        handle.advance(300).await.unwrap();
        handle.stop();
        let mut books = running.await.unwrap().books;
        assert_eq!(statuses(&flows(&mut books).await), [((BAD, "SUCCESS"), 1)].into());
        assert_sound(&mut books).await;
    });
}

/// The books fail from the moment at which the channel has paid: what it says cannot be taken note of.
#[test]
fn a_report_that_makes_turns_fail_is_dropped_and_the_channel_is_asked_again() {
    block_on(async {
        let store = Poison::new(Memory::default(), Fails::Saving);
        let is_armed = Arc::clone(&store.is_armed);
        let arms = Arc::clone(&is_armed);
        let sent = Arc::new(AtomicBool::new(false));
        let first = Arc::clone(&sent);
        let says = move |effect: &Effect| {
            if !first.swap(true, Ordering::SeqCst) {
                arms.store(true, Ordering::SeqCst);
            }
            pays(effect)
        };
        let (running, handle) = start(store, Arc::new(Says(says)));
        ask(&handle, open_merchant(BAD)).await;
        ask(&handle, fund(BAD)).await;
        ask(&handle, create(BAD, 1)).await;
        handle.advance(1).await.unwrap();
        assert!(sent.load(Ordering::SeqCst), "it was sent");
        let stats = handle.stats();
        // Twice with what was ready beside it, then three times alone.
        assert_eq!((stats.dropped_reports, stats.panics), (1, 5));
        is_armed.store(false, Ordering::SeqCst);
        // The lease ends, the outcome is unknown, and the first question is answered.
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
fn a_connector_that_panics_has_said_nothing() {
    block_on(async {
        let says = |effect: &Effect| -> Said {
            match effect.call {
                bursar_core::effect::Call::Submit { .. } => panic!("a bug in the connector"),
                bursar_core::effect::Call::Query => pays(effect),
            }
        };
        let (running, handle) =
            start(Poison::new(Memory::default(), Fails::Saving), Arc::new(Says(says)));
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
