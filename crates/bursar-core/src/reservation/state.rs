//! What a reservation is: its terms, which never change, and where it stands.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::LANE;
use crate::flow::{Due, Flow};
use crate::ids::ReservationId;
use crate::money::{Currency, Money};
use crate::rulebook::Rule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub terms: Terms,
    pub state: State,
}

/// What was agreed when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub merchant: String,
    /// The bank that pays if it is settled.
    pub bank: String,
    pub amount: Money,
    pub fee: Money,
    pub vat: Money,
    /// Held until then, unless somebody decides before.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

impl Terms {
    /// The variables that a rule asks for.
    pub(crate) fn variables(&self, rule: &Rule) -> BTreeMap<String, String> {
        let value = |name: &String| match name.as_str() {
            "merchantId" => Some(self.merchant.clone()),
            "bankId" => Some(self.bank.clone()),
            "currency" => Some(self.amount.currency().to_string()),
            "amount" => Some(self.amount.to_string()),
            "fee" => Some(self.fee.to_string()),
            "vat" => Some(self.vat.to_string()),
            _ => None,
        };
        rule.variables().iter().filter_map(|name| Some((name.clone(), value(name)?))).collect()
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
        Self {
            id: ReservationId::from_uuid(flow.id.uuid()).to_string(),
            status: state.status().to_owned(),
            is_final: state.is_final(),
            version: flow.version,
            merchant_id: terms.merchant.clone(),
            amount: terms.amount.to_string(),
            fee: terms.fee.to_string(),
            vat: terms.vat.to_string(),
            currency: terms.amount.currency().to_string(),
            expires_at: terms.expires_at,
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}

/// A reservation as the stores keep it. A field may be added with a default; anything else is a new version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stored {
    v: u32,
    state: State,
    merchant: String,
    bank: String,
    currency: String,
    amount: i64,
    fee: i64,
    vat: i64,
    expires_at: Timestamp,
}

impl From<&Reservation> for Stored {
    fn from(reservation: &Reservation) -> Self {
        let Reservation { terms, state } = reservation;
        Self {
            v: 1,
            state: *state,
            merchant: terms.merchant.clone(),
            bank: terms.bank.clone(),
            currency: terms.amount.currency().to_string(),
            amount: terms.amount.minor(),
            fee: terms.fee.minor(),
            vat: terms.vat.minor(),
            expires_at: terms.expires_at,
        }
    }
}

impl TryFrom<Stored> for Reservation {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        if stored.v != 1 {
            return Err(format!("version {} of a reservation is not known here", stored.v));
        }
        let currency: Currency = stored.currency.parse().map_err(|error| format!("{error}"))?;
        let money = |minor| Money::from_minor(minor, currency);
        let terms = Terms {
            merchant: stored.merchant,
            bank: stored.bank,
            amount: money(stored.amount),
            fee: money(stored.fee),
            vat: money(stored.vat),
            expires_at: stored.expires_at,
        };
        Ok(Self { terms, state: stored.state })
    }
}
