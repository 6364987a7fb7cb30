//! The decision: what an event does to a reservation, and what the ledger must book for it.

use jiff::Timestamp;

use super::event::Event;
use super::state::{Reservation, State};
use crate::ids::ReservationId;
use crate::rejection::Rejection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do.
    Stays,
    /// The ledger books, and only then is the reservation in its new state.
    Moves { state: State, booking: Booking },
}

/// What the ledger does for a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booking {
    Reserve,
    Settle,
    Release,
}

impl Booking {
    /// The event whose rule moves the money.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Reserve => "PAYOUT_RESERVE",
            Self::Settle => "PAYOUT_SETTLE",
            Self::Release => "PAYOUT_RELEASE",
        }
    }
}

/// Money that is still held may be settled however late; once the hold has ended, nothing moves again.
pub fn step(
    id: ReservationId,
    reservation: &Reservation,
    event: Event,
    now: Timestamp,
) -> Result<Step, Rejection> {
    let moves = |state, booking| Ok(Step::Moves { state, booking });
    match (reservation.state, event) {
        (State::Held, Event::SettlementAsked) => moves(State::Settled, Booking::Settle),
        (State::Held, Event::ReleaseAsked) => moves(State::Released, Booking::Release),
        (State::Held, Event::Due) if now < reservation.terms.expires_at => Ok(Step::Stays),
        (State::Held, Event::Due) => moves(State::Expired, Booking::Release),
        (
            State::Settled | State::Released | State::Expired,
            Event::SettlementAsked | Event::ReleaseAsked,
        ) => Err(Rejection::FlowEnded { id: id.to_string(), status: reservation.state.status() }),
        (State::Settled | State::Released | State::Expired, Event::Due) => Ok(Step::Stays),
    }
}
