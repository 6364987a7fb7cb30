//! The ledger: accounts, holds and an append-only list of transactions, as values in memory.
//!
//! `post` takes an event and the time and seed it was admitted with, and either appends one transaction or answers
//! with a rejection and changes nothing. Balances are computed nowhere else.

mod hold;
mod line;
mod post;
mod revert;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

pub use hold::{Hold, HoldKey, HoldState};
pub use revert::{REVERT, Revert, RevertOverdraft};

use crate::chart::GlAccount;
use crate::commit::{AccountWrite, Commit, HoldWrite};
use crate::ids::{Seed, TransactionId};
use crate::journal::Posting;
use crate::money::{Currency, Money};
use crate::numscript::Name;
use crate::records::{KnownReference, ReadSet};
use crate::request::Answer;
use crate::tracked::Tracked;

/// Something that happened, as it is told to the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    /// Unique per event name.
    pub reference: String,
    pub variables: BTreeMap<String, String>,
    /// When it happened, if that is not now.
    pub effective_at: Option<Timestamp>,
}

/// When a request was let in, and its randomness.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    pub now: Timestamp,
    pub seed: Seed,
}

/// Times count in microseconds, as the stores keep them.
pub(crate) fn to_microseconds(time: Timestamp) -> Timestamp {
    // Of the last second that there is, only the beginning can be read back from microseconds.
    let kept = Timestamp::from_microsecond(time.as_microsecond());
    kept.or_else(|_| Timestamp::from_second(time.as_second())).unwrap_or(time)
}

impl Admission {
    pub fn new(now: Timestamp, seed: Seed) -> Self {
        Self { now: to_microseconds(now), seed }
    }

    /// One request may make several transactions; event and reference tell them apart.
    fn transaction_id(&self, event: &str, reference: &str) -> TransactionId {
        TransactionId::new(self.now, &self.seed.child([event, reference]), 0)
    }
}

/// The answer to an event that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    New(TransactionId),
    /// It had been posted before; nothing was posted again.
    Replayed(TransactionId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub id: TransactionId,
    pub event: Name,
    pub reference: String,
    pub request_hash: [u8; 32],
    /// The rulebook that made it.
    pub rulebook_hash: [u8; 32],
    /// When it happened.
    pub effective_at: Timestamp,
    /// When it was saved; never earlier than what was saved before it.
    pub inserted_at: Timestamp,
    /// The transaction that this one takes back.
    pub reverts: Option<TransactionId>,
    pub postings: Vec<Posting>,
}

/// A balance and what the chart says about its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// On the normal side; below zero only where a template allows it.
    pub balance: Money,
    /// Taken from the chart when the account was first used, never edited.
    pub metadata: Arc<GlAccount>,
}

impl Account {
    fn empty(metadata: Arc<GlAccount>, currency: Currency) -> Self {
        Self { balance: Money::from_minor(0, currency), metadata }
    }
}

/// An account holds each currency apart.
pub type AccountKey = (Name, Currency);

/// The records of a turn, and what it has changed in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    time: Option<Timestamp>,
    accounts: BTreeMap<AccountKey, Entry>,
    /// What was posted before, by event and reference.
    references: BTreeMap<Name, BTreeMap<String, Known>>,
    /// Posted earlier, and read because they may be taken back.
    earlier: BTreeMap<TransactionId, Transaction>,
    transactions: Vec<Transaction>,
    by_id: BTreeMap<TransactionId, usize>,
    holds: Tracked<HoldKey, Hold>,
    /// Whether there is anything to save.
    is_touched: bool,
}

/// An account, and what was done to it since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    account: Account,
    movement: Option<Movement>,
}

/// The transaction of an event that was posted before, and the values it was posted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    id: TransactionId,
    request_hash: [u8; 32],
}

/// The net change of an account since it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Movement {
    delta: i64,
    least_opening: Option<i64>,
}

impl Ledger {
    /// With room for as many transactions as are expected.
    pub fn new(records: ReadSet, room: usize) -> Self {
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
            transactions: Vec::with_capacity(room),
            ..Self::default()
        }
    }

    /// What must be saved, with the answers that may be given afterwards.
    pub fn into_commit(self, answers: Vec<Answer>) -> Commit {
        let Self { time, accounts, mut transactions, holds, .. } = self;
        for transaction in &mut transactions {
            transaction.inserted_at = time.unwrap_or(transaction.inserted_at);
        }
        let accounts = accounts
            .into_iter()
            .filter_map(|((address, _), Entry { account: after, movement })| {
                let Movement { delta, least_opening } = movement?;
                Some(AccountWrite { address, after, delta, least_opening })
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
            keys: Vec::new(),
            events: Vec::new(),
            audit: Vec::new(),
            control: None,
            records: Vec::new(),
            relied_on: Vec::new(),
            effects: Vec::new(),
            parcels: Vec::new(),
            answers,
        }
    }

    /// Something changed at this time, in the ledger or in a flow beside it.
    pub(crate) fn touch(&mut self, now: Timestamp) {
        self.time = Some(self.next_time(now));
        self.is_touched = true;
    }

    /// Zero for an account that was never used.
    pub fn balance(&self, address: &str, currency: Currency) -> Money {
        let account = self.accounts.get(&(Name::from(address), currency));
        account.map_or(Money::from_minor(0, currency), |entry| entry.account.balance)
    }

    /// All accounts, by address and currency.
    pub fn accounts(&self) -> impl Iterator<Item = (&Name, &Account)> {
        self.accounts.iter().map(|((address, _), entry)| (address, &entry.account))
    }

    /// The transactions that were posted here, in order.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    pub fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        let posted = self.by_id.get(&id).and_then(|index| self.transactions.get(*index));
        posted.or_else(|| self.earlier.get(&id))
    }

    /// All holds that are known here, by code and reference.
    pub fn holds(&self) -> impl Iterator<Item = (&HoldKey, &Hold)> {
        self.holds.iter()
    }

    fn known(&self, event: &str, reference: &str) -> Option<Known> {
        self.references.get(event)?.get(reference).copied()
    }
}
