//! The inputs and outputs of the engine.

use bursar_core::flow::{Effect, Outcome};
use bursar_core::turn::{Answer, Body, Commit, Request};
use bursar_store::StoreError;

/// Identifies a caller that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug)]
pub enum Input {
    Asked {
        ticket: Ticket,
        body: Body,
    },
    /// The turn was saved.
    Saved(Box<Commit>),
    /// The turn was not saved, or that is unknown.
    NotSaved(StoreError),
    /// A request of the turn makes it fail: the engine bisects it.
    Failed(Failed),
    EffectDone(EffectDone),
    /// Only time has passed.
    TimePassed,
    /// The test clock was advanced: claim at once.
    TimeJumped,
    /// Accept nothing new, and drain.
    Stop,
}

/// A turn that failed, and why. Its requests come back, because they are run again.
#[derive(Debug)]
pub struct Failed {
    pub requests: Vec<Request>,
    pub cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A bug: an invariant did not hold. Nothing was saved.
    Panicked,
    /// Other writers were faster, again and again.
    Conflict,
}

/// An effect that was run, or lost.
#[derive(Debug)]
pub struct EffectDone {
    pub effect: Effect,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Output {
    /// Decide these requests in one turn, and save the commit.
    Turn(Vec<Request>),
    Answer(Ticket, Result<Answer, Unanswered>),
    /// Saved: now run it.
    Run(Effect),
}

/// Why a caller got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    #[error("too much waits already: nothing was done. Try again in a moment")]
    Busy,
    #[error("Bursar is stopping: nothing was done. Try again when it is back")]
    Stopping,
    #[error("{0}")]
    NotSaved(String),
    #[error(
        "this request made Bursar fail: nothing was done. Asking again with the same key is safe; if it fails again, report it to the operator of Bursar"
    )]
    Failed,
}
