//! A delivery: one event for one endpoint of a merchant, sent until the endpoint accepts it or it becomes a dead letter.
//!
//! ```text
//! event ──▶ PENDING ──▶ DELIVERING ──2xx──▶ DELIVERED
//!              ▲          │  │  ▲
//!   lost, retry└──────────┘  │  │ due
//!                            ▼  │
//!                      WAITING_RETRY     after the last attempt ──▶ DLQ
//! endpoint disabled or delivery cancelled: PENDING, WAITING_RETRY ──▶ CANCELLED
//! replayed: DLQ, CANCELLED, DELIVERED ──▶ PENDING
//! ```

mod event;
mod machine;
mod retry_policy;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Event, Outcome, Unsendable};
pub use retry_policy::RetryPolicy;
pub use state::{
    AttemptRecord, CANCELLED, DEAD, DeadLetterReason, Delivery, LEASES, Response, Result, State,
    Terms, View, WebhookCall,
};
pub(crate) use state::{FIRST, RETRY, lane};
pub use step::{Context, Step, step};
