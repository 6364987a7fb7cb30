//! Tests from outside: the binary as its users meet it, and the rules of the house.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

mod bursar;
mod commands;
mod conformance;
mod ledger;
mod licences;
mod tidy;
