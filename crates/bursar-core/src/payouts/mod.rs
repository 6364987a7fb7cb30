//! A payout: pays a beneficiary once, and releases the money if the channel did not pay.
//!
//! Every step merges the evidence into its attempt, then decides from the knowledge. The money is on hold from the first
//! state on; it is settled only if it was paid, and released only if it was not.
//!
//! ```text
//! create ──┬────────────▶  READY ◀─── not sent, try again ───┐
//!          ▼                 │   ◀── refused for now ────┐   │
//!      SCHEDULED ──┐      submit                          │   │
//!          │    at its       ▼                            │   │
//!      cancelled  time ▶ SUBMITTING ── no answer ──▶ UNCONFIRMED ── no evidence ───▶ STUCK
//!                            │                            │                            │
//!                         accepted ──▶ PROCESSING ── too long ─────────────────────────┤
//!                                         │                                         operator
//!                             paid        ▼       not paid                           decides
//!               SUCCESS ◀─────────── evidence ────────────▶ FAILED                     │
//!                  │                                          │ ◀────────────────────────┘
//!              returned                                paid after release
//!                  ▼                                          ▼
//!               RETURNED ◀───────────────────────────── LATE_SUCCESS
//! ```

mod advance;
mod apply;
pub mod attempt;
mod beneficiary;
mod bookings;
mod call;
pub mod channel;
mod client_metadata;
mod decide;
mod event;
mod evidence;
mod lane;
mod machine;
mod recheck;
mod reported_payment;
mod request;
mod review;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod view;

pub use advance::{Advance, advance};
pub use beneficiary::{Beneficiary, MaskedBeneficiary};
pub use call::{Call, Order};
pub use client_metadata::ClientMetadata;
pub use event::{Answer, Decision, Event, ManualDecision, Outcome, UNMAPPED, When};
pub use lane::{LANE, lease_lane, submit_lane};
pub use recheck::{Recheck, Restored, Stage};
pub use reported_payment::{ReportedPayment, ReportedStatus};
pub(crate) use request::Ready;
pub use request::{
    AskAgain, Callback, Cancel, Cancellation, Create, NewPayout, Reply, Request, Reschedule,
    Resolution, Resolve,
};
pub use state::{Discrepancy, Payout, Proposal, State, StuckReason, Terms, Wait};
pub use step::{ATTEMPTS_MAX, Booking, Context, Effect, Step, step};
pub use view::{PendingDecision, View};
