//! What may happen to a reservation, and what people may ask for.

use jiff::Timestamp;

use crate::funds::{Funds, parse_money};
use crate::ids::ReservationId;
use crate::ledger::to_microseconds;
use crate::rejection::Rejection;
use crate::reservation::Terms;
use crate::rulebook::RequestHash;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    SettlementAsked,
    ReleaseAsked,
    /// Its time may have come.
    Due,
}

impl Event {
    pub const ALL: [Self; 3] = [Self::SettlementAsked, Self::ReleaseAsked, Self::Due];
}

/// Money to put aside. Amounts are decimals, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReservation {
    pub merchant: String,
    pub bank: String,
    pub currency: String,
    pub amount: String,
    pub fee: String,
    pub vat: String,
    pub expires_at: Timestamp,
}

impl NewReservation {
    pub(crate) fn terms(&self) -> Result<Terms, Rejection> {
        let money = |name: &str, text: &str| parse_money(name, text, &self.currency);
        let funds = Funds {
            merchant: self.merchant.clone(),
            bank: self.bank.clone(),
            amount: money("amount", &self.amount)?,
            fee: money("fee", &self.fee)?,
            vat: money("vat", &self.vat)?,
        };
        Ok(Terms { funds, expires_at: to_microseconds(self.expires_at) })
    }
}

impl Terms {
    /// The same for every spelling of the same terms.
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let mut hash = RequestHash::new("reserve", "", None);
        self.funds.add_to(&mut hash);
        hash.add("expires_at", &self.expires_at.as_microsecond().to_string());
        hash.finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Settle,
    Release,
}

impl Verdict {
    pub(crate) const fn event(self) -> Event {
        match self {
            Self::Settle => Event::SettlementAsked,
            Self::Release => Event::ReleaseAsked,
        }
    }

    /// The action, as the audit names it.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Settle => "reservation.settle",
            Self::Release => "reservation.release",
        }
    }
}

/// Somebody decides what becomes of the money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub id: ReservationId,
    pub verdict: Verdict,
    /// The version that they looked at; a later one is not decided unseen.
    pub expected_version: Option<u64>,
    pub actor: String,
    pub note: String,
}

impl Decision {
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let version = self.expected_version.map_or(String::new(), |version| version.to_string());
        let mut hash = RequestHash::new(self.verdict.action(), &self.id.to_string(), None);
        hash.add("expected_version", &version);
        hash.add("actor", &self.actor);
        hash.add("note", &self.note);
        hash.finish()
    }
}
