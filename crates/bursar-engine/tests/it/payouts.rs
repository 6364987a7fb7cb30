//! Payouts through a hostile channel, with engines that are killed again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bursar_core::flow::Flow;
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::ids::Seed;
use bursar_core::ledger;
use bursar_core::payouts::Payout;
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Reply, SavedCommit};
use bursar_engine::{Clock, Handle, Host, Limits, Unanswered};
use bursar_store::{Query, Sqlite, Store, Walk as _};
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::hostile_channel::HostileChannel;
use crate::request::{block_on, create, fund, open_merchant, open_postgres, rules};
use crate::scratch::Scratch;

/// Every reading is five seconds later than the last, so that hours pass in a moment.
#[derive(Debug, Clone)]
struct FastClock(Arc<Mutex<Timestamp>>);

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        let mut now = self.0.lock().unwrap();
        *now += SignedDuration::from_secs(5);
        *now
    }
}

/// The rules, the channel and the clock that all engines share.
struct Environment {
    rules: Arc<Rules>,
    channel: HostileChannel,
    clock: FastClock,
}

impl Environment {
    fn new() -> Self {
        let start = Timestamp::from_second(1_794_700_800).unwrap();
        Self {
            rules: Arc::new(rules()),
            channel: HostileChannel::default(),
            clock: FastClock(Arc::new(Mutex::new(start))),
        }
    }

    fn host<S: Store>(&self, store: S, life: u64, limits: Limits) -> (Host<S>, Handle) {
        let (outside, clock) = (Arc::new(self.channel.clone()), Arc::new(self.clock.clone()));
        Host::new(store, Arc::clone(&self.rules), outside, clock, (limits, Seed::from(life)))
    }

