//! Everything that may enter, and the batch that one turn decides.

use crate::idempotency::{FlowReply, Key};
use crate::ids::{CommitId, ReservationId, Seed, TransactionId};
use crate::ledger::{Admission, Event, Posted, REVERT, Revert};
use crate::rejection::Rejection;
use crate::reservation::{Booking, Decision, NewReservation, Terms};
use crate::rulebook::{Bound, Rulebook};

/// Something that Bursar is asked to do, with the time and the seed it was admitted with.
#[derive(Debug, Clone)]
pub struct Request {
    pub admission: Admission,
    pub body: Body,
}

#[derive(Debug, Clone)]
pub enum Body {
    /// Something happened that the ledger must know.
    Post(Event),
    /// Put a merchant's money aside.
    Reserve { key: Key, reservation: NewReservation },
    /// Settle or release what was put aside.
    Decide { key: Key, decision: Decision },
    /// Time has passed: flows may be due.
    Wake(Wake),
}

/// Which flows to wake, at most how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub lane: String,
    pub limit: u32,
}

/// What a request is answered with.
pub type Answer = Result<Reply, Rejection>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Posted(Posted),
    Flow {
        reply: FlowReply,
        /// It had been answered before; nothing was done again.
        is_replay: bool,
    },
    Woken(Woken),
}

/// The flows whose time had come, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Woken {
    pub flows: Vec<String>,
    /// Still due: the ledger refused what they must book. Somebody must look at these.
    pub refused: Vec<(String, Rejection)>,
}

/// Requests that are decided together. Where batches are cut changes no answer.
#[derive(Debug)]
pub struct Batch<'r> {
    rulebook: &'r Rulebook,
    requests: Vec<Admitted<'r>>,
}

/// A request whose records are known, or one that is refused whatever they say.
#[derive(Debug)]
pub(crate) enum Admitted<'r> {
    Post(Box<Bound<'r>>, Admission),
    Revert(Revert, Admission),
    Reserve(Box<Reserve<'r>>, Admission),
    Decide(Box<Decide>, Admission),
    Wake(Wake, Admission),
    Refused(Rejection),
}

#[derive(Debug)]
pub(crate) struct Reserve<'r> {
    pub(crate) key: Key,
    pub(crate) id: ReservationId,
    pub(crate) terms: Terms,
    pub(crate) bound: Bound<'r>,
}

#[derive(Debug)]
pub(crate) struct Decide {
    pub(crate) key: Key,
    pub(crate) decision: Decision,
}

impl<'r> Batch<'r> {
    pub fn new(rulebook: &'r Rulebook, requests: &[Request]) -> Self {
        let admit =
            |request: &Request| Admitted::new(rulebook, request).unwrap_or_else(Admitted::Refused);
        Self { rulebook, requests: requests.iter().map(admit).collect() }
    }

    /// Names the turn that decides exactly these requests, so that a commit of unknown outcome can be looked up. None if
    /// every request is refused without a look at the records.
    pub fn commit_id(&self) -> Option<CommitId> {
        let admissions = || self.requests.iter().filter_map(Admitted::admission);
        let first = admissions().next()?;
        let seed = Seed::join(admissions().map(|admission| &admission.seed));
        Some(CommitId::new(first.now, &seed, 0))
    }

    pub(crate) fn rulebook(&self) -> &'r Rulebook {
        self.rulebook
    }

    pub(crate) fn requests(&self) -> &[Admitted<'r>] {
        &self.requests
    }

    /// The transactions that the batch asks to take back.
    pub(crate) fn reverted(&self) -> impl Iterator<Item = TransactionId> {
        self.requests.iter().filter_map(|request| match request {
            Admitted::Revert(revert, _) => Some(revert.id),
            Admitted::Post(..)
            | Admitted::Reserve(..)
            | Admitted::Decide(..)
            | Admitted::Wake(..)
            | Admitted::Refused(_) => None,
        })
    }
}

impl<'r> Admitted<'r> {
    fn new(rulebook: &'r Rulebook, request: &Request) -> Result<Self, Rejection> {
        let admission = request.admission;
        match &request.body {
            Body::Post(event) if event.name == REVERT => {
                Ok(Self::Revert(Revert::from_event(event)?, admission))
            }
            Body::Post(event) => {
                let rule = rulebook.rule(&event.name)?;
                let bound = rule.bind(&event.reference, &event.variables, event.effective_at)?;
                Ok(Self::Post(Box::new(bound), admission))
            }
            Body::Reserve { key, reservation } => {
                key.check()?;
                let terms = reservation.terms()?;
                let id = ReservationId::new(admission.now, &admission.seed, 0);
                let rule = rulebook.rule(Booking::Reserve.rule())?;
                let bound = rule.bind(&id.to_string(), &terms.funds.variables(rule), None)?;
                let reserve = Reserve { key: key.clone(), id, terms, bound };
                Ok(Self::Reserve(Box::new(reserve), admission))
            }
            Body::Decide { key, decision } => {
                key.check()?;
                decision.check()?;
                let decide = Decide { key: key.clone(), decision: decision.clone() };
                Ok(Self::Decide(Box::new(decide), admission))
            }
            Body::Wake(wake) => Ok(Self::Wake(wake.clone(), admission)),
        }
    }

    fn admission(&self) -> Option<&Admission> {
        match self {
            Self::Post(_, admission)
            | Self::Revert(_, admission)
            | Self::Reserve(_, admission)
            | Self::Decide(_, admission)
            | Self::Wake(_, admission) => Some(admission),
            Self::Refused(_) => None,
        }
    }
}
