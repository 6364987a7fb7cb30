//! Digests of rows that stores derive, independent of their order.

use sha2::{Digest as _, Sha256};

use crate::ids::FlowId;

/// A digest of the labels of flows, independent of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelDigest {
    pub(super) labels: u64,
    /// Sum of a digest of each label.
    sum: u64,
}

impl LabelDigest {
    pub fn add(&mut self, label: &str, flow: FlowId) {
        let hash =
            Sha256::new().chain_update(flow.uuid().as_bytes()).chain_update(label.as_bytes());
        self.labels = self.labels.saturating_add(1);
        self.sum = self.sum.wrapping_add(first_number(hash));
    }
}

/// A number that identifies what was hashed.
fn first_number(hash: Sha256) -> u64 {
    let bytes: [u8; 32] = hash.finalize().into();
    bytes.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default()
}

/// A digest of the account index: entries of transactions by account, independent of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexedEntries {
    /// The last commit whose transactions are indexed.
    pub(super) until: u64,
    pub(super) entries: u64,
    /// Sum of a digest of each entry.
    sum: u64,
}

impl IndexedEntries {
    pub fn until(commit: u64) -> Self {
        Self { until: commit, ..Self::default() }
    }

    /// Adds a transaction of an account: commit, and position in it.
    pub fn add(&mut self, account: &str, commit: u64, n: u64) {
        let mut hash = Sha256::new();
        hash.update(commit.to_be_bytes());
        hash.update(n.to_be_bytes());
        hash.update(account.as_bytes());
        self.entries = self.entries.saturating_add(1);
        self.sum = self.sum.wrapping_add(first_number(hash));
    }
}