    /// Runs an engine and kills it in the middle of its work; the number decides when.
    async fn run_and_kill<S: Store + 'static>(&self, store: S, life: u64) {
        let (host, handle) = self.host(store, life, Limits::default());
        let running = tokio::task::spawn_local(host.run());
        let crash = async {
            for _ in 0..20 + life * 37 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = submit_everything(&handle) => {}
            () = crash => {}
        }
        running.abort();
        assert!(running.await.is_err(), "the engine was killed");
    }

    /// Runs an engine for three hours, and then until every payout is decided. The channel answers every query in the
    /// end; how many hours that takes depends on the speed of the database.
    async fn run_to_the_end<S: Store + 'static>(
        &self,
        store: S,
        life: u64,
        is_over: impl AsyncFn() -> bool,
    ) -> S {
        let (host, handle) = self.host(store, life, Limits::default());
        let running = tokio::task::spawn_local(host.run());
        submit_everything(&handle).await;
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
        let payout = |flow: &Flow| flow.state.payout().expect("there are only payouts").clone();
        flows.iter().map(payout).collect()
    }

    /// Whether every payout is final, or ambiguous because the channel does not know it.
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
            "exactly the paid payouts are settled"
        );

        let report = store.verify(&self.rules.rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

/// Submits a request that a caller repeats under the same key if it does not know whether it was saved.
async fn submit(handle: &Handle, body: Body) {
    match handle.ask(body).await {
        Ok(answer) => {
            answer.unwrap();
        }
        Err(Unanswered::NotSaved(_) | Unanswered::Stopping) => {}
        Err(error @ (Unanswered::Busy | Unanswered::Failed)) => panic!("{error}"),
    }
}

const PAYOUTS: u32 = 150;

/// Submits all requests from the beginning, each under the same key as before.
async fn submit_everything(handle: &Handle) {
    submit(handle, open_merchant("m1")).await;
    submit(handle, fund("m1")).await;
    for number in 0..PAYOUTS {
        submit(handle, create("m1", number)).await;
    }
}

/// Checks the books once every payout is decided.
async fn assert_over(environment: &Environment, store: &mut impl Query) {
    environment.assert_sound(store).await;
    let payouts = environment.payouts(store).await;
    assert_eq!(payouts.len(), usize::try_from(PAYOUTS).unwrap(), "every key made one payout");
    let mut statuses: BTreeMap<&str, u32> = BTreeMap::new();
    for payout in &payouts {
        *statuses.entry(payout.state.status()).or_default() += 1;
    }
    // Killed between saving and sending: the channel does not know the payout, and only an operator can decide it.
    let books = environment.channel.books();
    for payout in payouts.iter().filter(|payout| !payout.state.is_final()) {
        assert_eq!(payout.reason(), Some("ambiguous"), "{statuses:?}");
        assert!(!books.contains_key(payout.reference()), "{statuses:?}");
    }
    assert!(statuses["SUCCESS"] > 50 && statuses["FAILED"] > 5, "{statuses:?}");
}

/// Killed 12 times, then left to finish.
#[test]
fn an_engine_that_is_stopped_dead_loses_and_doubles_nothing() {
    let (environment, scratch) = (Environment::new(), Scratch::new());
    block_on(async {
        for life in 1..=12 {
            environment.run_and_kill(Sqlite::open(scratch.path()).unwrap(), life).await;
        }
        let mut store = environment
            .run_to_the_end(Sqlite::open(scratch.path()).unwrap(), 99, async || true)
            .await;
        assert_over(&environment, &mut store).await;
    });
}

/// Both get the same requests, and each is killed again and again while the other goes on.
#[test]
fn two_engines_on_one_database_lose_and_double_nothing() {
    let (environment, cluster) = (Environment::new(), Cluster::start());
    block_on(async {
        let open = async || open_postgres(&cluster.url()).await;
        for life in 1..=6 {
            let (one, other) = (open().await, open().await);
            let _: ((), ()) = tokio::join!(
                environment.run_and_kill(one, life * 2),
                environment.run_and_kill(other, life * 2 + 1)
            );
        }
        let (one, other) = (open().await, open().await);
        let is_over = async || environment.is_over(&mut open().await).await;
        let (mut store, _) = tokio::join!(
            environment.run_to_the_end(one, 98, is_over),
            environment.run_to_the_end(other, 99, is_over)
        );
        assert_over(&environment, &mut store).await;
    });
}

/// An operator freezes all payouts while two engines are under load: no commit after that plans a submission.
#[test]
fn after_a_freeze_nothing_is_sent() {
    let (environment, cluster) = (Environment::new(), Cluster::start());
    block_on(async {
        let open = async || open_postgres(&cluster.url()).await;
        let (one, handle) = environment.host(open().await, 1, Limits::default());
        let (other, other_handle) = environment.host(open().await, 2, Limits::default());
        let running = [one, other].map(|host| tokio::task::spawn_local(host.run()));
        submit(&handle, open_merchant("m1")).await;
        submit(&handle, fund("m1")).await;
        let requests = async {
            for number in 0..PAYOUTS {
                if number == 60 {
                    let action = FreezeAction::Freeze { reason: "odd numbers".to_owned() };
                    let freeze = FreezeChange {
                        scope: Scope::Global,
                        by: Signature::new("ops", false),
                        action,
                    };
                    submit(&other_handle, freeze.into()).await;
                }
                submit(if number % 2 == 0 { &handle } else { &other_handle }, create("m1", number))
                    .await;
            }
        };
        requests.await;
        let end = environment.clock.now() + SignedDuration::from_mins(30);
        while environment.clock.now() < end {
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
fn a_full_inbox_answers_busy_and_a_stopping_engine_answers_stopping() {
    let (environment, scratch) = (Environment::new(), Scratch::new());
    block_on(async {
        let store = Sqlite::open(scratch.path()).unwrap();
        let (host, handle) =
            environment.host(store, 1, Limits { inbox_max: 1, ..Limits::default() });
        // The host does not run yet: the inbox is not emptied.
        let first = handle.ask(fund("m1"));
        let mut first = Box::pin(first);
        let waker = std::task::Waker::noop();
        let mut context = std::task::Context::from_waker(waker);
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert_eq!(handle.ask(create("m1", 1)).await.unwrap_err(), Unanswered::Busy);
        let running = tokio::task::spawn_local(host.run());
        assert!(matches!(first.await, Ok(Ok(Reply::Ledger(ledger::Reply::Posted(_))))));
        handle.stop();
        running.await.unwrap();
        assert_eq!(handle.ask(create("m1", 1)).await.unwrap_err(), Unanswered::Stopping);
    });
}
