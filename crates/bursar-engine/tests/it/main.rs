//! The embedded engine on real stores, with channels and endpoints that are slow, refuse, fail or never answer.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

#[expect(dead_code, reason = "other tests crash their server and make databases")]
#[path = "../../../bursar-store/tests/it/cluster.rs"]
mod cluster;
mod contended;
mod deliveries;
mod failing;
mod hostile_channel;
mod leases;
mod outside;
mod payouts;
mod poison;
mod request;
#[expect(dead_code, reason = "other tests write files")]
#[path = "../../../bursar-store/tests/it/scratch.rs"]
mod scratch;
mod test_clock;
mod unreadable_reply;
mod webhooks;
