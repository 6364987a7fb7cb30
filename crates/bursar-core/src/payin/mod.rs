//! A pay-in: what a provider says about money that a customer paid to a merchant, and the booking of it, once.
//!
//! A provider may speak several times about one reference, in any order; every word is kept, and the merchant is
//! credited once.
//!
//! ```text
//! told ──▶ PENDING ──▶ COLLECTED   booked: the merchant has the net, fee and VAT are ours
//!             │           ▲  │
//!             ▼           │  └──▶ said to have failed after all: stays booked, somebody must look
//!           FAILED ───────┘
//! ```

mod event;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use event::lookup;
pub use event::{NewPayIn, Said};
pub use state::{Heard, PayIn, State, Terms, View};
pub use step::{BOOKING, Step, step};
