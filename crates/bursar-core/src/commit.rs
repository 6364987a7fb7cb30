//! What a turn decided: everything that must be saved, in one transaction, and the answers that may be given after.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::ledger::{Account, Hold, HoldKey, Transaction};
use crate::numscript::Name;
use crate::request::Answer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// In the order in which they were posted; all are inserted at the commit's time.
    pub transactions: Vec<Transaction>,
    pub accounts: Vec<AccountWrite>,
    pub holds: Vec<HoldWrite>,
    /// One for each request of the batch, in its order.
    pub answers: Vec<Answer>,
}

/// The net change of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountWrite {
    pub address: Name,
    /// As the turn leaves it, if nobody else has changed it.
    pub after: Account,
    pub delta: i64,
    /// The least opening balance that the checked debits need; whoever saves must find at least this.
    pub least_opening: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWrite {
    pub key: HoldKey,
    /// As it was read; whoever saves must still find it so.
    pub before: Option<Hold>,
    pub after: Hold,
}

impl Commit {
    /// The insertion time of all its rows; none if there are none.
    pub fn time(&self) -> Option<Timestamp> {
        self.transactions.last().map(|transaction| transaction.inserted_at)
    }

    /// Nothing was decided that must be saved: every request was refused or had been answered before.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }
}

/// A commit as the books keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCommit {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub time: Timestamp,
    pub hash: [u8; 32],
    pub transactions: Vec<Transaction>,
}

/// The link that a commit adds to the chain: a row that changes, goes or moves breaks the link it belongs to.
///
/// Times count in microseconds, as the stores keep them.
pub fn chain(previous: [u8; 32], time: Timestamp, transactions: &[Transaction]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(previous);
    digest.update(time.as_microsecond().to_be_bytes());
    for transaction in transactions {
        for field in [transaction.event.as_bytes(), transaction.reference.as_bytes()] {
            add(&mut digest, field);
        }
        digest.update(transaction.id.uuid().as_bytes());
        digest.update(transaction.request_hash);
        digest.update(transaction.rulebook_hash);
        digest.update(transaction.effective_at.as_microsecond().to_be_bytes());
        let reverts = transaction.reverts.map(|id| id.uuid().into_bytes());
        add(&mut digest, reverts.as_ref().map_or(&[], |bytes| bytes.as_slice()));
        digest.update(u64::try_from(transaction.postings.len()).unwrap_or(u64::MAX).to_be_bytes());
        for posting in &transaction.postings {
            add(&mut digest, posting.source.as_bytes());
            add(&mut digest, posting.destination.as_bytes());
            add(&mut digest, posting.money.currency().code().as_bytes());
            digest.update(posting.money.minor().to_be_bytes());
        }
    }
    digest.finalize().into()
}

/// Length first, so that two fields cannot run together.
fn add(digest: &mut Sha256, field: &[u8]) {
    digest.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
    digest.update(field);
}
