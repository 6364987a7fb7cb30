//! Who drives a flow: the embedded engine, which wakes it in its lane, or a workflow on a Temporal cluster, which is told
//! when there is something to do. Only one of them runs its effects.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::flow::Due;
use crate::ids::{EndpointId, EventId};

/// Who drives the flows that are made here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hosting {
    #[default]
    Engine,
    Temporal(Naming),
}

/// What the workflow of a payout is called.
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
    /// What the cluster must be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errand: Option<Errand>,
    /// When the cluster was last told something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_at: Option<Timestamp>,
    /// How often it was told that the workflow is late, since the workflow last looked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sweeps: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Something to tell the cluster, saved with the change that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errand {
    pub kind: ErrandKind,
    /// Not before.
    pub at: Timestamp,
    /// How often it was tried.
    pub tries: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrandKind {
    /// A payout is to be driven.
    StartPayout,
    /// A delivery is to be driven.
    StartDelivery,
    /// Somebody else has changed the flow.
    Wake,
}

/// An errand that the cluster has taken, perhaps under another name than was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub errand: Errand,
    pub renamed: Option<String>,
}

impl ErrandKind {
    /// Where it waits for the relay.
    pub const fn lane(self) -> &'static str {
        match self {
            Self::StartPayout => "outbox:PAYOUT_SAGA_REQUESTED",
            Self::StartDelivery => "outbox:WEBHOOK_DELIVERY_REQUESTED",
            Self::Wake => "outbox:WAKE",
        }
    }
}

/// Where flows wait that a workflow should have driven long ago.
pub const SWEEP: &str = "outbox:SWEEP";

/// Everywhere that the relay looks, most urgent first.
pub const LANES: [&str; 4] = [
    ErrandKind::StartPayout.lane(),
    ErrandKind::Wake.lane(),
    ErrandKind::StartDelivery.lane(),
    SWEEP,
];

/// How long a workflow may be late before the cluster is told again; twice as long every time, or a cluster that is
/// slow would be made slower.
const SWEEP_AFTER: SignedDuration = SignedDuration::from_mins(1);
const SWEEP_MAX: SignedDuration = SignedDuration::from_hours(1);
/// How long the first try of an errand may take; twice as long each time.
const PAUSE_FIRST: SignedDuration = SignedDuration::from_secs(5);
const PAUSE_MAX: SignedDuration = SignedDuration::from_mins(1);

impl Hosting {
    /// The host of a new payout, which is to begin at this time.
    pub(crate) fn of_payout(self, merchant: &str, key: &str, at: Timestamp) -> Host {
        let id = match self {
            Self::Engine => return Host::Engine,
            Self::Temporal(Naming::ByMerchant) => format!("disbursement-{merchant}-{key}"),
            Self::Temporal(Naming::ByKey) => format!("disbursement-{key}"),
        };
        Host::asked_for(id, ErrandKind::StartPayout, at)
    }

    /// The host of a new delivery.
    pub(crate) fn of_delivery(
        self,
        (event, endpoint): (EventId, EndpointId),
        is_only_one: bool,
        at: Timestamp,
    ) -> Host {
        let id = match self {
            Self::Engine => return Host::Engine,
            Self::Temporal(_) if is_only_one => format!("webhook-{event}"),
            Self::Temporal(_) => format!("webhook-{event}-{endpoint}"),
        };
        Host::asked_for(id, ErrandKind::StartDelivery, at)
    }
}

impl Host {
    fn asked_for(id: String, kind: ErrandKind, at: Timestamp) -> Self {
        let errand = Some(Errand { kind, at, tries: 0 });
        Self::Temporal(Box::new(Workflow { id, errand, told_at: None, sweeps: 0 }))
    }

    /// The workflow that asks for the flow drives it: nobody must be told.
    pub(crate) fn driven_by(workflow: &str) -> Self {
        let id = workflow.to_owned();
        Self::Temporal(Box::new(Workflow { id, errand: None, told_at: None, sweeps: 0 }))
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

    /// Somebody else than the workflow has changed the flow: it is told, once.
    pub(crate) fn wake(&mut self, now: Timestamp) {
        if let Self::Temporal(workflow) = self
            && workflow.errand.is_none()
        {
            workflow.errand = Some(Errand { kind: ErrandKind::Wake, at: now, tries: 0 });
        }
    }

    /// The workflow is there and looks at the flow: there is nothing to tell it. Whether that is news.
    pub(crate) fn heard(&mut self) -> bool {
        let Self::Temporal(workflow) = self else { return false };
        let is_news = workflow.errand.is_some() || workflow.sweeps > 0;
        (workflow.errand, workflow.sweeps) = (None, 0);
        is_news
    }

    /// The workflow waits for something besides the flow: before then nobody need look after it. Whether that is news.
    pub(crate) fn rests_until(&mut self, until: Timestamp) -> bool {
        let Self::Temporal(workflow) = self else { return false };
        let is_news = workflow.told_at < Some(until);
        workflow.told_at = workflow.told_at.max(Some(until));
        is_news
    }

    /// The relay has it. If nobody hears of it again, it is tried once more, at the time that the errand has then.
    pub(crate) fn carry(&mut self, now: Timestamp) -> Option<Errand> {
        let Self::Temporal(workflow) = self else { return None };
        let errand = workflow.errand.unwrap_or_else(|| {
            workflow.sweeps = workflow.sweeps.saturating_add(1);
            Errand { kind: ErrandKind::Wake, at: now, tries: 0 }
        });
        let pause = doubled(PAUSE_FIRST, errand.tries).min(PAUSE_MAX);
        let at = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        workflow.errand = Some(Errand { at, tries: errand.tries.saturating_add(1), ..errand });
        workflow.errand
    }

    /// The cluster has taken an errand. One that was saved meanwhile is still to be told.
    pub(crate) fn taken(&mut self, taken: &Taken, now: Timestamp) {
        if let Self::Temporal(workflow) = self {
            workflow.errand = workflow.errand.filter(|errand| *errand != taken.errand);
            workflow.told_at = Some(now);
            if let Some(id) = &taken.renamed {
                id.clone_into(&mut workflow.id);
            }
        }
    }
}

impl Workflow {
    /// When somebody must look that all is well, given when the workflow itself must do something.
    pub(crate) fn due(&self, own: Option<Timestamp>) -> Option<Due> {
        if let Some(errand) = self.errand {
            return Some(Due { lane: errand.kind.lane().to_owned(), at: errand.at });
        }
        let at = own?.max(self.told_at.unwrap_or(Timestamp::MIN));
        let late = doubled(SWEEP_AFTER, self.sweeps).min(SWEEP_MAX);
        let at = at.saturating_add(late).unwrap_or(Timestamp::MAX);
        Some(Due { lane: SWEEP.to_owned(), at })
    }
}

/// Twice as long for every time.
fn doubled(pause: SignedDuration, times: u32) -> SignedDuration {
    pause.saturating_mul(1_i32.checked_shl(times.min(16)).unwrap_or(i32::MAX))
}
