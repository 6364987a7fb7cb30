//! Flows: pure state machines that wait for exactly one thing at a time, and their stored form.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

mod claim;
mod effect;
mod fair;
pub mod host;
mod machine;
pub(crate) mod request;
mod table;

use crate::dispatch::{QueueKey, Waits};
use crate::ids::{self, FlowId};
use crate::ledger::funds::Funds;
use crate::rejection::Rejection;
use host::{Host, is_zero};

pub use effect::{Effect, Pool, Slot};
pub use fair::{Load, Round, RoundReply};
pub use machine::{
    EndpointResult, FlowAlert, Kind, KindInfo, LaneInfo, LaneScope, Never, Observation, OutboxInfo,
    ReviewReason,
};
pub(crate) use machine::{Machine, Progress};
pub(crate) use request::Ready;
pub use request::{
    Accepted, ClaimDue, ClaimReply, EffectOutcome, FailureCause, Quarantine, Reply, Request,
};
pub use table::{Call, FlowState, FlowView, KINDS, Listed, Outcome};
pub(crate) use table::{Planners, each, each_plan};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    pub id: FlowId,
    pub merchant: String,
    /// Counts changes from 1. Optimistic lock: the store rejects the commit with `Conflict` unless it still finds the
    /// version that was read.
    pub version: u64,
    /// Number of events emitted for this flow; their sequence numbers have no gaps.
    pub sequence: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub state: FlowState,
    /// Set while the flow is deferred, because its step was rejected or its turns fail.
    pub backoff: Option<Backoff>,
    /// The host that drives the flow.
    pub host: Host,
}

/// How many steps in a row failed, and when the next one is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    pub times: u32,
    pub until: Timestamp,
    /// How many of them were failed turns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

/// The lane and the time of the one thing that a flow waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    pub lane: String,
    pub at: Timestamp,
}

/// A flow that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub flow: FlowId,
    pub kind: &'static str,
    pub merchant: String,
    pub reason: ReviewReason,
    /// When it began to wait.
    pub since: Timestamp,
}

impl Review {
    /// The review that begins with this state of the flow.
    pub fn of(flow: &Flow) -> Option<Self> {
        Some(Self {
            flow: flow.id,
            kind: flow.state.kind(),
            merchant: flow.merchant.clone(),
            reason: flow.state.review()?,
            since: flow.updated_at,
        })
    }
}

/// A stored state that this version of Bursar cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored {kind} does not read back: {reason}")]
pub struct UnreadableState {
    kind: String,
    reason: String,
}

impl Flow {
    /// Lane and time at which the engine, the relay or the sweeper must act on the flow next.
    pub fn due(&self) -> Option<Due> {
        match &self.host {
            // A finished flow has no timer on either host; only an operator request can reopen it.
            Host::Temporal(workflow) if self.is_live() || workflow.outbox.is_some() => {
                workflow.due(self.step_at())
            }
            Host::Engine | Host::Temporal(_) => self.own_due(),
        }
    }

    fn own_due(&self) -> Option<Due> {
        let due = each!(&self.state, it => it.due())?;
        let lane = match self.queue() {
            Some(queue) => queue.to_string(),
            None => due.lane,
        };
        Some(Due { lane, at: self.not_before(due.at) })
    }

    /// The queue in which the flow waits to be sent, if the engine sends it.
    pub(crate) fn queue(&self) -> Option<QueueKey> {
        let waits = self.waits()?;
        Some(QueueKey::new(self.state.kind(), &self.merchant, waits))
    }

