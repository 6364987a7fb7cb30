//! A delivery: one event for one endpoint of a merchant, sent until it is taken, or put where somebody sees it.
//!
//! ```text
//! told ──▶ PENDING ──▶ DELIVERING ──2xx──▶ DELIVERED
//!             ▲          │  │  ▲
//!   lost, now └──────────┘  │  │ due
//!                           ▼  │
//!                     WAITING_RETRY     after the last attempt ──▶ DLQ
//! endpoint off: whatever is not being sent ──▶ CANCELLED        replayed: DLQ, CANCELLED, DELIVERED ──▶ PENDING
//! ```

mod event;
mod schedule;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Event, Outcome, Unsendable};
pub use schedule::Schedule;
pub use state::{
    Attempted, CANCELLED, DEAD, Deadlettered, Delivery, LEASES, Parcel, Response, Result, State,
    Terms, View,
};
pub use step::{Context, Step, step};

pub(crate) use state::{FIRST, RETRY, lane};
pub(crate) use step::{give_up, is_buried_by};
