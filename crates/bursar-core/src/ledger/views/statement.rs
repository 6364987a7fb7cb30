//! A merchant's statement: every movement of its money, in the order of the commits, with running balances.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::directory::{Directory, is_of};
use super::moment::Period;
use super::running::{Movement, Running};
use crate::ledger::chart::{Class, GlAccount};
use crate::ledger::{Account, AccountKey, Transaction};
use crate::money::Currency;
use crate::numscript::Name;

/// One movement of one account of the merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementRow {
    pub effective_at: Timestamp,
    pub event: Name,
    pub reference: String,
    /// The chart's name of the account, such as `Merchant available`.
    pub account: String,
    pub currency: Currency,
    /// The outflow and the inflow.
    pub debit: i64,
    pub credit: i64,
    /// The balance after the movement.
    pub balance: i128,
    /// On the first row of a transaction that brought money in.
    pub breakdown: Option<Breakdown>,
}

/// The inflow of a merchant and its parts: gross = fee + VAT + net. Negative for a revert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breakdown {
    pub gross: i128,
    pub fee: i128,
    pub vat: i128,
    pub net: i128,
}

/// The balance of one account of the merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementBalance {
    pub account: String,
    pub currency: Currency,
    pub balance: i128,
}

/// If the period has a beginning, first `open` with every transaction, then `add` with every transaction: a transaction
/// that is posted late may have happened before the period, so its opening balance is known at the end only.
#[derive(Debug)]
pub struct StatementFold {
    directory: Directory,
    running: Running,
}

impl StatementFold {
    /// Takes the accounts whose chart line has `{merchantId}` and whose address is this merchant's.
    pub fn new<'a>(accounts: &'a [(Name, Account)], merchant: &str, period: Period) -> Self {
        let all = accounts.iter().map(|(address, account): &'a (Name, Account)| (address, account));
        let theirs = all
            .clone()
            .filter(|(address, account)| is_of("merchantId", merchant, address, account));
        let keys =
            theirs.map(|(address, account)| (Name::clone(address), account.balance.currency()));
        Self { running: Running::new(keys, period), directory: Directory::new(all) }
    }

    /// The merchant's accounts: only transactions that touch them matter.
    pub fn addresses(&self) -> Vec<Name> {
        self.running.addresses()
    }

    /// The merchant has no account.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Goes on from these balances, which `keyed_balances` returned. False if they are not of all accounts of the merchant.
    pub fn resume(&mut self, balances: Vec<(AccountKey, i128)>) -> bool {
        self.running.resume(balances)
    }

    pub fn keyed_balances(&self) -> Vec<(AccountKey, i128)> {
        self.running.balances().map(|(key, balance)| (key.clone(), balance)).collect()
    }

    pub fn open(&mut self, transaction: &Transaction) {
        self.running.open(transaction);
    }

    /// All current balances: before the first `add` the opening balances of the period, after the last one the closing
    /// balances.
    pub fn balances(&self) -> Vec<StatementBalance> {
        let balance = |(key, balance): (&AccountKey, i128)| StatementBalance {
            account: self.name(&key.0),
            currency: key.1,
            balance,
        };
        self.running.balances().map(balance).collect()
    }

    pub fn add(&mut self, transaction: &Transaction) -> Vec<StatementRow> {
        let movements = self.running.add(transaction);
        if movements.is_empty() {
            return Vec::new();
        }
        let mut breakdowns = self.breakdowns(transaction, &movements);
        let row = |movement: Movement| {
            let Movement { account: (address, currency), out, into, balance } = movement;
            StatementRow {
                effective_at: transaction.effective_at,
                event: Name::clone(&transaction.event),
                reference: transaction.reference.clone(),
                account: self.name(&address),
                currency,
                debit: out,
                credit: into,
                balance,
                breakdown: breakdowns.remove(&currency),
            }
        };
        movements.into_iter().map(row).collect()
    }

    fn name(&self, address: &str) -> String {
        self.directory.get(address).map(|gl| gl.name.clone()).unwrap_or_default()
    }

    /// The chart says which legs are money from outside, fees and VAT, whatever the name of the event.
    fn breakdowns(
        &self,
        transaction: &Transaction,
        theirs: &[Movement],
    ) -> BTreeMap<Currency, Breakdown> {
        let mut found: BTreeMap<Currency, Breakdown> = BTreeMap::new();
        let own: BTreeSet<&AccountKey> = theirs.iter().map(|movement| &movement.account).collect();
        for posting in &transaction.postings {
            let currency = posting.money.currency();
            let minor = i128::from(posting.money.minor());
            for (address, change) in
                [(&posting.source, minor.saturating_neg()), (&posting.destination, minor)]
            {
                let Some(gl) = self.directory.get(address) else { continue };
                let breakdown = found.entry(currency).or_default();
                let part = if own.contains(&(Name::clone(address), currency)) {
                    Some(&mut breakdown.net)
                } else {
                    breakdown.part(gl)
                };
                if let Some(part) = part {
                    *part = part.saturating_add(change);
                }
            }
        }
        let is_revert = transaction.reverts.is_some();
        found.retain(|_, breakdown| breakdown.is_whole() && breakdown.came_in(is_revert));
        found
    }
}

impl Breakdown {
    fn part(&mut self, gl: &GlAccount) -> Option<&mut i128> {
        match (gl.class, gl.view.as_str()) {
            (Class::Asset, "cash" | "receivable") => Some(&mut self.gross),
            (Class::Liability, "tax") => Some(&mut self.vat),
            (Class::Revenue, _) => Some(&mut self.fee),
            (Class::Asset | Class::Liability | Class::Equity | Class::Expense, _) => None,
        }
    }

    /// If the parts do not add up, the transaction involves another party, and these numbers are not the merchant's.
    const fn is_whole(&self) -> bool {
        let parts = self.fee.saturating_add(self.vat).saturating_add(self.net);
        self.gross == parts
    }

    /// Payouts and refunds have no gross: their amount is the outflow. A revert is shown as the original was booked.
    const fn came_in(&self, is_revert: bool) -> bool {
        self.gross > 0 || (is_revert && self.gross < 0)
    }
}
