//! Channels from outside: real sockets, scripted servers that misbehave, and the simulator.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

mod conformance;
mod effects;
mod kept;
mod script;
mod simulator;
mod tls;
