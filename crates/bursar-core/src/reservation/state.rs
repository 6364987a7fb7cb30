//! What a reservation is: its terms, which never change, and where it stands.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::LANE;
use crate::flow::{Due, Flow};
use crate::funds::Funds;
use crate::ids::ReservationId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    pub terms: Terms,
    pub state: State,
}

/// What was agreed when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub funds: Funds,
    /// Held until then, unless somebody decides before.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Held,
    Settled,
    Released,
    Expired,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Held, Self::Settled, Self::Released, Self::Expired];

    pub const fn is_final(self) -> bool {
        match self {
            Self::Held => false,
            Self::Settled | Self::Released | Self::Expired => true,
        }
    }

    pub const fn status(self) -> &'static str {
        match self {
            Self::Held => "HELD",
            Self::Settled => "SETTLED",
            Self::Released => "RELEASED",
            Self::Expired => "EXPIRED",
        }
    }

    /// The event that tells the merchant about it.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Held => "reservation.held",
            Self::Settled => "reservation.settled",
            Self::Released => "reservation.released",
            Self::Expired => "reservation.expired",
        }
    }
}

impl Reservation {
    /// What it waits for: nothing, once it is over.
    pub fn due(&self) -> Option<Due> {
        match self.state {
            State::Held => Some(Due { lane: LANE.to_owned(), at: self.terms.expires_at }),
            State::Settled | State::Released | State::Expired => None,
        }
    }
}

/// A reservation as people see it: in answers and in the events that are told to the merchant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub id: String,
    pub status: String,
    #[serde(rename = "final")]
    pub is_final: bool,
    pub version: u64,
    pub merchant_id: String,
    pub amount: String,
    pub fee: String,
    pub vat: String,
    pub currency: String,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl View {
    pub fn new(flow: &Flow, reservation: &Reservation) -> Self {
        let Reservation { terms, state } = reservation;
        let Funds { merchant, amount, fee, vat, .. } = &terms.funds;
        Self {
            id: ReservationId::from_uuid(flow.id.uuid()).to_string(),
            status: state.status().to_owned(),
            is_final: state.is_final(),
            version: flow.version,
            merchant_id: merchant.clone(),
            amount: amount.to_string(),
            fee: fee.to_string(),
            vat: vat.to_string(),
            currency: amount.currency().to_string(),
            expires_at: terms.expires_at,
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}
