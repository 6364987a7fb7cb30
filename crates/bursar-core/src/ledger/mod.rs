//! The ledger: accounts, holds and an append-only list of transactions, as values in memory.
//!
//! `post` takes an event with the time and the seed of its admission. It either appends one transaction, or returns a
//! rejection and changes nothing. Only the ledger computes balances.

pub mod chart;
pub mod closing;
pub mod funds;
mod hold;
pub mod journal;
mod line;
mod post;
pub mod pricing;
mod request;
mod revert;
pub mod rulebook;
#[cfg(test)]
mod tests;
pub mod verify;
pub mod views;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

pub use hold::{Hold, HoldKey, HoldState};
pub(crate) use request::Ready;
pub use request::{Closed, Post, Reply, Request};
pub use revert::{REVERT, Revert, RevertOverdraft};

use crate::ids::{Seed, TransactionId};
use crate::ledger::chart::GlAccount;
use crate::ledger::journal::Posting;
use crate::money::{Currency, Money};
use crate::numscript::Name;
use crate::turn::tracked::Tracked;
use crate::turn::{AccountWrite, Answer, Commit, HoldWrite, KnownReference, ReadSet};

/// A business event to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEvent {
    pub name: String,
    /// Unique per event name.
    pub reference: String,
    pub variables: BTreeMap<String, String>,
    /// When it happened, if not now.
    pub effective_at: Option<Timestamp>,
}

/// The time and the seed of an admitted request.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    pub now: Timestamp,
    pub seed: Seed,
}

/// Times count in microseconds, as the stores keep them.
pub(crate) fn to_microseconds(time: Timestamp) -> Timestamp {
    // Microseconds cannot represent the end of the last second, so its beginning is used.
    let kept = Timestamp::from_microsecond(time.as_microsecond());
    kept.or_else(|_| Timestamp::from_second(time.as_second())).unwrap_or(time)
}

impl Admission {
    pub fn new(now: Timestamp, seed: Seed) -> Self {
        Self { now: to_microseconds(now), seed }
    }

    /// One request may post several transactions; event and reference distinguish them.
    fn transaction_id(&self, event: &str, reference: &str) -> TransactionId {
        TransactionId::new(self.now, &self.seed.child([event, reference]), 0)
    }
}

/// The reply to an accepted event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    New(TransactionId),
    /// The event was posted before, and is not posted again.
    Replayed(TransactionId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub id: TransactionId,
    pub event: Name,
    pub reference: String,
    pub request_hash: [u8; 32],
    /// The hash of the rulebook that created it.
    pub rulebook_hash: [u8; 32],
    /// When it happened.
    pub effective_at: Timestamp,
    /// When it was saved; never earlier than the transactions before it.
    pub inserted_at: Timestamp,
    /// The transaction that this one reverts.
    pub reverts: Option<TransactionId>,
    pub postings: Vec<Posting>,
}

/// A balance and the chart line of its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// On the normal side; below zero only where a template allows it.
    pub balance: Money,
    /// Turnover: the sum of all postings to the account, in minor units. What has left it is this less the balance. It stops
    /// at `i64::MAX`, so that no posting is refused for it.
    pub received: i64,
    /// Copied from the chart when the account is first used, and never changed.
    pub metadata: Arc<GlAccount>,
}

impl Account {
    fn empty(metadata: Arc<GlAccount>, currency: Currency) -> Self {
        Self { balance: Money::from_minor(0, currency), received: 0, metadata }
    }
}

/// An account keeps each currency separately.
pub type AccountKey = (Name, Currency);

/// The ledger records of a turn, and their changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    time: Option<Timestamp>,
    accounts: BTreeMap<AccountKey, Entry>,
    /// Events that were posted before, by event and reference.
    references: BTreeMap<Name, BTreeMap<String, Known>>,
    /// Earlier transactions, read because they may be reverted.
    earlier: BTreeMap<TransactionId, Transaction>,
    transactions: Vec<Transaction>,
    by_id: BTreeMap<TransactionId, usize>,
    holds: Tracked<HoldKey, Hold>,
    /// Whether there is anything to save.
    is_touched: bool,
}

/// An account and its changes since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    account: Account,
    movement: Option<Movement>,
}

/// The transaction of an event that was posted before, and the hash of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    id: TransactionId,
    request_hash: [u8; 32],
}

/// The net change of an account since it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Movement {
    delta: i64,
    received: i64,
    least_opening: Option<i64>,
}

impl Ledger {
    /// Reserves capacity for this many transactions.
    pub fn new(records: ReadSet, capacity: usize) -> Self {
        let account = |(address, account): (Name, Account)| {
            let key = (address, account.balance.currency());
            (key, Entry { account, movement: None })
        };
        let mut references: BTreeMap<Name, BTreeMap<String, Known>> = BTreeMap::new();
        for KnownReference { event, reference, id, request_hash } in records.references {
            references.entry(event).or_default().insert(reference, Known { id, request_hash });
        }
        Self {
            time: records.time,
            accounts: records.accounts.into_iter().map(account).collect(),
            references,
            earlier: records.transactions.into_iter().map(|found| (found.id, found)).collect(),
            holds: Tracked::read(records.holds),
            transactions: Vec::with_capacity(capacity),
            ..Self::default()
        }
    }

    /// The rows to save, with the answers that the engine gives afterwards.
    pub fn into_commit(self, answers: Vec<Answer>) -> Commit {
        let Self { time, accounts, mut transactions, holds, .. } = self;
        for transaction in &mut transactions {
            transaction.inserted_at = time.unwrap_or(transaction.inserted_at);
        }
        let accounts = accounts
            .into_iter()
            .filter_map(|((address, _), Entry { account: after, movement })| {
                let Movement { delta, received, least_opening } = movement?;
                Some(AccountWrite { address, after, delta, received, least_opening })
            })
            .collect();
        let holds = holds.into_changed();
        let holds = holds.map(|(key, before, after)| HoldWrite { key, before, after }).collect();
        Commit {
            time: if self.is_touched { time } else { None },
            transactions,
            accounts,
            holds,
            flows: Vec::new(),
            tallies: Vec::new(),
            queues: Vec::new(),
            charges: Vec::new(),
            cycles: Vec::new(),
            closings: Vec::new(),
            keys: Vec::new(),
            events: Vec::new(),
            audit: Vec::new(),
            control: None,
            records: Vec::new(),
            relied_on: Vec::new(),
            effects: Vec::new(),
            answers,
        }
    }

    /// The ledger or a flow changed at this time.
    pub(crate) fn mark_written(&mut self, now: Timestamp) {
        self.time = Some(self.next_time(now));
        self.is_touched = true;
    }

    /// Zero for an unused account.
    pub fn balance(&self, address: &str, currency: Currency) -> Money {
        let account = self.accounts.get(&(Name::from(address), currency));
        account.map_or(Money::from_minor(0, currency), |entry| entry.account.balance)
    }

    /// All accounts, by address and currency.
    pub fn accounts(&self) -> impl Iterator<Item = (&Name, &Account)> {
        self.accounts.iter().map(|((address, _), entry)| (address, &entry.account))
    }

    /// The transactions that this turn posted, in order.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    pub fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        let posted = self.by_id.get(&id).and_then(|index| self.transactions.get(*index));
        posted.or_else(|| self.earlier.get(&id))
    }

    /// All holds of the turn, by code and reference.
    pub fn holds(&self) -> impl Iterator<Item = (&HoldKey, &Hold)> {
        self.holds.iter()
    }

    fn known(&self, event: &str, reference: &str) -> Option<Known> {
        self.references.get(event)?.get(reference).copied()
    }
}
