//! Hundreds of payouts through a hostile channel, with an engine that is stopped dead again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bursar_core::commit::SavedCommit;
use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::flow::FlowState;
use bursar_core::ids::Seed;
use bursar_core::payout::Payout;
use bursar_core::request::{Body, Reply};
use bursar_core::rules::Rules;
use bursar_core::verify::Verifier;
use bursar_engine::{Clock, Handle, Host, Limits, Unanswered};
use bursar_store::{Postgres, Query, Sqlite, Store};
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::hostile::Hostile;
use crate::request::{block_on, create, fund, open_merchant, rules};
use crate::scratch::Scratch;

/// Every look at it is five seconds later: what takes an hour in life takes a moment here.
#[derive(Debug, Clone)]
struct FastClock(Arc<Mutex<Timestamp>>);

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        let mut now = self.0.lock().unwrap();
        *now += SignedDuration::from_secs(5);
        *now
    }
}

/// What every engine shares: the rules, the channel, and time.
struct Place {
    rules: Arc<Rules>,
    channel: Hostile,
    clock: FastClock,
}

impl Place {
    fn new() -> Self {
        let start = Timestamp::from_second(1_794_700_800).unwrap();
        Self {
            rules: Arc::new(rules()),
            channel: Hostile::default(),
            clock: FastClock(Arc::new(Mutex::new(start))),
        }
    }

    fn host<S: Store>(&self, store: S, life: u64, limits: Limits) -> (Host<S>, Handle) {
        let (channels, clock) = (Arc::new(self.channel.clone()), Arc::new(self.clock.clone()));
        Host::new(store, Arc::clone(&self.rules), channels, clock, (limits, Seed::from(life)))
    }

