//! Reproducible randomness, from the seed, the reference and a count.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

/// Four throws for one decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice([u64; 4]);

impl Dice {
    pub(super) fn new(seed: u64, what: &str, reference: &str, count: u32) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_be_bytes());
        hash.update(what);
        hash.update([0]);
        hash.update(reference);
        hash.update(count.to_be_bytes());
        let bytes = hash.finalize();
        let mut throws = bytes.chunks_exact(8).map(|chunk| {
            chunk.iter().fold(0_u64, |sum, byte| sum.wrapping_shl(8) | u64::from(*byte))
        });
        Self([(); 4].map(|()| throws.next().unwrap_or_default()))
    }

    /// One of a thousand.
    pub(super) const fn which(self) -> u64 {
        self.0[0] % 1_000
    }

    pub(super) const fn chance(self, in_a_thousand: u64) -> bool {
        self.0[1] % 1_000 < in_a_thousand
    }

    /// A time between two, in milliseconds.
    pub(super) fn latency(self, (least, most): (u64, u64)) -> Duration {
        between(self.0[2], least, most)
    }

    pub(super) fn delay(self, (least, most): (u64, u64)) -> Duration {
        between(self.0[3], least, most)
    }

    /// A name unique to this decision.
    pub(super) fn name(self) -> String {
        format!("sim-{:012x}", self.0[3] & 0xffff_ffff_ffff)
    }
}

fn between(throw: u64, least: u64, most: u64) -> Duration {
    let span = most.saturating_sub(least).saturating_add(1).max(1);
    Duration::from_millis(least.saturating_add(throw % span))
}
