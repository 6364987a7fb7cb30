//! The embedded host: whatever is asked waits in the inbox, what is ready together becomes one turn, and what the turn
//! decided is done once it is saved; the outcome comes back to the inbox.
//!
//! `engine` is the loop as a value: inputs in, outputs out, no clock, no waiting. `host` is the thin shell that gives it
//! a store, a clock and channels.

mod engine;
mod host;

pub use engine::{Engine, Input, Limits, Output, Returned, Ticket, Unanswered};
pub use host::{Channels, Clock, Handle, Host, SystemClock};
