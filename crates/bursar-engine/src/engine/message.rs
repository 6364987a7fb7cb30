//! What the engine is told, and what it wants done.

use bursar_core::commit::Commit;
use bursar_core::delivery::{self, Parcel};
use bursar_core::effect::Effect;
use bursar_core::ids::{EndpointId, FlowId};
use bursar_core::payout;
use bursar_core::request::{Answer, Body, Request};
use bursar_store::StoreError;

/// Who waits for an answer.
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
    /// The turn was not saved, or nobody knows.
    NotSaved(StoreError),
    /// Something in the turn makes it fail: it is taken apart.
    Failed(Failed),
    /// An effect has come back.
    Returned(Returned),
    /// A parcel was taken, or not.
    CameBack(CameBack),
    /// Nothing happened but time.
    TimePassed,
    /// Time was put forward: look at once.
    TimeJumped,
    /// Take nothing new, and come to rest.
    Stop,
}

/// A turn that failed, and why. Its requests come back, for they are run again.
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

/// What became of an effect.
#[derive(Debug)]
pub struct Returned {
    pub effect: Effect,
    pub event: payout::Event,
}

/// What became of a parcel.
#[derive(Debug)]
pub struct CameBack {
    pub flow: FlowId,
    pub endpoint: EndpointId,
    pub event: delivery::Event,
}

#[derive(Debug)]
pub enum Output {
    /// Decide these together and save what was decided.
    Turn(Vec<Request>),
    Answer(Ticket, Result<Answer, Unanswered>),
    /// Saved: now do it.
    Do(Effect),
    /// Saved: now bring it.
    Send(Box<Parcel>),
}

/// Why somebody got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    #[error("too much waits already: nothing was done. Try again in a moment")]
    Busy,
    #[error("Bursar is stopping: nothing was done. Try again when it is back")]
    Stopping,
    #[error("{0}")]
    NotSaved(String),
    #[error(
        "this request made Bursar fail: nothing was done. Asking again with the same key is safe; if it fails again, tell whoever runs Bursar"
    )]
    Failed,
}
