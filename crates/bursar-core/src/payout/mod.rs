//! A payout: the promise to pay somebody once, and to give the money back if that did not happen.
//!
//! Every step is: merge the evidence into the attempt that it is about, then decide from what is known. The money is on
//! hold from the first state on; it is settled only if it was paid and released only if it was not.
//!
//! ```text
//! create ──▶ SCHEDULED ──▶ READY ◀─── not sent, try again ───┐
//!               │            │   ◀── refused for now ────┐   │
//!            cancelled    submit                          │   │
//!               │            ▼                            │   │
//!               └──────  SUBMITTING ── no answer ──▶ UNCONFIRMED ── asked in vain ──▶ STUCK
//!                            │                            │                            │
//!                         accepted ──▶ PROCESSING ── too long ─────────────────────────┤
//!                                         │                                         somebody
//!                             paid        ▼       not paid                           decides
//!               SUCCESS ◀───────── what is known ─────────▶ FAILED                     │
//!                  │                                          │ ◀────────────────────────┘
//!            it came back                               it was paid after all
//!                  ▼                                          ▼
//!               RETURNED ◀───────────────────────────── LATE_SUCCESS
//! ```

mod advance;
mod decide;
mod event;
mod lane;
mod request;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use advance::{Advance, advance};
pub use event::{Answer, Decision, Event, Outcome, Ruling};
pub use lane::{LANE, schedule_lane, submit_lane};
pub use request::{Cancellation, NewPayout, PendingDecision, Resolution, View};
pub use state::{Beneficiary, Case, Payout, Proposal, Remarks, State, StuckReason, Terms, Wait};
pub use step::{Booking, Context, Effect, Step, step};
