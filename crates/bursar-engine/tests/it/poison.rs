//! A store that fails, once armed, in every turn that involves a certain merchant.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bursar_core::ids::CommitId;
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use bursar_store::{Store, StoreError, Turn};

/// The merchant that makes turns fail.
pub(crate) const BAD: &str = "bad";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    /// A load of one of the merchant's accounts panics.
    Loading,
    /// A save with a step of one of the merchant's flows panics, unless the step dead-letters it.
    Saving,
    /// A save with any step of one of the merchant's flows panics, the dead-lettering too.
    DeadLettering,
    /// A save with a step of one of the merchant's flows returns a write conflict.
    Conflicting,
    /// A save with a step of one of the merchant's flows panics after its commit.
    AfterTheCommit,
    /// A save with one of the merchant's flows panics, even if it only quarantines the flow.
    Everything,
}

#[derive(Debug)]
pub(crate) struct Poison<S> {
    pub(crate) books: S,
    pub(crate) fails: Fails,
    pub(crate) is_armed: Arc<AtomicBool>,
}

pub(crate) struct PoisonTurn<T> {
    turn: T,
    fails: Option<Fails>,
}

impl<S> Poison<S> {
    pub(crate) fn new(books: S, fails: Fails) -> Self {
        Self { books, fails, is_armed: Arc::default() }
    }
}

impl<S: Store> Store for Poison<S> {
    type Turn<'s>
        = PoisonTurn<S::Turn<'s>>
    where
        S: 's;

    async fn begin(&mut self) -> Result<PoisonTurn<S::Turn<'_>>, StoreError> {
        let fails = self.is_armed.load(Ordering::SeqCst).then_some(self.fails);
        Ok(PoisonTurn { turn: self.books.begin().await?, fails })
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        self.books.has_commit(id).await
    }
}

impl<T: Turn> Turn for PoisonTurn<T> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        let is_bad = plan.accounts.iter().any(|(address, _)| address.contains(BAD));
        assert!(!(is_bad && self.fails == Some(Fails::Loading)), "this load is poisoned");
        self.turn.load(plan).await
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let mut flows = commit.flows.iter().map(|write| &write.after);
        let fails = flows.any(|flow| {
            let is_over = flow.state.delivery().is_some_and(|delivery| delivery.state.is_over());
            let is_step = flow.backoff.is_none();
            let is_bad = match self.fails {
                Some(Fails::Everything) => true,
                Some(Fails::Saving) => is_step && !is_over,
                Some(_) | None => is_step,
            };
            flow.merchant == BAD && is_bad
        });
        match self.fails.filter(|_| fails) {
            Some(Fails::Saving | Fails::DeadLettering | Fails::Everything) => {
                panic!("this save is poisoned")
            }
            Some(Fails::Conflicting) => Err(StoreError::Conflict),
            Some(Fails::AfterTheCommit) => {
                self.turn.save(id, commit).await?;
                panic!("this save is poisoned after the commit")
            }
            Some(Fails::Loading) | None => self.turn.save(id, commit).await,
        }
    }
}