    /// An engine that is stopped dead after this many moments, in the middle of everything.
    async fn short_life<S: Store + 'static>(&self, store: S, life: u64) {
        let (host, handle) = self.host(store, life, Limits::default());
        let running = tokio::task::spawn_local(host.run());
        let crash = async {
            for _ in 0..20 + life * 37 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = ask_for_everything(&handle) => {}
            () = crash => {}
        }
        running.abort();
        assert!(running.await.is_err(), "it is gone");
    }

    /// An engine that is left alone for three hours, and then until it is over: this channel answers every question
    /// in the end, and how many hours that takes depends on how fast the database is.
    async fn long_life<S: Store + 'static>(
        &self,
        store: S,
        life: u64,
        is_over: impl AsyncFn() -> bool,
    ) -> S {
        let (host, handle) = self.host(store, life, Limits::default());
        let running = tokio::task::spawn_local(host.run());
        ask_for_everything(&handle).await;
        let end = self.clock.now() + SignedDuration::from_hours(3);
        while self.clock.now() < end {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        for _ in 0..2_000 {
            if is_over().await {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        handle.stop();
        running.await.unwrap()
    }

    async fn payouts(&self, store: &mut impl Query) -> Vec<Payout> {
        let flows = store.flows(None, u32::MAX).await.unwrap();
        let payout = |state| match state {
            FlowState::Payout(payout) => *payout,
            FlowState::Reservation(_) | FlowState::PayIn(_) | FlowState::Delivery(_) => {
                panic!("there are only payouts")
            }
        };
        flows.into_iter().map(|flow| payout(flow.state)).collect()
    }

    /// Whether all is decided that the channel can decide.
    async fn is_over(&self, store: &mut impl Query) -> bool {
        let books = self.channel.books();
        let payouts = self.payouts(store).await;
        payouts.iter().all(|payout| {
            let is_unknown = !books.contains_key(payout.reference());
            payout.state.is_final() || (payout.reason() == Some("ambiguous") && is_unknown)
        })
    }

    /// The channel's books against ours.
    async fn assert_sound(&self, store: &mut impl Query) {
        let books = self.channel.books();
        assert!(books.values().all(|payment| payment.times_paid <= 1), "nothing is paid twice");
        assert!(books.values().all(|payment| payment.submissions <= 1), "nothing is sent twice");
        let paid: Vec<&String> = books
            .iter()
            .filter(|(_, payment)| payment.times_paid > 0)
            .map(|(name, _)| name)
            .collect();
        let payouts = self.payouts(store).await;
        let mut settled: Vec<String> = payouts
            .iter()
            .filter_map(|payout| {
                let settled = payout.settled?;
                let attempt = payout.attempts.iter().find(|attempt| attempt.number == settled);
                attempt.map(|attempt| attempt.reference.clone())
            })
            .collect();
        settled.sort();
        assert_eq!(
            settled.iter().collect::<Vec<_>>(),
            paid,
            "what was paid is settled, and nothing else"
        );

        let accounts = store.accounts().await.unwrap();
        let mut verifier = Verifier::new(&self.rules.rulebook, &accounts);
        for commit in store.history(0, u32::MAX).await.unwrap() {
            verifier.add(&commit);
        }
        for flow in store.flows(None, u32::MAX).await.unwrap() {
            verifier.add_flow(&flow);
        }
        let (holds, due) = (store.holds().await.unwrap(), store.due().await.unwrap());
        let report = verifier.finish(&accounts, &holds, &due, &store.end().await.unwrap());
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

/// Asks again until it is answered: a caller who does not know whether it was done uses the same key.
async fn insist(handle: &Handle, body: Body) {
    match handle.ask(body).await {
        Ok(answer) => {
            answer.unwrap();
        }
        Err(Unanswered::NotSaved(_) | Unanswered::Stopping) => {}
        Err(error @ (Unanswered::Busy | Unanswered::Failed)) => panic!("{error}"),
    }
}

const PAYOUTS: u32 = 150;

/// All of it, from the beginning: whoever was not answered asks again under the same key.
async fn ask_for_everything(handle: &Handle) {
    insist(handle, open_merchant("m1")).await;
    insist(handle, fund("m1")).await;
    for number in 0..PAYOUTS {
        insist(handle, create("m1", number)).await;
    }
}

/// What must be true when everything has come to rest.
async fn assert_over(place: &Place, store: &mut impl Query) {
    place.assert_sound(store).await;
    let payouts = place.payouts(store).await;
    assert_eq!(payouts.len(), usize::try_from(PAYOUTS).unwrap(), "every key made one payout");
    let mut statuses: BTreeMap<&str, u32> = BTreeMap::new();
    for payout in &payouts {
        *statuses.entry(payout.state.status()).or_default() += 1;
    }
    // Stopped dead between saving and sending: the channel knows nothing of it, and only a person can rule that.
    let books = place.channel.books();
    for payout in payouts.iter().filter(|payout| !payout.state.is_final()) {
        assert_eq!(payout.reason(), Some("ambiguous"), "{statuses:?}");
        assert!(!books.contains_key(payout.reference()), "{statuses:?}");
    }
    assert!(statuses["SUCCESS"] > 50 && statuses["FAILED"] > 5, "{statuses:?}");
}

/// Stopped dead 12 times, then left alone.
#[test]
fn an_engine_that_is_stopped_dead_loses_and_doubles_nothing() {
    let (place, scratch) = (Place::new(), Scratch::new());
    block_on(async {
        for life in 1..=12 {
            place.short_life(Sqlite::open(scratch.path()).unwrap(), life).await;
        }
        let mut store =
            place.long_life(Sqlite::open(scratch.path()).unwrap(), 99, async || true).await;
        assert_over(&place, &mut store).await;
    });
}

/// Two at once on one database, both asked for the same, each stopped dead again and again while the other goes on.
#[test]
fn two_engines_on_one_database_lose_and_double_nothing() {
    let (place, cluster) = (Place::new(), Cluster::start());
    block_on(async {
        let open = async || Postgres::open(&cluster.url()).await.unwrap();
        for life in 1..=6 {
            let (one, other) = (open().await, open().await);
            let _: ((), ()) = tokio::join!(
                place.short_life(one, life * 2),
                place.short_life(other, life * 2 + 1)
            );
        }
        let (one, other) = (open().await, open().await);
        let is_over = async || place.is_over(&mut open().await).await;
        let (mut store, _) =
            tokio::join!(place.long_life(one, 98, is_over), place.long_life(other, 99, is_over));
        assert_over(&place, &mut store).await;
    });
}

/// Two engines under load, and somebody throws the switch: from that commit on, nothing is planned to be sent.
#[test]
fn after_a_freeze_nothing_is_sent() {
    let (place, cluster) = (Place::new(), Cluster::start());
    block_on(async {
        let open = async || Postgres::open(&cluster.url()).await.unwrap();
        let (one, handle) = place.host(open().await, 1, Limits::default());
        let (other, other_handle) = place.host(open().await, 2, Limits::default());
        let running = [one, other].map(|host| tokio::task::spawn_local(host.run()));
        insist(&handle, open_merchant("m1")).await;
        insist(&handle, fund("m1")).await;
        let frozen = async {
            for number in 0..PAYOUTS {
                if number == 60 {
                    let turn = Turned::Freeze { reason: "odd numbers".to_owned() };
                    let switch = Switch {
                        scope: Scope::Global,
                        actor: "ops".to_owned(),
                        is_approver: false,
                        turn,
                    };
                    insist(&other_handle, Body::Switch(switch)).await;
                }
                insist(if number % 2 == 0 { &handle } else { &other_handle }, create("m1", number))
                    .await;
            }
        };
        frozen.await;
        let end = place.clock.now() + SignedDuration::from_mins(30);
        while place.clock.now() < end {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        handle.stop();
        other_handle.stop();
        for host in running {
            host.await.unwrap();
        }
        let history = open().await.history(0, u32::MAX).await.unwrap();
        let sent = |commit: &SavedCommit| {
            commit.events.iter().filter(|event| event.kind == "payout.submitting").count()
        };
        let frozen =
            |commit: &SavedCommit| commit.audit.iter().any(|entry| entry.action == "freeze");
        let frozen_at = history.iter().position(frozen).unwrap();
        let before: usize = history[..frozen_at].iter().map(sent).sum();
        let after: usize = history[frozen_at..].iter().map(sent).sum();
        assert!(before > 20, "{before} were sent before");
        assert_eq!(after, 0, "none after");
    });
}

#[test]
fn a_full_inbox_turns_away_and_a_stopping_engine_takes_nothing() {
    let (place, scratch) = (Place::new(), Scratch::new());
    block_on(async {
        let store = Sqlite::open(scratch.path()).unwrap();
        let (host, handle) = place.host(store, 1, Limits { inbox_max: 1, ..Limits::default() });
        // Nobody takes anything out yet.
        let first = handle.ask(fund("m1"));
        let mut first = Box::pin(first);
        let waker = std::task::Waker::noop();
        let mut context = std::task::Context::from_waker(waker);
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert_eq!(handle.ask(create("m1", 1)).await.unwrap_err(), Unanswered::Busy);
        let running = tokio::task::spawn_local(host.run());
        assert!(matches!(first.await, Ok(Ok(Reply::Posted(_)))));
        handle.stop();
        running.await.unwrap();
        assert_eq!(handle.ask(create("m1", 1)).await.unwrap_err(), Unanswered::Stopping);
    });
}
