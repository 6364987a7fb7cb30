//! Flows: pure state machines that wait for exactly one thing, and how they are kept.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::{FlowId, PayoutId, ReservationId};
use crate::payout::Payout;
use crate::reservation::Reservation;

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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowState {
    Reservation(Reservation),
    Payout(Box<Payout>),
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
    pub fn due(&self) -> Option<Due> {
        match &self.state {
            FlowState::Reservation(reservation) => reservation.due(),
            FlowState::Payout(payout) => payout.due(),
        }
    }

    /// The name under which people know it, and the reference of everything that the ledger books for it.
    pub fn name(&self) -> String {
        match &self.state {
            FlowState::Reservation(_) => ReservationId::from_uuid(self.id.uuid()).to_string(),
            FlowState::Payout(_) => PayoutId::from_uuid(self.id.uuid()).to_string(),
        }
    }
}

/// Whether a reference, in whichever epoch, is the name of a flow.
pub(crate) fn is_flow_name(reference: &str) -> bool {
    let name = reference.split_once('#').map_or(reference, |(name, _)| name);
    name.parse::<ReservationId>().is_ok() || name.parse::<PayoutId>().is_ok()
}

impl FlowState {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Reservation(_) => "reservation",
            Self::Payout(_) => "payout",
        }
    }

    pub fn status(&self) -> &'static str {
        match self {
            Self::Reservation(reservation) => reservation.state.status(),
            Self::Payout(payout) => payout.state.status(),
        }
    }

    pub fn payout(&self) -> Option<&Payout> {
        match self {
            Self::Payout(payout) => Some(payout),
            Self::Reservation(_) => None,
        }
    }

    /// The event that tells the merchant that it is so.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Reservation(reservation) => reservation.state.event(),
            Self::Payout(payout) => payout.state.event(),
        }
    }

    /// As text that later versions can still read.
    pub fn encode(&self) -> String {
        match self {
            Self::Reservation(reservation) => to_json(&Versioned { v: 1, flow: reservation }),
            Self::Payout(payout) => to_json(&Versioned { v: 1, flow: payout }),
        }
    }

    pub fn decode(kind: &str, text: &str) -> Result<Self, UnreadableState> {
        let unreadable = |reason: String| UnreadableState { kind: kind.to_owned(), reason };
        match kind {
            "reservation" => read(text).map(Self::Reservation).map_err(unreadable),
            "payout" => read(text).map(Self::Payout).map_err(unreadable),
            _ => Err(unreadable("this version does not know such flows".to_owned())),
        }
    }
}

/// A flow as the stores keep it. A field may be added with a default; anything else is a new version.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Versioned<F> {
    v: u32,
    flow: F,
}

fn read<F: DeserializeOwned>(text: &str) -> Result<F, String> {
    let stored: Versioned<F> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if stored.v == 1 {
        Ok(stored.flow)
    } else {
        Err(format!("version {} is not known here", stored.v))
    }
}

/// A value of texts and numbers as JSON.
#[expect(clippy::expect_used, reason = "texts and numbers always have a JSON form")]
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers always have a JSON form")
}