    fn waits(&self) -> Option<Waits<'_>> {
        if self.host.is_engine() { each!(&self.state, it => it.waits()) } else { None }
    }

    /// Whether the flow can still change without an operator request.
    pub fn is_live(&self) -> bool {
        each!(&self.state, it => it.is_live())
    }

    /// When the flow is due, in any lane.
    pub(crate) fn due_at(&self) -> Option<Timestamp> {
        match &self.host {
            Host::Engine => self.step_at(),
            Host::Temporal(_) => self.due().map(|due| due.at),
        }
    }

    /// When the next step is due, on either host.
    pub fn step_at(&self) -> Option<Timestamp> {
        let at = each!(&self.state, it => it.due_at())?;
        Some(self.not_before(at))
    }

    /// Whether the flow waits in this lane or group of queues, if it waits.
    pub(crate) fn waits_in(&self, lane: &str) -> bool {
        if !self.host.is_engine() {
            return self.due().is_some_and(|due| due.lane == lane);
        }
        each!(&self.state, it => it.waits_in(lane))
    }

    fn not_before(&self, at: Timestamp) -> Timestamp {
        self.backoff.map_or(at, |backoff| backoff.until.max(at))
    }

    /// Defers the flow: one minute, then twice as long every time, at most one day. The flows behind it in the lane do
    /// not wait for it.
    #[must_use]
    pub(crate) fn deferred(self, now: Timestamp) -> Self {
        let (times, failures) = self.backoff.map_or((0, 0), |it| (it.times, it.failures));
        let times = times.saturating_add(1);
        let minutes = 1_i64.checked_shl(times.saturating_sub(1)).unwrap_or(i64::MAX);
        let pause = SignedDuration::from_mins(minutes.clamp(1, 24 * 60));
        let until = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        Self { backoff: Some(Backoff { times, until, failures }), ..self }
    }

    /// The public name. The ledger books everything for the flow under this reference.
    pub fn name(&self) -> String {
        ids::name(self.state.info().prefix, self.id.uuid())
    }

    /// The id in the name of a flow of any kind.
    pub fn id_in(name: &str) -> Option<FlowId> {
        KINDS.iter().find_map(|kind| kind.flow_id(name))
    }

    /// External references, oldest first: channel or provider, and reference.
    pub fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.state.references()
    }

    /// A new flow. Its state counts as the first event if it emits one.
    pub(crate) fn new(
        id: FlowId,
        merchant: &str,
        state: impl Into<FlowState>,
        host: Host,
        now: Timestamp,
    ) -> Self {
        let state = state.into();
        Self {
            id,
            merchant: merchant.to_owned(),
            version: 1,
            sequence: u64::from(state.event().is_some()),
            created_at: now,
            updated_at: now,
            state,
            backoff: None,
            host,
        }
    }

    /// The same flow in another state, without backoff. `change` says whether the version and the event sequence
    /// advance.
    pub(crate) fn advanced(
        &self,
        state: impl Into<FlowState>,
        change: Change,
        now: Timestamp,
    ) -> Self {
        let Change { is_new_version, is_notified } = change;
        Self {
            id: self.id,
            merchant: self.merchant.clone(),
            version: self.version.saturating_add(u64::from(is_new_version)),
            sequence: self.sequence.saturating_add(u64::from(is_notified)),
            created_at: self.created_at,
            updated_at: if is_new_version { now } else { self.updated_at },
            state: state.into(),
            backoff: None,
            host: self.host.clone(),
        }
    }
}

/// The counters that a step advances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) is_new_version: bool,
    pub(crate) is_notified: bool,
}

/// Optimistic lock for decisions: the caller names the version that it has seen, and any other version is rejected.
pub fn check_version(
    id: &impl ToString,
    expected: Option<u64>,
    found: u64,
) -> Result<(), Rejection> {
    match expected.filter(|version| *version != found) {
        Some(expected) => Err(Rejection::StaleVersion { id: id.to_string(), expected, found }),
        None => Ok(()),
    }
}

/// Whether a reference, in any epoch, is the name of a flow that the ledger books for.
pub(crate) fn is_flow_name(reference: &str) -> bool {
    let name = reference.split_once('#').map_or(reference, |(name, _)| name);
    KINDS.iter().any(|kind| kind.owns_money && kind.flow_id(name).is_some())
}

/// Whether merchants can receive events of this family.
pub(crate) fn is_event_family(family: &str) -> bool {
    KINDS.iter().any(|kind| kind.notifies() && kind.name == family)
}

