//! Books that fail, once armed, whenever a certain merchant is involved; and a channel that does as it is told.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bursar_core::commit::Commit;
use bursar_core::effect::{Call, Effect};
use bursar_core::ids::CommitId;
use bursar_core::payout::{Answer, Event, Outcome};
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_engine::Channels;
use bursar_store::{Store, StoreError, Turn};
use tokio::time::Instant;

/// The merchant that makes turns fail.
pub(crate) const BAD: &str = "bad";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    /// Whatever reads one of the merchant's accounts panics.
    Loading,
    /// Whatever saves a step of one of the merchant's flows panics, but not what gives it up.
    Saving,
    /// The same, and what gives it up panics as well.
    GivingUp,
    /// The same, and other writers seem to have been faster every time.
    Conflicting,
    /// Whatever saves a step of one of the merchant's flows panics once it is saved.
    BehindTheCommit,
    /// Even what only sets a flow aside panics.
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
            let is_step = flow.parked.is_none();
            let is_bad = match self.fails {
                Some(Fails::Everything) => true,
                Some(Fails::Saving) => is_step && !is_over,
                Some(_) | None => is_step,
            };
            flow.merchant == BAD && is_bad
        });
        match self.fails.filter(|_| fails) {
            Some(Fails::Saving | Fails::GivingUp | Fails::Everything) => {
                panic!("this save is poisoned")
            }
            Some(Fails::Conflicting) => Err(StoreError::Conflict),
            Some(Fails::BehindTheCommit) => {
                self.turn.save(id, commit).await?;
                panic!("this save is poisoned behind the commit")
            }
            Some(Fails::Loading) | None => self.turn.save(id, commit).await,
        }
    }
}

/// A channel that answers at once, by a function of what it is asked.
pub(crate) struct Says<F>(pub(crate) F);

impl<F: Fn(&Effect) -> Said + Send + Sync + 'static> Channels for Says<F> {
    fn run(&self, effect: Effect, _: Instant) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        let said = (self.0)(&effect);
        let Effect { attempt, lease_until, .. } = effect;
        let event = match (effect.call, said) {
            (Call::Submit { r#try, .. }, Said::Outcome(outcome)) => {
                Event::Submitted { attempt, r#try, outcome }
            }
            (Call::Query, Said::Answer(answer)) => Event::Queried { attempt, lease_until, answer },
            (call, said) => panic!("{said:?} is no answer to {call:?}"),
        };
        Box::pin(std::future::ready(event))
    }
}

#[derive(Debug)]
pub(crate) enum Said {
    Outcome(Outcome),
    Answer(Answer),
}

/// Everything is paid at once.
pub(crate) fn pays(effect: &Effect) -> Said {
    match effect.call {
        Call::Submit { .. } => Said::Outcome(Outcome::Paid { provider_reference: None }),
        Call::Query => Said::Answer(Answer::Paid { provider_reference: None }),
    }
}
