//! Flows: pure state machines that wait for exactly one thing, and how they are kept.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::delivery::Delivery;
use crate::funds::Funds;
use crate::host::{Host, is_zero};
use crate::ids::{DeliveryId, FlowId, PayInId, PayoutId, ReservationId};
use crate::payin::{self, PayIn};
use crate::payout::Payout;
use crate::rejection::Rejection;
use crate::reservation::{self, Reservation};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    pub id: FlowId,
    pub merchant: String,
    /// Counts its changes from 1; whoever saves must find the version that was read.
    pub version: u64,
    /// How many events were told about it; their numbers have no gaps.
    pub sequence: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub state: FlowState,
    /// Set aside for a while, because what it must do was refused.
    pub parked: Option<Parked>,
    /// Who drives it.
    pub host: Host,
}

/// How often in a row it could not go on, and when it is woken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub times: u32,
    pub until: Timestamp,
    /// How often of these because it makes turns fail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowState {
    Reservation(Reservation),
    Payout(Box<Payout>),
    PayIn(Box<PayIn>),
    Delivery(Box<Delivery>),
}

/// The one thing that a live flow waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    pub lane: String,
    pub at: Timestamp,
}

/// A stored state that this version of Bursar cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored {kind} does not read back: {reason}")]
pub struct UnreadableState {
    kind: String,
    reason: String,
}

impl Flow {
    /// What somebody must look at it for, if anything, and when.
    pub fn due(&self) -> Option<Due> {
        match &self.host {
            // Whoever is over waits for people only, whichever host it had.
            Host::Temporal(workflow) if self.is_live() || workflow.errand.is_some() => {
                workflow.due(self.step_at())
            }
            Host::Engine | Host::Temporal(_) => self.own_due(),
        }
    }

    fn own_due(&self) -> Option<Due> {
        let due = match &self.state {
            FlowState::Reservation(reservation) => reservation.due(),
            FlowState::Payout(payout) => payout.due(),
            // A pay-in waits for nothing: whoever has news speaks.
            FlowState::PayIn(_) => None,
            FlowState::Delivery(delivery) => delivery.due(),
        }?;
        Some(Due { at: self.not_before(due.at), ..due })
    }

    /// Whether anything will happen to it by itself.
    pub fn is_live(&self) -> bool {
        match &self.state {
            FlowState::Reservation(reservation) => reservation.due().is_some(),
            FlowState::Payout(payout) => !payout.state.is_final(),
            FlowState::PayIn(_) => false,
            FlowState::Delivery(delivery) => !delivery.state.is_over(),
        }
    }

    /// When it is due, in whichever lane.
    pub(crate) fn due_at(&self) -> Option<Timestamp> {
        match &self.host {
            Host::Engine => self.step_at(),
            Host::Temporal(_) => self.due().map(|due| due.at),
        }
    }

    /// When its next step is due, whoever makes it.
    pub fn step_at(&self) -> Option<Timestamp> {
        let at = match &self.state {
            FlowState::Reservation(reservation) => reservation.due()?.at,
            FlowState::Payout(payout) => payout.state.due()?,
            FlowState::PayIn(_) => return None,
            FlowState::Delivery(delivery) => delivery.due()?.at,
        };
        Some(self.not_before(at))
    }

    /// Whether this is the lane in which it waits, if it waits.
    pub(crate) fn waits_in(&self, lane: &str) -> bool {
        if !self.host.is_engine() {
            return self.due().is_some_and(|due| due.lane == lane);
        }
        match &self.state {
            FlowState::Reservation(_) => lane == reservation::LANE,
            FlowState::Payout(payout) => payout.waits_in(lane),
            FlowState::PayIn(_) => false,
            FlowState::Delivery(delivery) => delivery.due().is_some_and(|due| due.lane == lane),
        }
    }

    fn not_before(&self, at: Timestamp) -> Timestamp {
        self.parked.map_or(at, |parked| parked.until.max(at))
    }

    /// Set aside: a minute, then twice as long every time, at most a day. Those behind it are not kept waiting.
    #[must_use]
    pub(crate) fn park(self, now: Timestamp) -> Self {
        let (times, failures) = self.parked.map_or((0, 0), |it| (it.times, it.failures));
        let times = times.saturating_add(1);
        let minutes = 1_i64.checked_shl(times.saturating_sub(1)).unwrap_or(i64::MAX);
        let pause = SignedDuration::from_mins(minutes.clamp(1, 24 * 60));
        let until = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        Self { parked: Some(Parked { times, until, failures }), ..self }
    }

    /// The name under which people know it, and the reference of everything that the ledger books for it.
    pub fn name(&self) -> String {
        match &self.state {
            FlowState::Reservation(_) => ReservationId::from_uuid(self.id.uuid()).to_string(),
            FlowState::Payout(_) => PayoutId::from_uuid(self.id.uuid()).to_string(),
            FlowState::PayIn(_) => PayInId::from_uuid(self.id.uuid()).to_string(),
            FlowState::Delivery(_) => DeliveryId::from_uuid(self.id.uuid()).to_string(),
        }
    }
}

