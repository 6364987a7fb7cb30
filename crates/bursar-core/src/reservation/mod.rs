//! A reservation: a merchant's money put aside until it is settled, released, or nobody has said a word in time.
//!
//! ```text
//!               settlement asked
//!            ┌──────────────────▶ Settled    the money has left through the bank
//! reserve ──▶ Held ─────────────▶ Released   the merchant has it back
//!            │  release asked
//!            └──────────────────▶ Expired    due: the merchant has it back
//! ```

mod event;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Decision, Event, NewReservation, Verdict};
pub use state::{Reservation, State, Terms, View};
pub use step::{Booking, Step, step};

/// Where reservations wait for their time.
pub const LANE: &str = "reservation";
