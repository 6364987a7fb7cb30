//! The requests of the approval domain. A proposal and an approval carry the request that they are about, so that its records
//! are planned and read with it.

use super::state::View;
use crate::flow::Planners;
use crate::four_eyes::Signature;
use crate::idempotency::Key;
use crate::ids::ApprovalId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_note};
use crate::turn::{self, Body, Decide, Draft, Given, ReadSet, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    Propose(Box<Propose>),
    Approve(Box<Approve>),
    Turndown(Box<Turndown>),
}

/// Propose a request that one person may not do alone.
#[derive(Debug, Clone)]
pub struct Propose {
    /// The same proposal under the same key is one proposal.
    pub key: Key,
    pub body: Box<Body>,
    pub by: Signature,
    pub reason: String,
    /// An admin does it now, and the approval is given afterwards.
    pub break_glass: bool,
}

/// Approve a proposal.
#[derive(Debug, Clone)]
pub struct Approve {
    pub id: ApprovalId,
    pub expected_version: Option<u64>,
    pub by: Signature,
    pub note: String,
    /// The request of the proposal, as it is stored.
    pub body: Box<Body>,
}

/// Reject a proposal, or withdraw one's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turndown {
    pub id: ApprovalId,
    pub expected_version: Option<u64>,
    pub by: Signature,
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Proposed(Given<View>),
    Decided(Decided),
}

/// An approval after a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub view: Box<View>,
    /// What the request was answered with, if it was carried out.
    pub reply: Option<Box<turn::Reply>>,
}

asks! {
    Approvals {
        Propose => Proposed(Given<View>),
        Approve => Decided(Decided),
        Turndown => Decided(Decided),
    }
}

#[derive(Debug)]
pub(crate) enum Ready<'r> {
    Propose(&'r Propose, Box<turn::Ready<'r>>),
    /// The request, or why it is impossible now.
    Approve(&'r Approve, Box<Result<turn::Ready<'r>, Rejection>>),
    Turndown(&'r Turndown),
}

impl Request {
    pub(crate) fn admit<'r>(
        &'r self,
        rules: &'r Rules,
        at: &Admission,
    ) -> Result<Ready<'r>, Rejection> {
        let check = |by: &Signature, note: &str| {
            check_actor(&by.actor)?;
            check_note(note)
        };
        match self {
            Self::Propose(it) => {
                check(&it.by, &it.reason)?;
                it.key.check()?;
                let inner = turn::Ready::new(&it.body, rules, at)?;
                Ok(Ready::Propose(it, Box::new(inner)))
            }
            Self::Approve(it) => {
                check(&it.by, &it.note)?;
                let inner = turn::Ready::new(&it.body, rules, at);
                Ok(Ready::Approve(it, Box::new(inner)))
            }
            Self::Turndown(it) => {
                check(&it.by, &it.note)?;
                Ok(Ready::Turndown(it))
            }
        }
    }
}

impl<'r> Ready<'r> {
    /// The request that is proposed or approved.
    fn inner(&self) -> Option<&turn::Ready<'r>> {
        match self {
            Self::Propose(_, inner) => Some(inner),
            Self::Approve(_, inner) => (**inner).as_ref().ok(),
            Self::Turndown(_) => None,
        }
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, at: &Admission, planners: &mut Planners<'p>, reads: &mut Reads<'_>) {
        if let Some(inner) = self.inner() {
            inner.plan(at, planners, reads);
        }
        match self {
            Self::Propose(it, _) => drop(reads.plan.keys.insert(it.key.digest())),
            Self::Approve(it, _) => drop(reads.plan.flows.insert(it.id.into())),
            Self::Turndown(it) => drop(reads.plan.flows.insert(it.id.into())),
        }
    }

    fn plan_second(&self, first: &ReadSet, reads: &mut Reads<'_>) {
        if let Some(inner) = self.inner() {
            inner.plan_second(first, reads);
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match self {
            Self::Propose(it, inner) => it.apply(inner, draft, at).map(Reply::Proposed),
            Self::Approve(it, inner) => {
                let inner = (**inner).as_ref().map_err(Clone::clone);
                it.apply(inner, draft, at).map(Reply::Decided)
            }
            Self::Turndown(it) => it.apply(draft, at).map(Reply::Decided),
        }
    }
}
