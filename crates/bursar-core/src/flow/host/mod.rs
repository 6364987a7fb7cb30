//! The host of a flow: the embedded engine, which claims it in its lane, or a workflow on a Temporal cluster, which the
//! relay starts and wakes. Only one of them runs its effects.

mod apply;
mod outbox;
mod request;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::flow::{Due, KindInfo};

pub use outbox::{OutboxAck, OutboxEntry, OutboxKind, SWEEP, lanes};
pub(crate) use request::Ready;
pub use request::{
    AckOutbox, ClaimOutbox, ClaimedEntry, Next, NextAction, Poll, PollReply, RecordRefusal, Reply,
    Request, predict,
};

/// The host of new flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hosting {
    #[default]
    Engine,
    Temporal(Naming),
}

/// How the workflow id of a payout is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// `disbursement-{merchant}-{key}`.
    #[default]
    ByMerchant,
    /// `disbursement-{key}`, where no two merchants use the same key.
    ByKey,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    #[default]
    Engine,
    Temporal(Box<Workflow>),
}

/// The workflow that drives a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    pub id: String,
    /// The pending outbox entry, which the relay sends to the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "errand")]
    pub outbox: Option<OutboxEntry>,
    /// When the cluster last accepted an outbox entry, or until when the workflow waits outside the flow.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "told_at")]
    pub notified_at: Option<Timestamp>,
    /// How often the sweeper found the workflow overdue since its last poll.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sweeps: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Grace period before the sweeper wakes an overdue workflow. It doubles with every sweep, to spare a slow cluster.
const SWEEP_AFTER: SignedDuration = SignedDuration::from_mins(1);
const SWEEP_MAX: SignedDuration = SignedDuration::from_hours(1);
/// Pause before the relay claims an unacknowledged outbox entry again. It doubles with every claim.
const PAUSE_FIRST: SignedDuration = SignedDuration::from_secs(5);
const PAUSE_MAX: SignedDuration = SignedDuration::from_mins(1);

impl Hosting {
    /// The host of a new flow. On a cluster, an outbox entry starts its workflow, not before this time.
    pub(crate) fn start(
        self,
        kind: &KindInfo,
        workflow_id: impl FnOnce(Naming) -> String,
        at: Timestamp,
    ) -> Host {
        match (self, kind.outbox) {
            (Self::Engine, _) | (Self::Temporal(_), None) => Host::Engine,
            (Self::Temporal(naming), Some(outbox)) => {
                Host::start(workflow_id(naming), OutboxKind::Start(outbox), at)
            }
        }
    }
}

impl Host {
    fn start(id: String, kind: OutboxKind, at: Timestamp) -> Self {
        let outbox = Some(OutboxEntry { kind, available_at: at, tries: 0 });
        Self::Temporal(Box::new(Workflow { id, outbox, notified_at: None, sweeps: 0 }))
    }

    /// The workflow that requests the flow drives it: there is nothing to start.
    pub(crate) fn driven_by(workflow: &str) -> Self {
        let id = workflow.to_owned();
        Self::Temporal(Box::new(Workflow { id, outbox: None, notified_at: None, sweeps: 0 }))
    }

    pub fn is_engine(&self) -> bool {
        *self == Self::Engine
    }

    pub fn workflow(&self) -> Option<&Workflow> {
        match self {
            Self::Engine => None,
            Self::Temporal(workflow) => Some(workflow),
        }
    }

    /// A caller other than the workflow changed the flow: one outbox entry wakes the workflow.
    pub(crate) fn wake(&mut self, now: Timestamp) {
        if let Self::Temporal(workflow) = self
            && workflow.outbox.is_none()
        {
            workflow.outbox =
                Some(OutboxEntry { kind: OutboxKind::Wake, available_at: now, tries: 0 });
        }
    }

    /// The workflow polls: this acknowledges pending entries and resets the sweeps. Returns whether this changed
    /// anything.
    pub(crate) fn acknowledge_poll(&mut self) -> bool {
        let Self::Temporal(workflow) = self else { return false };
        let is_changed = workflow.outbox.is_some() || workflow.sweeps > 0;
        (workflow.outbox, workflow.sweeps) = (None, 0);
        is_changed
    }

    /// The workflow is blocked until `until` (breaker open): the sweeper ignores it before then. Returns whether this
    /// changed anything.
    pub(crate) fn suppress_sweep(&mut self, until: Timestamp) -> bool {
        let Self::Temporal(workflow) = self else { return false };
        let is_changed = workflow.notified_at < Some(until);
        workflow.notified_at = workflow.notified_at.max(Some(until));
        is_changed
    }

    /// Claims the outbox entry and pushes its `available_at` forward; without an acknowledgement it is claimed again at
    /// that time.
    pub(crate) fn claim(&mut self, now: Timestamp) -> Option<OutboxEntry> {
        let Self::Temporal(workflow) = self else { return None };
        let entry = workflow.outbox.unwrap_or_else(|| {
            workflow.sweeps = workflow.sweeps.saturating_add(1);
            OutboxEntry { kind: OutboxKind::Wake, available_at: now, tries: 0 }
        });
        let pause = doubled(PAUSE_FIRST, entry.tries).min(PAUSE_MAX);
        let available_at = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        workflow.outbox =
            Some(OutboxEntry { available_at, tries: entry.tries.saturating_add(1), ..entry });
        workflow.outbox
    }

    /// The cluster accepted an entry. An entry that was saved meanwhile stays.
    pub(crate) fn acknowledge(&mut self, ack: &OutboxAck, now: Timestamp) {
        if let Self::Temporal(workflow) = self {
            workflow.outbox = workflow.outbox.filter(|entry| *entry != ack.entry);
            workflow.notified_at = Some(now);
            if let Some(id) = &ack.renamed {
                id.clone_into(&mut workflow.id);
            }
        }
    }
}

impl Workflow {
    /// When the relay must act: at the time of the outbox entry, or else when the sweeper must check this workflow. The
    /// sweeper acts at the workflow's own due time plus a grace period that doubles with every sweep.
    pub(crate) fn due(&self, own: Option<Timestamp>) -> Option<Due> {
        if let Some(entry) = self.outbox {
            return Some(Due { lane: entry.kind.lane().to_owned(), at: entry.available_at });
        }
        let at = own?.max(self.notified_at.unwrap_or(Timestamp::MIN));
        let late = doubled(SWEEP_AFTER, self.sweeps).min(SWEEP_MAX);
        let at = at.saturating_add(late).unwrap_or(Timestamp::MAX);
        Some(Due { lane: SWEEP.to_owned(), at })
    }
}

fn doubled(pause: SignedDuration, times: u32) -> SignedDuration {
    pause.saturating_mul(1_i32.checked_shl(times.min(16)).unwrap_or(i32::MAX))
}
