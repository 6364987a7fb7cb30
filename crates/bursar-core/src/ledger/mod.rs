//! The ledger: accounts, holds and an append-only list of transactions, as values in memory.
//!
//! `post` takes an event and the time and seed it was admitted with, and either appends one transaction or answers
//! with a rejection and changes nothing. Balances are computed nowhere else.

mod hold;
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
use crate::ids::{Seed, TransactionId};
use crate::journal::Posting;
use crate::money::{Currency, Money};
use crate::numscript::Name;

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
    pub effective_at: Timestamp,
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
type AccountKey = (Name, Currency);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    accounts: BTreeMap<AccountKey, Account>,
    transactions: Vec<Transaction>,
    by_id: BTreeMap<TransactionId, usize>,
    by_reference: BTreeMap<(Name, String), usize>,
    holds: BTreeMap<HoldKey, Hold>,
}

impl Ledger {
    /// Zero for an account that was never used.
    pub fn balance(&self, address: &str, currency: Currency) -> Money {
        let account = self.accounts.get(&(Name::from(address), currency));
        account.map_or(Money::from_minor(0, currency), |account| account.balance)
    }

    /// All accounts, by address and currency.
    pub fn accounts(&self) -> impl Iterator<Item = (&Name, &Account)> {
        self.accounts.iter().map(|((address, _), account)| (address, account))
    }

    /// All transactions, in the order in which they were posted.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    pub fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        self.by_id.get(&id).and_then(|index| self.transactions.get(*index))
    }

    /// All holds that were ever opened, by code and reference.
    pub fn holds(&self) -> impl Iterator<Item = (&HoldKey, &Hold)> {
        self.holds.iter()
    }

    fn by_reference(&self, event: &Name, reference: &str) -> Option<&Transaction> {
        let key = (Name::clone(event), reference.to_owned());
        self.by_reference.get(&key).and_then(|index| self.transactions.get(*index))
    }
}
