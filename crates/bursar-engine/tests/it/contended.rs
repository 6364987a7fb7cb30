//! Several engines on one database, and one endpoint that fails every other time: what they write about it collides.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bursar_core::commit::Commit;
use bursar_core::delivery::Parcel;
use bursar_core::ids::CommitId;
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_engine::{Limits, SystemClock};
use bursar_store::{Postgres, Store, StoreError, Turn};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::failing::assert_sound;
use crate::mail::{Brings, add, calm, endpoint_id, set_up, start, statuses, told};

/// Books in which others are always faster, so many times in a row.
struct Slow {
    books: Postgres,
    /// How often what is to be saved now has come too late.
    lost: Arc<AtomicU32>,
    pauses: Arc<Mutex<Vec<Duration>>>,
}

struct SlowTurn<'s>(<Postgres as Store>::Turn<'s>, Arc<AtomicU32>);

/// Whatever else collides comes on top of it.
const LOST: u32 = 6;

impl Store for Slow {
    type Turn<'s> = SlowTurn<'s>;

    async fn begin(&mut self) -> Result<SlowTurn<'_>, StoreError> {
        Ok(SlowTurn(self.books.begin().await?, Arc::clone(&self.lost)))
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        self.books.has_commit(id).await
    }

    async fn stand_back(&mut self, pause: Duration) {
        self.pauses.lock().unwrap().push(pause);
        self.books.stand_back(pause).await;
    }
}

impl Turn for SlowTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        self.0.load(plan).await
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let Self(turn, lost) = self;
        if !commit.records.is_empty() && lost.fetch_add(1, Ordering::SeqCst) < LOST {
            return Err(StoreError::Conflict);
        }
        turn.save(id, commit).await?;
        lost.store(0, Ordering::SeqCst);
        Ok(())
    }
}

/// Every other event fails at first, so that how the endpoint does is written again and again.
fn says(parcel: &Parcel) -> u16 {
    let is_other = parcel.flow.uuid().as_bytes()[15].is_multiple_of(2);
    if parcel.attempt == 1 && is_other { 503 } else { 200 }
}

#[test]
fn engines_that_tell_one_flaky_endpoint_make_progress() {
    const EVENTS: u32 = 60;
    let cluster = Cluster::start();
    // Nothing is waited for but the database and whoever answers.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut rules = calm();
        rules.deliveries.pauses = vec![SignedDuration::ZERO; 20];
        let open = async || Postgres::open(&cluster.url()).await.unwrap();
        let endpoints = vec![add("m1", endpoint_id(1), 8, None)];
        set_up(&mut open().await, &rules, told("m1", endpoints, EVENTS)).await;
        let (courier, pauses) = (Brings::new(Duration::ZERO, says), Arc::default());
        let mut engines = Vec::new();
        for life in 1..=3 {
            let (books, lost) = (open().await, Arc::default());
            let store = Slow { books, lost, pauses: Arc::clone(&pauses) };
            let clock = Arc::new(SystemClock::default());
            engines.push(start(store, &rules, &courier, clock, (Limits::default(), life)));
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
            assert_eq!((stats.conflicts, stats.dropped_reports), (0, 0), "nobody gave up");
        }
        let expected = [(("m1".to_owned(), "DELIVERED"), EVENTS)];
        assert_eq!(statuses(&mut books).await, expected.into());
        let pauses = pauses.lock().unwrap().clone();
        assert!(pauses.iter().any(|pause| *pause > Duration::ZERO), "nobody stood back");
        assert!(pauses.iter().all(|pause| *pause < Duration::from_millis(32)), "{pauses:?}");
        assert_sound(&mut books).await;
    });
}