impl Flow {
    /// What it is known by outside, oldest first: channel or provider, and reference.
    pub fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let attempts = self.state.payout().into_iter().flat_map(|payout| {
            let channel = payout.terms.channel.as_str();
            payout.attempts.iter().map(move |attempt| (channel.into(), attempt.reference.as_str()))
        });
        let payin = self.state.payin().map(|payin| {
            (payin::lookup(&payin.terms.provider).into(), payin.terms.reference.as_str())
        });
        attempts.chain(payin)
    }
}

/// Whoever decides names the version that they looked at; a later one is not decided unseen.
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

/// Whether a reference, in whichever epoch, is the name of a flow.
pub(crate) fn is_flow_name(reference: &str) -> bool {
    let name = reference.split_once('#').map_or(reference, |(name, _)| name);
    name.parse::<ReservationId>().is_ok()
        || name.parse::<PayoutId>().is_ok()
        || name.parse::<PayInId>().is_ok()
}

impl FlowState {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Reservation(_) => "reservation",
            Self::Payout(_) => "payout",
            Self::PayIn(_) => "payin",
            Self::Delivery(_) => "delivery",
        }
    }

    pub fn status(&self) -> &'static str {
        match self {
            Self::Reservation(reservation) => reservation.state.status(),
            Self::Payout(payout) => payout.state.status(),
            Self::PayIn(payin) => payin.state.status(),
            Self::Delivery(delivery) => delivery.state.status(),
        }
    }

    /// The money that it is about, if it is about money.
    pub fn funds(&self) -> Option<&Funds> {
        match self {
            Self::Reservation(reservation) => Some(&reservation.terms.funds),
            Self::Payout(payout) => Some(&payout.terms.funds),
            Self::PayIn(payin) => Some(&payin.terms.funds),
            Self::Delivery(_) => None,
        }
    }

    pub fn payout(&self) -> Option<&Payout> {
        match self {
            Self::Payout(payout) => Some(payout),
            Self::Reservation(_) | Self::PayIn(_) | Self::Delivery(_) => None,
        }
    }

    pub fn payin(&self) -> Option<&PayIn> {
        match self {
            Self::PayIn(payin) => Some(payin),
            Self::Reservation(_) | Self::Payout(_) | Self::Delivery(_) => None,
        }
    }

    pub fn delivery(&self) -> Option<&Delivery> {
        match self {
            Self::Delivery(delivery) => Some(delivery),
            Self::Reservation(_) | Self::Payout(_) | Self::PayIn(_) => None,
        }
    }

    /// The event that tells the merchant that it is so; nobody is told that he is told.
    pub fn event(&self) -> Option<&'static str> {
        match self {
            Self::Reservation(reservation) => Some(reservation.state.event()),
            Self::Payout(payout) => Some(payout.state.event()),
            Self::PayIn(payin) => Some(payin.state.event()),
            Self::Delivery(_) => None,
        }
    }
}

impl Flow {
    /// State and all, as text that later versions can still read.
    pub fn encode(&self) -> String {
        match &self.state {
            FlowState::Reservation(flow) => self.encode_as(flow),
            FlowState::Payout(flow) => self.encode_as(flow),
            FlowState::PayIn(flow) => self.encode_as(flow),
            FlowState::Delivery(flow) => self.encode_as(flow),
        }
    }

    fn encode_as<F: Serialize>(&self, flow: F) -> String {
        to_json(&Versioned { v: 1, parked: self.parked, host: Cow::Borrowed(&self.host), flow })
    }

    /// What `encode` has written.
    pub fn decode(kind: &str, text: &str) -> Result<Kept, UnreadableState> {
        let read = match kind {
            "reservation" => read(text, FlowState::Reservation),
            "payout" => read(text, FlowState::Payout),
            "payin" => read(text, FlowState::PayIn),
            "delivery" => read(text, FlowState::Delivery),
            _ => Err("this version does not know such flows".to_owned()),
        };
        read.map_err(|reason| UnreadableState { kind: kind.to_owned(), reason })
    }
}

/// What is kept of a flow as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub state: FlowState,
    pub parked: Option<Parked>,
    pub host: Host,
}

/// A flow as the stores keep it. A field may be added with a default; anything else is a new version.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Versioned<'h, F> {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parked: Option<Parked>,
    #[serde(default, skip_serializing_if = "is_engine")]
    host: Cow<'h, Host>,
    flow: F,
}

fn is_engine(host: &Host) -> bool {
    host.is_engine()
}

fn read<F: DeserializeOwned>(text: &str, state: fn(F) -> FlowState) -> Result<Kept, String> {
    let stored: Versioned<'_, F> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if stored.v != 1 {
        return Err(format!("version {} is not known here", stored.v));
    }
    let (parked, host) = (stored.parked, stored.host.into_owned());
    Ok(Kept { state: state(stored.flow), parked, host })
}

/// What a flow takes as text, as a rule: room is made once.
const TEXT_USUAL: usize = 640;

/// A value of texts and numbers as JSON.
#[expect(clippy::expect_used, reason = "texts and numbers always have a JSON form")]
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = Vec::with_capacity(TEXT_USUAL);
    serde_json::to_writer(&mut text, value).expect("texts and numbers always have a JSON form");
    String::from_utf8(text).expect("JSON is text")
}
