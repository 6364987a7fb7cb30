//! Leases end on the monotonic clock, and effects run on the runtime that the host is given.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use bursar_core::flow::Effect;
use bursar_core::ids::Seed;
use bursar_core::payouts::Order;
use bursar_engine::{Clock, Host, Limits, Outside, Running, TestClock};
use bursar_store::{Memory, Query as _};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::failing::Still;
use crate::outside::{outcome, payout_call, pays};
use crate::request::{block_on, create, fund, open_merchant, rules};

/// Set back by an hour and forward again between any two readings.
#[derive(Debug, Default)]
struct Jumping(AtomicBool);

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        let is_back = self.0.fetch_xor(true, Ordering::SeqCst);
        Still.now() - SignedDuration::from_hours(i64::from(is_back))
    }
}

/// The lease and the thread of each effect.
type Seen = Arc<Mutex<Vec<(Duration, ThreadId)>>>;

/// A channel that records each effect, and pays or never answers.
#[derive(Debug, Clone)]
struct Recorder {
    seen: Seen,
    is_silent: bool,
}

impl Outside for Recorder {
    fn run(&self, effect: Effect, deadline: Instant) -> Running {
        let Recorder { seen, is_silent } = self.clone();
        Box::pin(async move {
            let lease = deadline.duration_since(Instant::now());
            seen.lock().unwrap().push((lease, std::thread::current().id()));
            if is_silent {
                std::future::pending::<()>().await;
            }
            let call = payout_call(&effect);
            assert!(matches!(call.order, Order::Submit { .. }), "there is nothing to query");
            outcome(&effect, pays(call))
        })
    }
}

/// A minute for a wallet's answer, and the slack.
const LEASE: Duration = Duration::from_secs(75);

async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if condition() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the condition never held");
}

#[test]
fn a_wall_clock_that_jumps_does_not_extend_a_lease() {
    block_on(async {
        let seen = Seen::default();
        let outside = Arc::new(Recorder { seen: Arc::clone(&seen), is_silent: false });
        let clock = Arc::new(Jumping::default());
        let settings = (Limits::default(), Seed::from(1));
        let (host, handle) =
            Host::new(Memory::default(), Arc::new(rules()), outside, clock, settings);
        let running = tokio::task::spawn_local(host.run());
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        for number in 0..10 {
            handle.ask(create("m1", number)).await.unwrap().unwrap();
        }
        for _ in 0..1_000 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        handle.stop();
        running.await.unwrap();
        assert_eq!(seen.lock().unwrap().len(), 10);
        assert!(seen.lock().unwrap().iter().all(|(lease, _)| *lease == LEASE));
    });
}

#[test]
fn an_effect_without_an_outcome_is_abandoned_when_its_lease_ends() {
    block_on(async {
        let seen = Seen::default();
        let outside = Arc::new(Recorder { seen: Arc::clone(&seen), is_silent: true });
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let settings = (Limits::default(), Seed::from(1));
        let (host, handle) =
            Host::new(Memory::default(), Arc::new(rules()), outside, clock, settings);
        let running = tokio::task::spawn_local(host.run());
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        handle.ask(create("m1", 1)).await.unwrap().unwrap();
        let sent_at = Instant::now();
        until(|| handle.stats().in_flight == 1).await;
        while handle.stats().channels["wallet"].unknown == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(sent_at.elapsed() < LEASE + Duration::from_secs(2), "the engine still waits");
        }
        assert!(sent_at.elapsed() >= LEASE, "the engine abandoned it too early");
        handle.stop();
        let mut books = running.await.unwrap();
        assert_eq!(seen.lock().unwrap().first().unwrap().0, LEASE);
        let flows = books.flows(None, 10).await.unwrap();
        assert_eq!(flows[0].state.status(), "UNCONFIRMED");
    });
}

#[test]
fn turns_run_on_their_own_thread_and_effects_on_another_runtime() {
    let effects = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = Seen::default();
    let outside = Arc::new(Recorder { seen: Arc::clone(&seen), is_silent: false });
    let clock = Arc::new(TestClock::default());
    let settings = (Limits::default(), Seed::from(1));
    let (host, handle) = Host::new(Memory::default(), Arc::new(rules()), outside, clock, settings);
    let host = host.with_effects_on(effects.handle().clone());
    let turns = std::thread::spawn(move || {
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        own.block_on(host.run())
    });
    let turns_on = turns.thread().id();
    effects.block_on(async {
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        for number in 0..20 {
            handle.ask(create("m1", number)).await.unwrap().unwrap();
        }
        handle.advance(1).await.unwrap();
    });
    handle.stop();
    let mut books = turns.join().unwrap();
    let flows = effects.block_on(books.flows(None, 100)).unwrap();
    assert!(flows.iter().all(|flow| flow.state.status() == "SUCCESS"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 20);
    let here = std::thread::current().id();
    assert!(seen.iter().all(|(_, thread)| *thread == here && *thread != turns_on));
}
