//! Leases end on a clock that nobody can set, and effects run wherever they are told to.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use bursar_core::effect::{Call, Effect};
use bursar_core::ids::Seed;
use bursar_core::payout::{Event, Outcome};
use bursar_engine::{Channels, Clock, Host, Limits, TestClock};
use bursar_store::{Memory, Query as _};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::failing::Still;
use crate::request::{block_on, create, fund, open_merchant, rules};

/// Set back by an hour and forward again, between any two looks at it.
#[derive(Debug, Default)]
struct Jumping(AtomicBool);

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        let is_back = self.0.fetch_xor(true, Ordering::SeqCst);
        Still.now() - SignedDuration::from_hours(i64::from(is_back))
    }
}

/// What was seen of each effect: how long its lease was, and which thread it ran on.
type Seen = Arc<Mutex<Vec<(Duration, ThreadId)>>>;

/// Notes what it sees, and pays or is never heard of again.
#[derive(Debug, Clone)]
struct Watcher {
    seen: Seen,
    is_silent: bool,
}

impl Channels for Watcher {
    fn run(
        &self,
        effect: Effect,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        let Watcher { seen, is_silent } = self.clone();
        Box::pin(async move {
            let lease = deadline.duration_since(Instant::now());
            seen.lock().unwrap().push((lease, std::thread::current().id()));
            if is_silent {
                std::future::pending::<()>().await;
            }
            let Call::Submit { r#try, .. } = effect.call else { panic!("nothing to ask") };
            let outcome = Outcome::Paid { provider_reference: None };
            Event::Submitted { attempt: effect.attempt, r#try, outcome }
        })
    }
}

/// A minute for a wallet's answer, and the slack.
const LEASE: Duration = Duration::from_secs(75);

async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never came to be");
}

#[test]
fn a_wall_clock_that_jumps_does_not_extend_a_lease() {
    block_on(async {
        let seen = Seen::default();
        let channels = Arc::new(Watcher { seen: Arc::clone(&seen), is_silent: false });
        let clock = Arc::new(Jumping::default());
        let settings = (Limits::default(), Seed::from(1));
        let (host, handle) =
            Host::new(Memory::default(), Arc::new(rules()), channels, clock, settings);
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
fn what_has_not_come_back_when_its_lease_ends_is_given_up() {
    block_on(async {
        let seen = Seen::default();
        let channels = Arc::new(Watcher { seen: Arc::clone(&seen), is_silent: true });
        let clock = Arc::new(TestClock::over(Arc::new(Still)));
        let settings = (Limits::default(), Seed::from(1));
        let (host, handle) =
            Host::new(Memory::default(), Arc::new(rules()), channels, clock, settings);
        let running = tokio::task::spawn_local(host.run());
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        handle.ask(create("m1", 1)).await.unwrap().unwrap();
        let sent_at = Instant::now();
        until(|| handle.stats().in_flight == 1).await;
        while handle.stats().channels["wallet"].unknown == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(sent_at.elapsed() < LEASE + Duration::from_secs(2), "it is waited for");
        }
        assert!(sent_at.elapsed() >= LEASE, "it was given up too early");
        handle.stop();
        let mut books = running.await.unwrap();
        assert_eq!(seen.lock().unwrap().first().unwrap().0, LEASE);
        let flows = books.flows(None, 10).await.unwrap();
        assert_eq!(flows[0].state.status(), "UNCONFIRMED");
    });
}

#[test]
fn turns_have_a_thread_of_their_own_and_effects_run_elsewhere() {
    let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = Seen::default();
    let channels = Arc::new(Watcher { seen: Arc::clone(&seen), is_silent: false });
    let clock = Arc::new(TestClock::default());
    let settings = (Limits::default(), Seed::from(1));
    let (host, handle) = Host::new(Memory::default(), Arc::new(rules()), channels, clock, settings);
    let host = host.with_effects_on(elsewhere.handle().clone());
    let turns = std::thread::spawn(move || {
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        own.block_on(host.run())
    });
    let turns_on = turns.thread().id();
    elsewhere.block_on(async {
        handle.ask(open_merchant("m1")).await.unwrap().unwrap();
        handle.ask(fund("m1")).await.unwrap().unwrap();
        for number in 0..20 {
            handle.ask(create("m1", number)).await.unwrap().unwrap();
        }
        handle.advance(1).await.unwrap();
    });
    handle.stop();
    let mut books = turns.join().unwrap();
    let flows = elsewhere.block_on(books.flows(None, 100)).unwrap();
    assert!(flows.iter().all(|flow| flow.state.status() == "SUCCESS"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 20);
    let here = std::thread::current().id();
    assert!(seen.iter().all(|(_, thread)| *thread == here && *thread != turns_on));
}
