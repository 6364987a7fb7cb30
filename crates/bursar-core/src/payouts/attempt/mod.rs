//! An attempt: one submission to one channel under one reference, and the knowledge about it.
//!
//! Knowledge only grows. Evidence may come late, early, twice or in any order; the same evidence gives the same
//! knowledge.
//!
//! ```text
//!                              ┌────────────▶ Paid ──▶ Returned
//! NotSent ──▶ InFlight ──▶ Unknown ──▶ Accepted ┤
//!    ▲            │            │                └──▶ NotPaid
//!    └─ not sent ─┴────────────┘            Paid and NotPaid ──▶ Conflict
//! ```
//!
//! Evidence of another amount than was asked for is stronger than all of it: only an operator can decide.

mod event;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Evidence, Reported, Source, Verdict};
pub use state::{Attempt, Knowledge};
