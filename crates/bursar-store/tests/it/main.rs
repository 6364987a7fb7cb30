//! One suite for every store: the same requests give the same answers, the same books and the same chain.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

mod adapter;
mod browse;
mod closing;
mod cluster;
mod conformance;
mod deliveries;
mod desk;
mod digest;
mod driven;
mod freezes;
mod golden;
mod histories;
mod office;
mod packed;
mod payins;
mod payout_steps;
mod payouts;
mod postgres;
mod raw;
mod reservations;
mod scratch;
mod sqlite;
mod standing_still;
mod switched_off;
mod unknown;
mod unreadable;
mod unreadable_records;
mod workload;