/// The events that merchants can receive.
pub fn merchant_events() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.merchant_events).copied()
}

impl FlowState {
    pub const fn info(&self) -> &'static KindInfo {
        const fn of<K: Kind>(_: &K) -> &'static KindInfo {
            &K::INFO
        }
        each!(self, it => of(&**it))
    }

    pub const fn kind(&self) -> &'static str {
        self.info().name
    }

    pub fn status(&self) -> &'static str {
        each!(self, it => it.status())
    }

    /// The funds of the flow, if it moves money.
    pub fn funds(&self) -> Option<&Funds> {
        each!(self, it => it.funds())
    }

    /// The channel or provider that the flow uses, if tallies count it by one.
    pub fn channel(&self) -> Option<&str> {
        each!(self, it => it.channel())
    }

    /// What the flow belongs to, such as the endpoint of a delivery. It never changes.
    pub fn parent(&self) -> Option<Uuid> {
        each!(self, it => it.parent())
    }

    /// Why the flow waits for a person, if it does.
    pub fn review(&self) -> Option<ReviewReason> {
        each!(self, it => it.review())
    }

    /// The alert that the flow raises for its channel, as long as it is as it is.
    pub fn alert(&self) -> Option<FlowAlert> {
        each!(self, it => it.alert())
    }

    /// The event emitted for this state. Deliveries emit none: a webhook about a webhook would never end.
    pub fn event(&self) -> Option<&'static str> {
        each!(self, it => it.event())
    }
}

impl FlowView {
    pub fn new(flow: &Flow) -> Self {
        fn show<K: Listed>(it: &K, flow: &Flow) -> FlowView {
            K::into_view(it.view(flow).into())
        }
        each!(&flow.state, it => show(&**it, flow))
    }

    pub fn encode(&self) -> String {
        to_json(self)
    }

    pub fn decode(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Flow {
    /// Encodes state, backoff and host in a form that later versions can read.
    pub fn encode(&self) -> String {
        each!(&self.state, it => self.encode_as(it))
    }

    fn encode_as<F: Serialize>(&self, flow: F) -> String {
        to_json(&Versioned { v: 1, backoff: self.backoff, host: Cow::Borrowed(&self.host), flow })
    }

    /// Decodes the output of `encode`.
    pub fn decode(kind: &str, text: &str) -> Result<DecodedFlow, UnreadableState> {
        let read = FlowState::decode(kind, text);
        read.map_err(|reason| UnreadableState { kind: kind.to_owned(), reason })
    }
}

/// The part of a flow that the stores keep as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedFlow {
    pub state: FlowState,
    pub backoff: Option<Backoff>,
    pub host: Host,
}

/// The stored form of a flow. A field may be added with a default; any other change needs a new version.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Versioned<'h, F> {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "parked")]
    backoff: Option<Backoff>,
    #[serde(default, skip_serializing_if = "is_engine")]
    host: Cow<'h, Host>,
    flow: F,
}

fn is_engine(host: &Host) -> bool {
    host.is_engine()
}

fn read<F: DeserializeOwned>(text: &str, state: fn(F) -> FlowState) -> Result<DecodedFlow, String> {
    let stored: Versioned<'_, F> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if stored.v != 1 {
        return Err(format!("version {} is not known here", stored.v));
    }
    let (backoff, host) = (stored.backoff, stored.host.into_owned());
    Ok(DecodedFlow { state: state(stored.flow), backoff, host })
}

/// The usual length of an encoded flow, to allocate once.
const TEXT_USUAL: usize = 640;

/// Encodes a value of texts and numbers as JSON.
#[expect(clippy::expect_used, reason = "texts and numbers always have a JSON form")]
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = Vec::with_capacity(TEXT_USUAL);
    serde_json::to_writer(&mut text, value).expect("texts and numbers always have a JSON form");
    String::from_utf8(text).expect("JSON is text")
}
