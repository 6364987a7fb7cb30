//! The traits that a kind of flow implements: one impl for each kind, in the folder of its domain.

use std::borrow::Cow;
use std::fmt::Debug;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Due, Flow};
use crate::dispatch::Waits;
use crate::flow::host::NextAction;
use crate::flow::{Effect, Load};
use crate::ids::{self, FlowId};
use crate::ledger::Admission;
use crate::ledger::funds::Funds;
use crate::ledger::rulebook::Rulebook;
use crate::ledger::verify::{LastEvent, Verifier};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, ReadPlan, Reads};

/// Static properties of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    /// The name in stores, replies and events.
    pub name: &'static str,
    /// Prefix of the names of its flows.
    pub prefix: &'static str,
    /// The ledger books under the names of its flows, and only the flow itself may post under them.
    pub owns_money: bool,
    /// The events that it emits to merchants.
    pub merchant_events: &'static [&'static str],
    /// Lanes in which the embedded engine claims its due flows. Lanes of the fair scheduler are not among them.
    pub lanes: &'static [LaneInfo],
    /// The statuses in which a flow waits in a lane.
    pub waiting: &'static [&'static str],
    /// The statuses in which a flow is being sent: they count against the concurrency of its channel.
    pub sending: &'static [&'static str],
    /// How its workflows are started, if a Temporal cluster can drive its flows.
    pub outbox: Option<OutboxInfo>,
}

impl KindInfo {
    /// Whether its flows emit events to merchants.
    pub const fn notifies(&self) -> bool {
        !self.merchant_events.is_empty()
    }

    /// The id in the name of a flow of this kind.
    pub fn flow_id(&self, name: &str) -> Option<FlowId> {
        ids::parse(name, self.prefix).map(FlowId::from_uuid)
    }
}

/// One lane, or several with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneInfo {
    /// The name of the lane, or the prefix.
    pub name: &'static str,
    pub scope: LaneScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneScope {
    /// All flows of the kind share it.
    Kind,
    /// One for each channel.
    Channel,
    /// One for each channel, rank and merchant: the queues of flows that wait to be sent. A claim names the group of a
    /// channel, and is limited to its free slots.
    Queue,
}

/// Why a flow waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewReason {
    /// The outcome is unknown, and only a decision can end it.
    Stuck,
    /// The flow is finished, and evidence contradicts how.
    Case,
    /// A second person must approve it.
    Approval,
}

/// An alert that flows raise for their channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowAlert {
    /// The channel reports another amount than was asked for.
    AmountDiffers,
    /// The channel reports a payment without the amount that it must name.
    AmountMissing,
    /// This machine could not send it.
    NotSent,
    /// The books were restored, and the channel cannot prove what became of it.
    Restored,
    /// One admin has done it alone, and it is not approved yet.
    BreakGlass,
}

impl FlowAlert {
    pub const ALL: [Self; 5] =
        [Self::AmountDiffers, Self::AmountMissing, Self::NotSent, Self::Restored, Self::BreakGlass];

    /// The name in stores and alerts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AmountDiffers => "amount_differs",
            Self::AmountMissing => "amount_missing",
            Self::NotSent => "not_sent",
            Self::Restored => "restored",
            Self::BreakGlass => "break_glass",
        }
    }
}

impl ReviewReason {
    pub const ALL: [Self; 3] = [Self::Stuck, Self::Case, Self::Approval];

    /// The name in stores and replies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Case => "case",
            Self::Approval => "approval",
        }
    }
}

/// The outbox entry that starts a workflow for a flow of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxInfo {
    /// The stored name.
    pub name: &'static str,
    /// The lane in which the relay claims it.
    pub lane: &'static str,
}

