//! Several engines on one database deliver to one flaky endpoint: their writes of its health record conflict.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bursar_core::flow::Effect;
use bursar_core::ids::CommitId;
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use bursar_core::webhooks::delivery::WebhookCall;
use bursar_engine::{Limits, SystemClock};
use bursar_store::{Postgres, Store, StoreError, Turn};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::failing::assert_sound;
use crate::webhooks::{
    Endpoints, add_endpoint, endpoint_id, merchant_with_events, rules_without_jitter, set_up,
    start, statuses,
};

/// A store that reports a write conflict several times in a row before it saves a record.
struct Contended {
    books: Postgres,
    /// How many conflicts it has reported since the last save.
    conflicts: Arc<AtomicU32>,
    pauses: Arc<Mutex<Vec<Duration>>>,
}

struct ContendedTurn<'s>(<Postgres as Store>::Turn<'s>, Arc<AtomicU32>);

/// Real conflicts between the engines come on top of these.
const CONFLICTS: u32 = 6;

impl Store for Contended {
    type Turn<'s> = ContendedTurn<'s>;

    async fn begin(&mut self) -> Result<ContendedTurn<'_>, StoreError> {
        Ok(ContendedTurn(self.books.begin().await?, Arc::clone(&self.conflicts)))
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        self.books.has_commit(id).await
    }

    async fn back_off(&mut self, pause: Duration) {
        self.pauses.lock().unwrap().push(pause);
        self.books.back_off(pause).await;
    }
}

impl Turn for ContendedTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        self.0.load(plan).await
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let Self(turn, conflicts) = self;
        if !commit.records.is_empty() && conflicts.fetch_add(1, Ordering::SeqCst) < CONFLICTS {
            return Err(StoreError::Conflict);
        }
        turn.save(id, commit).await?;
        conflicts.store(0, Ordering::SeqCst);
        Ok(())
    }
}

/// The first attempt of every other event fails, so that the endpoint's health record changes again and again.
fn flaky(effect: &Effect, _: &WebhookCall) -> u16 {
    let is_other = effect.flow.uuid().as_bytes()[15].is_multiple_of(2);
    if effect.attempt == 1 && is_other { 503 } else { 200 }
}

#[test]
fn engines_that_tell_one_flaky_endpoint_make_progress() {
    const EVENTS: u32 = 60;
    let cluster = Cluster::start();
    // Real time: the test waits for the database and the endpoint only.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut rules = rules_without_jitter();
        rules.deliveries.pauses = vec![SignedDuration::ZERO; 20];
        let open = async || Postgres::open(&cluster.url()).await.unwrap();
        let endpoints = vec![add_endpoint("m1", endpoint_id(1), 8, None)];
        set_up(&mut open().await, &rules, merchant_with_events("m1", endpoints, EVENTS)).await;
        let (receiver, pauses) = (Endpoints::new(Duration::ZERO, flaky), Arc::default());
        let mut engines = Vec::new();
        for seed in 1..=3 {
            let (books, conflicts) = (open().await, Arc::default());
            let store = Contended { books, conflicts, pauses: Arc::clone(&pauses) };
            let clock = Arc::new(SystemClock::default());
            engines.push(start(store, &rules, &receiver, clock, (Limits::default(), seed)));
        }
        let mut books = open().await;
        for _ in 0..600 {
            let found = statuses(&mut books).await;
            if found.keys().all(|(_, status)| *status == "DELIVERED") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for (running, handle) in engines {
            handle.stop();
            running.await.unwrap();
            let stats = handle.stats();
            assert_eq!((stats.conflicts, stats.dropped_outcomes), (0, 0), "no turn was given up");
        }
        let expected = [(("m1".to_owned(), "DELIVERED"), EVENTS)];
        assert_eq!(statuses(&mut books).await, expected.into());
        let pauses = pauses.lock().unwrap().clone();
        assert!(pauses.iter().any(|pause| *pause > Duration::ZERO), "no engine backed off");
        assert!(pauses.iter().all(|pause| *pause < Duration::from_millis(32)), "{pauses:?}");
        assert_sound(&mut books).await;
    });
}
