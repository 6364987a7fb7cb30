//! Composition of one Bursar process: configuration, engine, API and channels; and what the commands share: terminal, reports,
//! failures and the HTTP client of a running server.

pub mod client;
pub mod config;
pub mod failure;
pub mod host;
pub mod node;
pub mod report;
pub mod rulebook;
pub mod signals;
#[cfg(feature = "temporal")]
pub mod temporal;
pub mod terminal;
pub mod vault;
pub mod visit;
