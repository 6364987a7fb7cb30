//! Everything that may enter, and the batch that one turn decides.

use crate::ids::{CommitId, Seed, TransactionId};
use crate::ledger::{Admission, Event, Posted, REVERT, Revert};
use crate::rejection::Rejection;
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
}

/// What a request is answered with.
pub type Answer = Result<Posted, Rejection>;

/// Requests that are decided together. Where batches are cut changes no answer.
#[derive(Debug)]
pub struct Batch<'r> {
    rulebook: &'r Rulebook,
    requests: Vec<Admitted<'r>>,
}

/// A request whose accounts are known, or one that is refused whatever the records say.
#[derive(Debug)]
pub(crate) enum Admitted<'r> {
    Post(Box<Bound<'r>>, Admission),
    Revert(Revert, Admission),
    Refused(Rejection),
}

impl<'r> Batch<'r> {
    pub fn new(rulebook: &'r Rulebook, requests: &[Request]) -> Self {
        let requests = requests.iter().map(|request| Admitted::new(rulebook, request)).collect();
        Self { rulebook, requests }
    }

    /// Names the turn that decides exactly these requests, so that a commit of unknown outcome can be looked up. None if
    /// every request is refused without a look at the records.
    pub fn commit_id(&self) -> Option<CommitId> {
        let admissions = || {
            self.requests.iter().filter_map(|request| match request {
                Admitted::Post(_, admission) | Admitted::Revert(_, admission) => Some(admission),
                Admitted::Refused(_) => None,
            })
        };
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
            Admitted::Post(..) | Admitted::Refused(_) => None,
        })
    }
}

impl<'r> Admitted<'r> {
    fn new(rulebook: &'r Rulebook, request: &Request) -> Self {
        let Body::Post(event) = &request.body;
        let admitted = if event.name == REVERT {
            Revert::from_event(event).map(|revert| Self::Revert(revert, request.admission))
        } else {
            let bound = rulebook
                .rule(&event.name)
                .and_then(|rule| rule.bind(&event.reference, &event.variables, event.effective_at));
            bound.map(|bound| Self::Post(Box::new(bound), request.admission))
        };
        admitted.unwrap_or_else(Self::Refused)
    }
}
