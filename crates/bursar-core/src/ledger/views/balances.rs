//! The balances of all accounts at a moment, from the postings.

use std::collections::BTreeMap;

use super::directory::Directory;
use super::moment::AsOf;
use crate::ledger::chart::GlAccount;
use crate::ledger::closing::ClosedAccount;
use crate::ledger::journal::JournalError;
use crate::ledger::{Account, AccountKey, Transaction};
use crate::money::Currency;
use crate::numscript::Name;

/// An account and its balance: on its normal side, negative if overdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance<'a> {
    pub gl: &'a GlAccount,
    pub currency: Currency,
    pub minor: i128,
}

impl<'a> Balance<'a> {
    pub fn of(account: &'a Account) -> Self {
        let Account { balance, metadata, .. } = account;
        Self { gl: metadata, currency: balance.currency(), minor: i128::from(balance.minor()) }
    }
}

#[derive(Debug)]
pub struct BalanceFold {
    as_of: AsOf,
    directory: Directory,
    balances: BTreeMap<AccountKey, i128>,
}

impl BalanceFold {
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Name, &'a Account)>,
        as_of: AsOf,
    ) -> Self {
        Self { as_of, directory: Directory::new(accounts), balances: BTreeMap::new() }
    }

    /// Begins with the accounts as of a closing, instead of the transactions before it.
    #[must_use]
    pub fn begin<'c>(mut self, closed: impl IntoIterator<Item = &'c ClosedAccount>) -> Self {
        let closed = closed
            .into_iter()
            .map(|row| ((Name::clone(&row.address), row.currency), i128::from(row.balance)));
        self.balances.extend(closed);
        self
    }

    pub fn add(&mut self, transaction: &Transaction) -> Result<(), JournalError> {
        if !self.as_of.counts(transaction) {
            return Ok(());
        }
        for leg in self.directory.legs(transaction)? {
            let Some(gl) = self.directory.get(leg.address) else { continue };
            let minor = i128::from(leg.money.minor());
            let change = if leg.side == gl.side() { minor } else { minor.saturating_neg() };
            let key = (Name::clone(leg.address), leg.money.currency());
            let balance = self.balances.entry(key).or_default();
            *balance = balance.saturating_add(change);
        }
        Ok(())
    }

    /// The accounts in use at that moment, by address and currency.
    pub fn balances(&self) -> impl Iterator<Item = Balance<'_>> {
        self.balances.iter().filter_map(|((address, currency), minor)| {
            let gl = self.directory.get(address)?;
            Some(Balance { gl, currency: *currency, minor: *minor })
        })
    }
}
