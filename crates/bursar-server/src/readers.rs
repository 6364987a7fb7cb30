//! Read connections beside the engine: a small pool, used on blocking threads.

use std::sync::{Arc, Mutex, PoisonError};

use bursar_store::{AnyStore, Location, Query as _, StoreError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::problem::Problem;
use crate::waiting::within;

/// Concurrent reads.
const READERS: usize = 8;
/// Concurrent reports, which read many rows.
const REPORTS: usize = 2;

#[derive(Debug)]
pub(crate) struct Readers {
    location: Location,
    idle: Arc<Mutex<Vec<AnyStore>>>,
    reads: Arc<Semaphore>,
    reports: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(location: Location) -> Self {
        Self {
            location,
            idle: Arc::default(),
            reads: Arc::new(Semaphore::new(READERS)),
            reports: Arc::new(Semaphore::new(REPORTS)),
        }
    }

    /// A short read on a pooled connection.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl AsyncFnOnce(&mut AnyStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        within(self.read_now(read)).await.unwrap_or_else(|| Err(late()))
    }

    async fn read_now<T: Send + 'static>(
        &self,
        read: impl AsyncFnOnce(&mut AnyStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::clone(&self.reads).acquire_owned().await;
        let (idle, location) = (Arc::clone(&self.idle), self.location.clone());
        let lock =
            |idle: &Mutex<Vec<AnyStore>>| idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let known = lock(&idle);
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            runtime.block_on(async {
                let mut store = match known {
                    Some(store) => store,
                    None => location.bounded_reader().await?,
                };
                let found = read(&mut store).await?;
                // A connection that has failed is dropped, and one that a writer needs.
                if store.is_needed_by_writers() {
                    idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    return Ok(found);
                }
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
                Ok(found)
            })
        });
        finished(done.await)
    }

    /// A long read on its own connection, in one snapshot.
    pub(crate) async fn report<T: Send + 'static>(
        &self,
        read: impl AsyncFnOnce(&mut AnyStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = within(Arc::clone(&self.reports).acquire_owned()).await.ok_or_else(late)?;
        let location = self.location.clone();
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            runtime.block_on(async {
                let mut store = location.bounded_reader().await?;
                store.read_at_one_moment().await?;
                read(&mut store).await
            })
        });
        finished(done.await)
    }
}

/// The time of the request was over first.
fn late() -> Problem {
    Problem::from(&StoreError::Unavailable("the books were not read in time".to_owned()))
}

fn finished<T>(done: Result<Result<T, StoreError>, tokio::task::JoinError>) -> Result<T, Problem> {
    match done {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(Problem::from(&error)),
        Err(_) => {
            Err(Problem::internal("reading failed: nothing was changed. Try again, and report it"))
        }
    }
}
