//! Composition of one Bursar process: configuration, engine, API and channels. Also shared by the commands: terminal output,
//! reports, failures and the HTTP client of a running server.

pub mod books;
pub mod client;
pub mod cluster_args;
pub mod config;
pub mod failure;
mod files;
pub mod host;
pub mod node;
mod outside;
pub mod report;
pub mod rulebook;
pub mod signals;
#[cfg(feature = "temporal")]
pub mod temporal;
pub mod terminal;
pub mod vault;
pub mod witness;
