//! Requests and replies between Temporal workflows, the relay and the core. A poll makes the same steps that the
//! embedded engine makes when it claims a due flow.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{OutboxAck, OutboxEntry};
use crate::flow::{
    Accepted, ClaimDue, Effect, Flow, Listed as _, Load, Machine as _, Outcome, Planners, each,
};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_note};
use crate::turn::{Decide, Draft, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    Poll(Poll),
    ClaimOutbox(ClaimOutbox),
    AckOutbox(AckOutbox),
    RecordRefusal(RecordRefusal),
}

/// The relay claims the entries of an outbox lane.
#[derive(Debug, Clone)]
pub struct ClaimOutbox {
    pub lane: String,
    pub limit: u32,
}

/// The cluster accepted these entries.
#[derive(Debug, Clone)]
pub struct AckOutbox {
    pub flows: BTreeMap<FlowId, OutboxAck>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Polled(Box<PollReply>),
    Claimed(Vec<ClaimedEntry>),
    Accepted(Accepted),
}

asks! {
    Host {
        Poll => Polled(Box<PollReply>),
        ClaimOutbox => Claimed(Vec<ClaimedEntry>),
        AckOutbox => Accepted(Accepted),
        RecordRefusal => Accepted(Accepted),
    }
}

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    pub(crate) fn admit(&self, _: &Rules, _: &Admission) -> Result<Ready<'_>, Rejection> {
        if let Self::RecordRefusal(refused) = self {
            check_actor(&refused.actor)?;
            check_note(&refused.note)?;
        }
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, at: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        match *self {
            Request::Poll(poll) => {
                reads.plan.flows.insert(poll.flow);
                // A poll may send money, which depends on the freezes.
                reads.plan.control = true;
            }
            Request::ClaimOutbox(ClaimOutbox { lane, limit }) => {
                reads.plan.add_claim(&ClaimDue::new(lane.clone(), *limit), at.now);
            }
            Request::AckOutbox(AckOutbox { flows }) => reads.plan.flows.extend(flows.keys()),
            Request::RecordRefusal(_) => {}
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match *self {
            Request::Poll(poll) => {
                let polled = draft.as_driver(poll.flow, |draft| draft.poll(poll, at));
                polled.map(|polled| Reply::Polled(Box::new(polled)))
            }
            Request::ClaimOutbox(ClaimOutbox { lane, limit }) => {
                Ok(Reply::Claimed(draft.claim_outbox(lane, *limit, at)))
            }
            Request::AckOutbox(AckOutbox { flows }) => {
                Ok(Reply::Accepted(draft.acknowledge_outbox(flows, at)))
            }
            Request::RecordRefusal(refused) => {
                let RecordRefusal { actor, action, resource, note } = refused;
                draft.mark_written(at);
                draft.note((actor, action), resource, note, at);
                Ok(Reply::Accepted(Accepted { name: resource.clone(), status: "REFUSED" }))
            }
        }
    }
}

/// A workflow polls: it makes due steps and reads the state of its flow.
#[derive(Debug, Clone)]
pub struct Poll {
    pub flow: FlowId,
    /// The outcome of the effect that the workflow has run, if any.
    pub outcome: Option<Outcome>,
    /// The load of the endpoint. None: the poll must not start an effect.
    pub slots: Option<Load>,
}

/// The state of a flow after a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollReply {
    pub flow: Flow,
    /// The workflow runs it now, before its lease ends, or not at all.
    pub effect: Option<Effect>,
    /// None if the flow has no timer.
    pub next: Option<Next>,
    /// The step created webhook deliveries.
    pub notifies: bool,
    /// The step did not start its effect, because the endpoint has no free slot.
    pub is_full: bool,
    /// Why the due step was rejected. An operator must look at it.
    pub refused: Option<Rejection>,
}

impl PollReply {
    /// The engine drives this flow: the workflow only watches it.
    pub(crate) const fn watched(flow: Flow, next: Option<Next>) -> Self {
        Self { flow, effect: None, next, notifies: false, is_full: false, refused: None }
    }
}

/// The next timer of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    pub at: Timestamp,
    pub action: NextAction,
}

/// The predicted effect of the next step of a flow. The activity names are those that the cluster shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// The step starts an effect; the cluster gives up on a lost worker after the timeout.
    Effect { activity: &'static str, timeout: SignedDuration },
    /// A turn that the cluster repeats until it is saved: it moves money, or ends the flow.
    Turn { activity: &'static str },
    /// The step only records something, or changes nothing.
    Record,
}

/// An outbox entry that the relay has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedEntry {
    pub flow: Flow,
    pub workflow: String,
    pub entry: OutboxEntry,
}

/// The workflow refused an operator request that came through the cluster. The audit log records it.
#[derive(Debug, Clone)]
pub struct RecordRefusal {
    pub actor: String,
    pub action: String,
    pub resource: String,
    pub note: String,
}

impl NextAction {
    pub const fn is_effect(self) -> bool {
        match self {
            Self::Effect { .. } => true,
            Self::Turn { .. } | Self::Record => false,
        }
    }
}

/// How often a workflow polls a flow that the engine drives.
const WATCH: SignedDuration = SignedDuration::from_secs(30);

impl Next {
    pub fn new(rules: &Rules, flow: &Flow, now: Timestamp) -> Option<Self> {
        let at = flow.step_at().filter(|_| flow.is_live())?;
        if flow.host.is_engine() {
            let at = now.saturating_add(WATCH).unwrap_or(Timestamp::MAX);
            return Some(Self { at, action: NextAction::Record });
        }
        let action = each!(&flow.state, it => it.predict(flow, None, rules, at));
        Some(Self { at, action })
    }
}

/// Predicts the step for this outcome, provided that the flow does not change first.
pub fn predict(rules: &Rules, flow: &Flow, outcome: &Outcome, now: Timestamp) -> NextAction {
    each!(&flow.state, it => match it.outcome(outcome) {
        Some(outcome) => it.predict(flow, Some(outcome), rules, now),
        None => NextAction::Record,
    })
}
