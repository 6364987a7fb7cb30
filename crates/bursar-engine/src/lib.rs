//! The embedded host: whatever is asked waits in the inbox, what is ready together becomes one turn, and what the turn
//! decided is done once it is saved; the outcome comes back to the inbox.
//!
//! `engine` is the loop as a value: inputs in, outputs out, no clock, no waiting. `host` is the thin shell that gives it
//! a store, a clock, channels and a courier; `handle` is what everybody else holds.

mod channels;
mod clock;
mod courier;
mod engine;
mod handle;
mod host;
mod stats;

pub use channels::{Channels, lost, run_in_time};
pub use clock::{Clock, SystemClock, TestClock, steadied};
pub use courier::{Courier, not_sent, send_in_time};
pub use engine::{
    CameBack, Cause, Engine, Failed, Input, Limits, Output, Returned, Ticket, Unanswered,
};
pub use handle::{Handle, NotAdvanced};
pub use host::Host;
pub use stats::{Alert, ChannelStats, DeliveryStats, Stats};
