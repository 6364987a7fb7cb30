//! The embedded engine on a real file, with a channel that lies low, refuses and forgets to answer.

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
mod failing;
mod hostile;
mod leases;
mod mail;
mod payouts;
mod poison;
mod request;
#[expect(dead_code, reason = "other tests write files")]
#[path = "../../../bursar-store/tests/it/scratch.rs"]
mod scratch;
mod told;
mod watching;
