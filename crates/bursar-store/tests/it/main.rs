//! One suite for every store: the same requests give the same answers, the same books and the same chain.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

mod conformance;
mod scratch;
mod sqlite;
mod workload;
