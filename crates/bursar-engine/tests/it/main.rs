//! The embedded engine on a real file, with a channel that lies low, refuses and forgets to answer.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod hostile;
mod payouts;
#[expect(dead_code, reason = "other tests write files")]
#[path = "../../../bursar-store/tests/it/scratch.rs"]
mod scratch;
