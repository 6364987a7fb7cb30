//! The result of a turn: the rows that the store saves in one transaction, and the answers that the engine gives
//! afterwards.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::feed::{AuditEntry, FeedEvent};
use crate::flow::{Due, Effect, Flow};
use crate::freezes::ControlWrite;
use crate::idempotency::KnownKey;
use crate::ledger::{Account, Hold, HoldKey, Transaction};
use crate::numscript::Name;
use crate::registry::{RecordKey, RecordWrite};
use crate::turn::Answer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The insertion time of all rows; none if there is nothing to save.
    pub time: Option<Timestamp>,
    /// In posting order.
    pub transactions: Vec<Transaction>,
    pub accounts: Vec<AccountWrite>,
    pub holds: Vec<HoldWrite>,
    pub flows: Vec<FlowWrite>,
    pub keys: Vec<KnownKey>,
    /// In the order of the requests that emitted them.
    pub events: Vec<FeedEvent>,
    pub audit: Vec<AuditEntry>,
    pub control: Option<ControlWrite>,
    /// New and changed registry records.
    pub records: Vec<RecordWrite>,
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless these records still have
    /// these versions.
    pub relied_on: Vec<(RecordKey, u64)>,
    /// Effects to run after the commit is saved.
    pub effects: Vec<Effect>,
    /// One for each request of the batch, in the same order.
    pub answers: Vec<Answer>,
}

/// The net change of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountWrite {
    pub address: Name,
    /// The account after the turn, unless another commit changes it.
    pub after: Account,
    pub delta: i64,
    /// Precondition: the checked debits need this opening balance. The store rejects the commit with `Conflict` if the
    /// balance is lower.
    pub least_opening: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWrite {
    pub key: HoldKey,
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless the hold is still as it was
    /// read.
    pub before: Option<Hold>,
    pub after: Hold,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowWrite {
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless the flow still has the
    /// version that was read.
    pub before: Option<Arc<Flow>>,
    pub after: Arc<Flow>,
}

/// The rows that a commit appends and that never change again.
#[derive(Debug, Clone, Copy)]
pub struct Appended<'c> {
    pub transactions: &'c [Transaction],
    pub events: &'c [FeedEvent],
    pub audit: &'c [AuditEntry],
}

impl FlowWrite {
    /// Lane and time of the flow when it was read.
    pub fn due_before(&self) -> Option<Due> {
        self.before.as_ref().and_then(|flow| flow.due())
    }

    /// External references that were added since the flow was read: channel or provider, and reference.
    pub fn new_references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let known = self.before.as_ref().map_or(0, |flow| flow.references().count());
        self.after.references().skip(known)
    }
}

impl Commit {
    pub fn appended(&self) -> Appended<'_> {
        Appended { transactions: &self.transactions, events: &self.events, audit: &self.audit }
    }
}

/// A commit as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCommit {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub time: Timestamp,
    pub hash: [u8; 32],
    pub transactions: Vec<Transaction>,
    pub events: Vec<FeedEvent>,
    pub audit: Vec<AuditEntry>,
}

impl SavedCommit {
    pub fn appended(&self) -> Appended<'_> {
        Appended { transactions: &self.transactions, events: &self.events, audit: &self.audit }
    }
}

/// The link that a commit adds to the hash chain. A row that changes, disappears or moves breaks the link of its
/// commit.
///
/// Times count in microseconds, as the stores keep them.
pub fn chain(previous: [u8; 32], time: Timestamp, rows: RowsDigest) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(time.as_microsecond().to_be_bytes());
    hash.update(rows.0);
    hash.finalize().into()
}

/// Digest of the appended rows. It does not depend on the previous link, so it can be computed before that link is
/// known.
#[derive(Debug, Clone, Copy)]
pub struct RowsDigest([u8; 32]);

impl Appended<'_> {
    pub fn digest(self) -> RowsDigest {
        let Self { transactions, events, audit } = self;
        let mut hash = Sha256::new();
        // One update for each row: many small updates would cost more than the hash.
        let mut row = Vec::new();
        for length in [transactions.len(), events.len(), audit.len()] {
            count(&mut row, length);
        }
        for transaction in transactions {
            add_transaction(&mut row, transaction);
            hash.update(&row);
            row.clear();
        }
        for event in events {
            row.extend(event.id.uuid().as_bytes());
            row.extend(event.sequence.to_be_bytes());
            row.extend(event.time.as_microsecond().to_be_bytes());
            for field in [&event.kind, &event.resource, &event.merchant, &event.data] {
                add(&mut row, field.as_bytes());
            }
            hash.update(&row);
            row.clear();
        }
        for entry in audit {
            row.extend(entry.time.as_microsecond().to_be_bytes());
            for field in [&entry.actor, &entry.action, &entry.resource, &entry.note] {
                add(&mut row, field.as_bytes());
            }
        }
        hash.update(&row);
        RowsDigest(hash.finalize().into())
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
