//! Integration tests of the binary, and the rules of CONTRIBUTING.md.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

mod api;
mod attack;
mod bench;
mod bursar;
mod caller;
mod chaos;
mod client;
#[path = "../../../bursar-store/tests/it/cluster.rs"]
mod cluster;
mod commands;
mod conformance;
mod demo;
mod dev_server;
mod fuzz;
mod kill;
mod ledger;
mod licences;
mod process;
mod readme;
mod receiver;
mod refusals;
#[path = "../../../bursar-store/tests/it/scratch.rs"]
mod scratch;
mod serve;
mod simulate;
mod simulate_channel;
#[cfg(feature = "temporal")]
mod temporal;
mod tidy;
mod verify;
mod views;
