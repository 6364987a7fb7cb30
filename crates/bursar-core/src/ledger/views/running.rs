//! The movements of some accounts in a period, in order, with the balance after each.

use std::collections::BTreeMap;

use super::moment::{Period, Placed};
use crate::ledger::{AccountKey, Transaction};
use crate::numscript::Name;

#[derive(Debug)]
pub(super) struct Running {
    period: Period,
    balances: BTreeMap<AccountKey, i128>,
}

/// One end of a posting at one of the accounts.
#[derive(Debug)]
pub(super) struct Movement {
    pub(super) account: AccountKey,
    /// The outflow and the inflow; one of them is zero.
    pub(super) out: i64,
    pub(super) into: i64,
    pub(super) balance: i128,
}

impl Running {
    pub(super) fn new(accounts: impl Iterator<Item = AccountKey>, period: Period) -> Self {
        Self { period, balances: accounts.map(|key| (key, 0)).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.balances.is_empty()
    }

    pub(super) fn addresses(&self) -> Vec<Name> {
        self.balances.keys().map(|(address, _)| Name::clone(address)).collect()
    }

    pub(super) fn balances(&self) -> impl Iterator<Item = (&AccountKey, i128)> {
        self.balances.iter().map(|(key, balance)| (key, *balance))
    }

    /// Goes on from these balances; an account that was opened since has none. False if one is of another account.
    pub(super) fn resume(&mut self, balances: Vec<(AccountKey, i128)>) -> bool {
        let mut balances = balances.into_iter();
        balances.all(|(key, balance)| self.balances.get_mut(&key).map(|it| *it = balance).is_some())
    }

    /// Counts a transaction before the period.
    pub(super) fn open(&mut self, transaction: &Transaction) {
        if self.period.place(transaction) == Placed::Before {
            self.movements(transaction);
        }
    }

    /// The movements, if the transaction is in the period.
    pub(super) fn add(&mut self, transaction: &Transaction) -> Vec<Movement> {
        match self.period.place(transaction) {
            Placed::Within => self.movements(transaction),
            Placed::Before | Placed::After => Vec::new(),
        }
    }

    fn movements(&mut self, transaction: &Transaction) -> Vec<Movement> {
        let mut movements = Vec::new();
        for posting in &transaction.postings {
            let minor = posting.money.minor();
            for (address, out, into) in
                [(&posting.source, minor, 0), (&posting.destination, 0, minor)]
            {
                let account = (Name::clone(address), posting.money.currency());
                let Some(balance) = self.balances.get_mut(&account) else { continue };
                *balance = balance.saturating_add(i128::from(into)).saturating_sub(i128::from(out));
                movements.push(Movement { account, out, into, balance: *balance });
            }
        }
        movements
    }
}
