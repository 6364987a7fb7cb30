//! A store that fails as stores do, around a real one. What the real one has saved is recorded for the auditor at the
//! same moment, even if the caller gets an error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bursar_core::ids::CommitId;
use bursar_core::turn::{Commit, FlowWrite, ReadPlan, ReadSet};
use bursar_store::{Store, StoreError, Turn};

use super::dice::Dice;
use super::fault::Fault;
use super::injected_bugs::{self, InjectedBug};

/// A point of a turn at which it can pause, or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    BeforeLoad,
    BeforeSave,
    AfterSave,
}

/// What the world must know about a store of one process.
#[derive(Debug)]
pub(crate) enum Saw {
    Struck(Fault),
    Saved(Box<Commit>),
    /// About to be saved. Only hosts with an injected bug act on it.
    Decided(Box<Commit>),
}

/// State that the world shares with the store of a process.
#[derive(Debug)]
pub(crate) struct Side {
    dice: BTreeMap<Fault, (u32, Dice)>,
    pub(crate) bug: Option<InjectedBug>,
    pub(crate) bug_dice: Dice,
    /// Where the running turn must pause.
    pub(crate) stops: Vec<Point>,
    /// Where it pauses.
    pub(crate) stands: Option<Point>,
    pub(crate) saw: Vec<Saw>,
}

impl Side {
    pub(crate) fn new(
        strengths: &BTreeMap<Fault, u32>,
        (seed, process): (u64, usize),
        bug: Option<InjectedBug>,
    ) -> Self {
        let dice = |(fault, strength): (&Fault, &u32)| {
            let purpose = format!("store {process} {}", fault.dice());
            (*fault, (*strength, Dice::new(seed, &purpose)))
        };
        Self {
            dice: strengths.iter().map(dice).collect(),
            bug,
            bug_dice: Dice::new(seed, &format!("plant {process}")),
            stops: Vec::new(),
            stands: None,
            saw: Vec::new(),
        }
    }

    /// From here on nothing fails.
    pub(crate) fn calm(&mut self) {
        self.dice.clear();
        self.stops.clear();
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        let Some((strength, dice)) = self.dice.get_mut(&fault) else { return false };
        let strikes = dice.chance(*strength);
        if strikes {
            self.saw.push(Saw::Struck(fault));
        }
        strikes
    }
}

#[derive(Debug)]
pub(crate) struct Faulty<S> {
    pub(crate) inner: S,
    side: Rc<RefCell<Side>>,
    /// On its way: it is saved before anything else is read, if nothing has changed.
    late: Option<(CommitId, Commit)>,
}

#[derive(Debug)]
pub(crate) struct FaultyTurn<'s, T> {
    inner: T,
    side: Rc<RefCell<Side>>,
    late: &'s mut Option<(CommitId, Commit)>,
}

impl<S> Faulty<S> {
    pub(crate) fn new(inner: S, side: Rc<RefCell<Side>>) -> Self {
        Self { inner, side, late: None }
    }
}

impl<S: Store> Store for Faulty<S> {
    type Turn<'s>
        = FaultyTurn<'s, S::Turn<'s>>
    where
        S: 's;

    async fn begin(&mut self) -> Result<Self::Turn<'_>, StoreError> {
        stand(&self.side, Point::BeforeLoad).await;
        if self.side.borrow_mut().strikes(Fault::StoreUnavailable) {
            return Err(StoreError::Unavailable("no answer".to_owned()));
        }
        if let Some((id, commit)) = self.late.take()
            && arrive_late(self.inner.begin().await?, id, &commit).await?
        {
            self.side.borrow_mut().saw.push(Saw::Saved(Box::new(commit)));
        }
        let inner = self.inner.begin().await?;
        Ok(FaultyTurn { inner, side: Rc::clone(&self.side), late: &mut self.late })
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        if self.side.borrow_mut().strikes(Fault::LookupFails) {
            return Err(StoreError::Unavailable("no answer".to_owned()));
        }
        self.inner.has_commit(id).await
    }
}

impl<T: Turn> Turn for FaultyTurn<'_, T> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        self.inner.load(plan).await
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let Self { inner, side, late } = self;
        if side.borrow().bug.is_some_and(InjectedBug::is_hasty) {
            side.borrow_mut().saw.push(Saw::Decided(Box::new(commit.clone())));
        }
        stand(&side, Point::BeforeSave).await;
        let strikes = |fault| side.borrow_mut().strikes(fault);
        if strikes(Fault::StoreConflict) {
            return Err(StoreError::Conflict);
        }
        let unknown = || StoreError::Unknown("the connection was lost".to_owned());
        if strikes(Fault::CommitUnknownLost) {
            return Err(unknown());
        }
        if strikes(Fault::CommitUnknownLate) {
            *late = Some((id, commit.clone()));
            return Err(unknown());
        }
        let is_lost_from_sight = strikes(Fault::CommitUnknownSaved);
        injected_bugs::save(inner, id, commit, &side, is_lost_from_sight).await?;
        stand(&side, Point::AfterSave).await;
        if is_lost_from_sight { Err(unknown()) } else { Ok(()) }
    }
}

/// Saves what was on its way, unless another turn has changed its flows: it would have held them until now.
async fn arrive_late<T: Turn>(
    mut turn: T,
    id: CommitId,
    commit: &Commit,
) -> Result<bool, StoreError> {
    let flows = commit.flows.iter().map(|write| write.after.id).collect();
    let found = turn.load(&ReadPlan { flows, ..ReadPlan::default() }).await?;
    let is_same = |write: &FlowWrite| {
        let known = found.flows.iter().find(|flow| flow.id == write.after.id);
        known == write.before.as_ref()
    };
    Ok(commit.flows.iter().all(is_same) && turn.save(id, commit).await.is_ok())
}

/// Pauses here if the world wants it, until it is polled again.
fn stand(side: &Rc<RefCell<Side>>, point: Point) -> Stand {
    let mut known = side.borrow_mut();
    let stands = known.stops.contains(&point);
    known.stops.retain(|stop| *stop != point);
    Stand { side: Rc::clone(side), point: stands.then_some(point) }
}

struct Stand {
    side: Rc<RefCell<Side>>,
    point: Option<Point>,
}

impl Future for Stand {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let point = self.point.take();
        self.side.borrow_mut().stands = point;
        if point.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}
