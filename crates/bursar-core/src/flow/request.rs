//! Requests of hosts for any kind of flow: claim due flows, report the outcome of an effect, quarantine a flow whose
//! turns fail.

use super::{Listed as _, Machine as _, Outcome, Planners, each};
use crate::dispatch::{Rest, is_group, plan_claim, plan_claim_second};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Decide, Draft, ReadSet, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    EffectOutcome(EffectOutcome),
    ClaimDue(ClaimDue),
    Quarantine(Quarantine),
}

/// The outcome of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectOutcome {
    pub flow: FlowId,
    pub outcome: Outcome,
}

/// Claims the due flows of a lane or of a group of queues, at most `limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDue {
    pub lane: String,
    pub limit: u32,
    /// How many the host has claimed in the group before: lower ranks get every few of them.
    pub served: u64,
}

impl ClaimDue {
    pub const fn new(lane: String, limit: u32) -> Self {
        Self { lane, limit, served: 0 }
    }
}

/// A turn that claims the first due flow of this lane fails: defer that flow without a step.
#[derive(Debug, Clone)]
pub struct Quarantine {
    pub lane: String,
    pub cause: FailureCause,
}

/// Whether the quarantined flow caused the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The flow makes turns fail. A delivery that does so repeatedly is dead-lettered.
    TurnFailed,
    /// A write conflict, or dead-lettering failed: the flow is only deferred.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Accepted(Accepted),
    Claimed(ClaimReply),
}

/// The request is accepted; `status` is the current status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub name: String,
    pub status: &'static str,
}

/// The claimed flows, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimReply {
    pub flows: Vec<String>,
    /// Flows whose step was rejected. They are deferred, and an operator must look at them.
    pub refused: Vec<(String, Rejection)>,
    /// Why no more can be claimed in the queues of the channel, if so.
    pub rest: Option<Rest>,
    /// Settings limit the channel: the number that may be sent at once counts over all processes.
    pub is_limited: bool,
    /// Deliveries that became dead letters because their turns kept failing.
    pub dead_lettered: Vec<String>,
}

asks! {
    Flows {
        EffectOutcome => Accepted(Accepted),
        ClaimDue => Claimed(ClaimReply),
        Quarantine => Claimed(ClaimReply),
    }
}

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    #[expect(clippy::unnecessary_wraps, reason = "every domain has the same shape")]
    pub(crate) fn admit(&self, _: &Rules, _: &Admission) -> Result<Ready<'_>, Rejection> {
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, at: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        match *self {
            Request::EffectOutcome(report) => {
                reads.plan.flows.insert(report.flow);
                // It may release money, which a restore may forbid.
                reads.plan.control |= matches!(report.outcome, Outcome::Payout(_));
            }
            Request::ClaimDue(claim) => {
                reads.plan.add_due_claim(claim, at.now);
                plan_claim(&claim.lane, reads);
            }
            Request::Quarantine(Quarantine { lane, .. }) => {
                reads.plan.add_claim(&ClaimDue::new(lane.clone(), 1), at.now);
                reads.plan.control |= is_group(lane);
            }
        }
    }

    fn plan_second(&self, first: &ReadSet, reads: &mut Reads<'_>) {
        match *self {
            Request::ClaimDue(claim) => plan_claim_second(&claim.lane, first, reads),
            Request::EffectOutcome(_) | Request::Quarantine(_) => {}
        }
    }

    fn is_quarantine(&self) -> bool {
        matches!(self, Request::Quarantine(_))
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match *self {
            Request::EffectOutcome(report) => report.apply(draft, at).map(Reply::Accepted),
            Request::ClaimDue(claim) => Ok(Reply::Claimed(draft.claim_due(claim, at))),
            Request::Quarantine(Quarantine { lane, cause }) => {
                let first = draft.due(&ClaimDue::new(lane.clone(), 1), at.now);
                Ok(Reply::Claimed(draft.quarantine(&first, *cause, at)))
            }
        }
    }
}

impl EffectOutcome {
    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Accepted, Rejection> {
        let id = self.flow;
        let Some(flow) = draft.shared(id) else {
            return Err(draft.missing(id, id.to_string()));
        };
        each!(&flow.state, it => {
            let outcome = it.outcome(&self.outcome).ok_or_else(|| unknown(id))?;
            it.on_outcome(&flow, outcome, draft, at)
        })?;
        let flow = draft.flow(id).ok_or_else(|| unknown(id))?;
        Ok(Accepted { name: flow.name(), status: flow.state.status() })
    }
}

/// No flow of that kind has this id.
pub(crate) fn unknown(id: FlowId) -> Rejection {
    Rejection::UnknownFlow { id: id.to_string() }
}
