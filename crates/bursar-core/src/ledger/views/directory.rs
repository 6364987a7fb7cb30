//! The chart line of each account, and its owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ledger::chart::GlAccount;
use crate::ledger::journal::{self, JournalError, Leg};
use crate::ledger::{Account, Transaction};
use crate::numscript::Name;

/// The chart line of each account at its first use.
#[derive(Debug)]
pub(super) struct Directory(BTreeMap<Name, Arc<GlAccount>>);

impl Directory {
    pub(super) fn new<'a>(accounts: impl IntoIterator<Item = (&'a Name, &'a Account)>) -> Self {
        let metadata = |(address, account): (&Name, &Account)| {
            (Name::clone(address), Arc::clone(&account.metadata))
        };
        Self(accounts.into_iter().map(metadata).collect())
    }

    pub(super) fn get(&self, address: &str) -> Option<&Arc<GlAccount>> {
        self.0.get(address)
    }

    pub(super) fn legs<'t>(
        &self,
        transaction: &'t Transaction,
    ) -> Result<Vec<Leg<'t>>, JournalError> {
        journal::legs(&transaction.postings, |address| self.get(address).map(|gl| &**gl))
    }
}

/// Whether the chart's pattern, filled with this id, is the address of this account. An account with further
/// placeholders has no single owner.
pub(super) fn is_of(placeholder: &str, id: &str, address: &Name, account: &Account) -> bool {
    let Some(pattern) = &account.metadata.pattern else { return false };
    let currency = account.balance.currency();
    let has_owner = pattern.placeholders().any(|name| &**name == placeholder);
    let filled = pattern.fill(|name| match name {
        "currency" => currency.code(),
        name if name == placeholder => id,
        _ => "",
    });
    has_owner && filled == *address
}
