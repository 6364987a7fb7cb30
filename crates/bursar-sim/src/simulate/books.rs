//! The real stores, as processes of this world share them: one SQLite file for one process, or the memory store for
//! several at once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bursar_core::ids::{CommitId, FlowId};
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use bursar_store::{Memory, Sqlite, SqliteTurn, Store, StoreError, Turn};

use super::injected_bugs::InjectedBug;

/// Worlds are short: with the usual number, nothing would be filed under its account before they end.
const INDEX_SLICE: usize = 8;

/// The result of a future that never waits.
pub(crate) fn poll_once<T>(
    future: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Unavailable("the store waits for something".to_owned())),
    }
}

/// Where the books are.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Memory(Rc<RefCell<Held>>),
    Directory(Rc<Scratch>),
}

/// The memory store, and the flows that running turns have locked.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) memory: Memory,
    locked: BTreeSet<FlowId>,
}

/// A directory that is gone when the world is.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// In memory if the system has such a place: a simulated disk is not there to be waited for.
    pub(crate) fn new(seed: u64) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let fast = Path::new("/dev/shm");
        let base = if fast.is_dir() { fast.to_owned() } else { std::env::temp_dir() };
        Self(base.join(format!("bursar-sim-{}-{number}-{seed}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[derive(Debug)]
pub(crate) enum Books {
    /// And whether locks are ignored, which is an injected bug.
    Shared(Rc<RefCell<Held>>, bool),
    File(Box<Sqlite>),
}

impl Location {
    pub(crate) fn open(&self, bug: Option<InjectedBug>) -> Result<Books, StoreError> {
        let forgets = bug == Some(InjectedBug::StoreForgetsVersions);
        match self {
            Self::Memory(held) => Ok(Books::Shared(Rc::clone(held), forgets)),
            Self::Directory(scratch) => {
                let books = Sqlite::open(&scratch.0)?.with_index_slice(INDEX_SLICE);
                Ok(Books::File(Box::new(books)))
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum BooksTurn<'s> {
    Shared(SharedTurn),
    File(SqliteTurn<'s>),
}

/// A turn on books that others use too: as in PostgreSQL, the flows that it may step are its own until it ends, and
/// everything else is checked when it is saved.
#[derive(Debug)]
pub(crate) struct SharedTurn {
    held: Rc<RefCell<Held>>,
    own: BTreeSet<FlowId>,
    forgets: bool,
}

impl Store for Books {
    type Turn<'s> = BooksTurn<'s>;

    async fn begin(&mut self) -> Result<BooksTurn<'_>, StoreError> {
        match self {
            Self::Shared(held, forgets) => Ok(BooksTurn::Shared(SharedTurn {
                held: Rc::clone(held),
                own: BTreeSet::new(),
                forgets: *forgets,
            })),
            Self::File(sqlite) => Ok(BooksTurn::File(sqlite.begin().await?)),
        }
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        match self {
            Self::Shared(held, _) => poll_once(held.borrow_mut().memory.has_commit(id)),
            Self::File(sqlite) => sqlite.has_commit(id).await,
        }
    }
}

impl Turn for BooksTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        match self {
            Self::Shared(turn) => turn.load(plan),
            Self::File(turn) => turn.load(plan).await,
        }
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        match self {
            Self::Shared(turn) => turn.save(id, commit),
            Self::File(turn) => turn.save(id, commit).await,
        }
    }
}

impl SharedTurn {
    fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        let mut held = self.held.borrow_mut();
        let held = &mut *held;
        let mut found = poll_once(async { held.memory.begin().await?.load(plan).await })?;
        let forgets = self.forgets;
        let is_taken = |id: &FlowId| !forgets && held.locked.contains(id) && !self.own.contains(id);
        let is_named = |flow: &bursar_core::flow::Flow| {
            let speaks = |(speaker, name): (std::borrow::Cow<'_, str>, &str)| {
                plan.attempts.contains(&(speaker.into_owned(), name.to_owned()))
            };
            plan.flows.contains(&flow.id) || flow.references().any(speaks)
        };
        if found.flows.iter().any(|flow| is_taken(&flow.id) && is_named(flow)) {
            return Err(StoreError::Conflict);
        }
        // A claim skips flows that other turns have locked.
        found.flows.retain(|flow| !is_taken(&flow.id));
        self.own.extend(found.flows.iter().map(|flow| flow.id));
        held.locked.extend(found.flows.iter().map(|flow| flow.id));
        Ok(found)
    }

    fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let mut held = self.held.borrow_mut();
        let held = &mut *held;
        let forgets = self.forgets;
        let is_taken = |id: &FlowId| !forgets && held.locked.contains(id) && !self.own.contains(id);
        if commit.flows.iter().any(|write| is_taken(&write.after.id)) {
            return Err(StoreError::Conflict);
        }
        // Commit times never go back.
        let last =
            poll_once(async { held.memory.begin().await?.load(&ReadPlan::default()).await })?;
        let time = commit.time.max(last.time.filter(|_| commit.time.is_some()));
        let mut dated = Commit { time, ..commit.clone() };
        for transaction in &mut dated.transactions {
            transaction.inserted_at = time.unwrap_or(transaction.inserted_at);
        }
        poll_once(async { held.memory.begin().await?.save(id, &dated).await })
    }
}

impl Drop for SharedTurn {
    fn drop(&mut self) {
        let mut held = self.held.borrow_mut();
        held.locked.retain(|id| !self.own.contains(id));
    }
}
