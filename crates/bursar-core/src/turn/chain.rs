//! The hash chain over commits. A row that changes, disappears or moves breaks the link of its commit.
//!
//! A commit has three sections: transactions, events, audit entries. Since version 2 the digest of each section is stored
//! with the commit, so that a section may be archived and the chain is still verified without it. Commits of version 1
//! have one digest over all rows, which is not stored.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::commit::Appended;
use crate::feed::{AuditEntry, FeedEvent};
use crate::ledger::Transaction;

/// A commit as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCommit {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub time: Timestamp,
    pub hash: [u8; 32],
    pub link: Link,
    pub transactions: Vec<Transaction>,
    pub events: Vec<FeedEvent>,
    pub audit: Vec<AuditEntry>,
}

/// How the hash of a commit follows from its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    V1,
    V2 {
        digests: Digests,
        /// Sections that are marked as moved to an archive.
        archived: Sections<bool>,
    },
    /// The stored columns are those of no version that this process knows.
    Unknown {
        version: i64,
    },
}

impl Link {
    /// The link of a new commit with these digests.
    pub fn new(digests: Digests) -> Self {
        Self::V2 { digests, archived: Sections::default() }
    }
}

/// One value for each section of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sections<T> {
    pub transactions: T,
    pub events: T,
    pub audit: T,
}

/// The digests of the sections. They do not depend on the previous link, so they can be computed before it is known.
pub type Digests = Sections<[u8; 32]>;

impl<T> Sections<T> {
    pub fn zip<U>(self, other: Sections<U>) -> Sections<(T, U)> {
        Sections {
            transactions: (self.transactions, other.transactions),
            events: (self.events, other.events),
            audit: (self.audit, other.audit),
        }
    }

    /// The values with the names of their sections.
    pub fn named(self) -> [(&'static str, T); 3] {
        [
            ("transactions", self.transactions),
            ("events", self.events),
            ("audit entries", self.audit),
        ]
    }
}

impl Digests {
    /// The stored form: transactions, events, audit entries.
    pub fn to_bytes(self) -> [u8; 96] {
        let mut bytes = [0; 96];
        let parts = bytes.chunks_exact_mut(32).zip([self.transactions, self.events, self.audit]);
        parts.for_each(|(part, digest)| part.copy_from_slice(&digest));
        bytes
    }

    /// None unless these are 96 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (parts, []) = bytes.as_chunks() else { return None };
        let [transactions, events, audit] = *parts else { return None };
        Some(Self { transactions, events, audit })
    }
}

impl Sections<bool> {
    /// The stored form: 1 for transactions, 2 for events, 4 for audit entries. None for other bits.
    pub const fn from_bits(bits: i64) -> Option<Self> {
        if bits & !7 != 0 {
            return None;
        }
        Some(Self { transactions: bits & 1 != 0, events: bits & 2 != 0, audit: bits & 4 != 0 })
    }
}

/// The link that a commit adds to the chain. Times count in microseconds, as the stores keep them.
pub fn chain(previous: [u8; 32], time: Timestamp, digests: &Digests) -> [u8; 32] {
    link(previous, time, &digests.to_bytes())
}

fn link(previous: [u8; 32], time: Timestamp, rows: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(time.as_microsecond().to_be_bytes());
    hash.update(rows);
    hash.finalize().into()
}

impl SavedCommit {
    pub fn appended(&self) -> Appended<'_> {
        Appended { transactions: &self.transactions, events: &self.events, audit: &self.audit }
    }

    /// The hash that it must have after the previous commit. None if it is linked in an unknown version.
    pub fn expected_hash(&self, previous: [u8; 32]) -> Option<[u8; 32]> {
        match &self.link {
            Link::V1 => Some(link(previous, self.time, &self.appended().digest_v1())),
            Link::V2 { digests, .. } => Some(chain(previous, self.time, digests)),
            Link::Unknown { .. } => None,
        }
    }
}

impl Appended<'_> {
    pub fn digests(self) -> Digests {
        Sections {
            transactions: section(self.transactions, add_transaction),
            events: section(self.events, add_event),
            audit: section(self.audit, add_entry),
        }
    }

    fn digest_v1(self) -> [u8; 32] {
        let Self { transactions, events, audit } = self;
        let mut hash = Sha256::new();
        let mut row = Vec::new();
        for length in [transactions.len(), events.len(), audit.len()] {
            count(&mut row, length);
        }
        add_rows(&mut hash, &mut row, transactions, add_transaction);
        add_rows(&mut hash, &mut row, events, add_event);
        add_rows(&mut hash, &mut row, audit, add_entry);
        hash.update(&row);
        hash.finalize().into()
    }
}

fn section<R>(rows: &[R], add: impl Fn(&mut Vec<u8>, &R)) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut row = Vec::new();
    count(&mut row, rows.len());
    add_rows(&mut hash, &mut row, rows, add);
    hash.update(&row);
    hash.finalize().into()
}

/// One update for each row: many small updates would cost more than the hash.
fn add_rows<R>(hash: &mut Sha256, row: &mut Vec<u8>, rows: &[R], add: impl Fn(&mut Vec<u8>, &R)) {
    for each in rows {
        add(row, each);
        hash.update(&row);
        row.clear();
    }
}

fn add_event(row: &mut Vec<u8>, event: &FeedEvent) {
    row.extend(event.id.uuid().as_bytes());
    row.extend(event.sequence.to_be_bytes());
    row.extend(event.time.as_microsecond().to_be_bytes());
    for field in [&event.kind, &event.resource, &event.merchant, &event.data] {
        add(row, field.as_bytes());
    }
}

fn add_entry(row: &mut Vec<u8>, entry: &AuditEntry) {
    row.extend(entry.time.as_microsecond().to_be_bytes());
    for field in [&entry.actor, &entry.action, &entry.resource, &entry.note] {
        add(row, field.as_bytes());
    }
}

fn add_transaction(row: &mut Vec<u8>, transaction: &Transaction) {
    add(row, transaction.event.as_bytes());
    add(row, transaction.reference.as_bytes());
    row.extend(transaction.id.uuid().as_bytes());
    row.extend(transaction.request_hash);
    row.extend(transaction.rulebook_hash);
    row.extend(transaction.effective_at.as_microsecond().to_be_bytes());
    let reverts = transaction.reverts.map(|id| id.uuid().into_bytes());
    add(row, reverts.as_ref().map_or(&[], |bytes| bytes.as_slice()));
    count(row, transaction.postings.len());
    for posting in &transaction.postings {
        add(row, posting.source.as_bytes());
        add(row, posting.destination.as_bytes());
        add(row, posting.money.currency().code().as_bytes());
        row.extend(posting.money.minor().to_be_bytes());
    }
}

/// Length prefix, so that two adjacent fields cannot be confused.
fn add(row: &mut Vec<u8>, field: &[u8]) {
    count(row, field.len());
    row.extend(field);
}

fn count(row: &mut Vec<u8>, length: usize) {
    row.extend(u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes());
}
