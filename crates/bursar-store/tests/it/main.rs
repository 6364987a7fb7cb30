//! One suite for all stores: the same requests give the same answers, the same books and the same hash chain.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod adapter;
mod approvals;
mod browse;
mod closings;
mod cluster;
mod conformance;
mod deliveries;
mod desk;
mod digest;
mod disabled_endpoints;
mod endpoints;
mod freezes;
mod golden;
mod histories;
mod lists;
mod merchant_changes;
mod old_books;
mod old_lanes;
mod older_events;
mod ownership;
mod packed_postings;
mod payin_cases;
mod payins;
mod payout_steps;
mod payouts;
mod postgres;
mod queues;
mod rates;
mod raw;
mod references;
mod restores;
mod scratch;
mod sqlite;
mod stalled_turn;
mod stores;
mod tls;
mod unknown_outcome;
mod unreadable;
mod unreadable_records;
mod workflows;
mod workload;
