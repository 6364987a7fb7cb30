//! The embedded host: requests wait in the inbox, requests that are ready together become one turn, and the effects of a
//! turn run once it is saved; their outcomes are requests of a later turn.
//!
//! `engine` is the loop as a value: inputs in, outputs out, no clock, no waiting. `host` is the thin shell that gives it
//! a store, a clock and the outside; `handle` is the interface for callers.

mod clock;
mod engine;
mod handle;
mod host;
mod outside;
mod stats;

pub use clock::{Clock, SystemClock, TestClock, steadied};
pub use engine::{Cause, EffectDone, Engine, Failed, Input, Limits, Output, Ticket, Unanswered};
pub use handle::{Handle, NotAdvanced};
pub use host::Host;
pub use outside::{Outside, Running, run_in_time};
pub use stats::{Alert, ChannelStats, DeliveryStats, Stats};