/// How an outcome counts in the statistics of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation<'o> {
    Nothing,
    Channel {
        channel: &'o str,
        is_submission: bool,
        is_unknown: bool,
        /// The connector has no mapping for the answer.
        is_unmapped: bool,
    },
    Endpoint {
        result: EndpointResult,
        took_ms: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointResult {
    /// A 2xx.
    Accepted,
    Failed,
    /// The delivery can never be sent and becomes a dead letter. The fault is on this side.
    Unsendable,
    /// This process has no key or no local resources to send it now.
    Unsent,
}

/// Call and outcome type of a kind without effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}

/// The public interface of a kind, for servers, stores and hosts.
pub trait Kind: Clone + Debug + Eq + Serialize + DeserializeOwned {
    const INFO: KindInfo;
    /// The call of an effect.
    type Call: Clone + Debug + Eq;
    /// The outcome of a call.
    type Outcome: Clone + Debug + Eq + Serialize + DeserializeOwned;
    type View: Clone + Debug + Eq + Serialize + DeserializeOwned;

    fn status(&self) -> &'static str;

    /// Whether the flow can still change without an operator request.
    fn is_live(&self) -> bool;

    /// Lane and time of the next step if the engine drives the flow.
    fn due(&self) -> Option<Due>;

    /// Same, without the lane name, where that saves an allocation.
    fn due_at(&self) -> Option<Timestamp> {
        self.due().map(|due| due.at)
    }

    fn waits_in(&self, lane: &str) -> bool {
        self.due().is_some_and(|due| due.lane == lane)
    }

    /// How the flow waits to be sent, if it does: it is then due in the queue of its merchant, and `due` names the group.
    fn waits(&self) -> Option<Waits<'_>> {
        None
    }

    /// The event emitted for this state.
    fn event(&self) -> Option<&'static str>;

    /// The funds of the flow, if it moves money.
    fn funds(&self) -> Option<&Funds> {
        None
    }

    /// The channel, provider or action of the flow, if tallies count it by one.
    fn channel(&self) -> Option<&str> {
        None
    }

    /// What the flow belongs to, such as the endpoint of a delivery. It never changes.
    fn parent(&self) -> Option<Uuid> {
        None
    }

    /// Why the flow waits for a person, if it does.
    fn review(&self) -> Option<ReviewReason> {
        None
    }

    /// The alert that the flow raises for its channel, as long as it is as it is.
    fn alert(&self) -> Option<FlowAlert> {
        None
    }

    /// Its first external reference, if that is meant to follow from the idempotency key of its creation.
    fn keyed_reference(&self) -> Option<&str> {
        None
    }

    /// External references, oldest first: channel or provider, and reference.
    fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        std::iter::empty()
    }

    /// Texts that the caller gave the flow to find it again; several flows may have the same. They never change.
    fn labels(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn view(&self, flow: &Flow) -> Self::View;

    /// The outcome of a call whose worker panicked or did not report before the lease ended.
    fn lost(effect: &Effect, call: &Self::Call, detail: &str) -> Self::Outcome;

    /// The outcome of a call that was not started in its slot.
    fn missed(_effect: &Effect, _call: &Self::Call) -> Option<Self::Outcome> {
        None
    }

    fn observe<'o>(_call: &'o Self::Call, _outcome: &'o Self::Outcome) -> Observation<'o> {
        Observation::Nothing
    }
}

/// How a turn changes a flow of this kind. Private to the crate, because it writes to the draft.
pub(crate) trait Machine: Kind {
    /// One for each planning round: flows that need the same records request them once.
    type Planner<'p>;

    fn planner(rules: &Rules) -> Self::Planner<'_>;

    /// Adds the records that any step of the flow may book on or read.
    fn plan<'p>(&'p self, flow: &Flow, planner: &mut Self::Planner<'p>, reads: &mut Reads<'_>);

    /// Makes the due step.
    fn on_due(
        &self,
        flow: &Flow,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Progress, Rejection>;

    /// The flow has missed its cut-off: it ends, if nothing of it can have been sent.
    fn on_cut_off(&self, _: &Flow, _: &mut Draft<'_>, _: &Admission) -> Result<(), Rejection> {
        Ok(())
    }

    /// Makes the step for the outcome of an effect.
    fn on_outcome(
        &self,
        flow: &Flow,
        outcome: &Self::Outcome,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection>;

    /// Same, for an outcome that an external workflow reports.
    fn on_reported(
        &self,
        flow: &Flow,
        outcome: &Self::Outcome,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        self.on_outcome(flow, outcome, draft, at)
    }

    /// Whether the target of its effects has no free slot.
    fn is_full(&self, _draft: &Draft<'_>, _load: Load) -> bool {
        false
    }

    /// Predicts the next step: for this outcome, or for the due time if there is none.
    fn predict(
        &self,
        flow: &Flow,
        outcome: Option<&Self::Outcome>,
        rules: &Rules,
        now: Timestamp,
    ) -> NextAction;

    /// The state after giving up on a flow whose turns keep failing. A flow that owns money is never given up.
    fn give_up(&self, _now: Timestamp) -> Option<Self> {
        None
    }

    /// Whether the state agrees with the last emitted event.
    fn matches_last_event(&self, flow: &Flow, last: &LastEvent) -> bool;

    /// Plans the records that `check` needs: holds and references.
    fn plan_check(&self, _name: &str, _rulebook: &Rulebook, _plan: &mut ReadPlan) {}

    /// Checks the flow against the books.
    fn check(&self, flow: &Flow, name: &str, books: &mut Verifier<'_>);
}

/// The result of a due step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    On,
    /// The target of the effect is blocked until then (breaker open).
    Blocked(Timestamp),
}
