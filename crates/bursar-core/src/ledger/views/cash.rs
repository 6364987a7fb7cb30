//! Cash movements: the bank movements in the books, to compare with bank statements.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::directory::is_of;
use super::moment::Period;
use super::running::{Movement, Running};
use crate::ids::TransactionId;
use crate::ledger::{Account, AccountKey, Transaction};
use crate::money::Currency;
use crate::numscript::Name;

/// One movement at one bank account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CashRow {
    pub effective_at: Timestamp,
    pub account: Name,
    pub currency: Currency,
    pub event: Name,
    pub reference: String,
    pub transaction: TransactionId,
    pub into: i64,
    pub out: i64,
    /// The balance after the movement.
    pub balance: i128,
}

/// One bank account over the period: opening + into - out = closing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CashTotal {
    pub account: Name,
    pub currency: Currency,
    pub opening: i128,
    pub into: i128,
    pub out: i128,
    pub closing: i128,
}

/// If the period has a beginning, first `open` with every transaction, then `add` with every transaction.
#[derive(Debug)]
pub struct CashFold {
    running: Running,
    turnover: BTreeMap<AccountKey, (i128, i128)>,
}

impl CashFold {
    /// Takes the accounts with the view `cash`; of one bank, those whose chart line has `{bankId}` and whose address
    /// is this bank's.
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Name, &'a Account)>,
        bank: Option<&str>,
        period: Period,
    ) -> Self {
        let is_counted = |(address, account): &(&Name, &Account)| {
            account.metadata.view == "cash"
                && bank.is_none_or(|bank| is_of("bankId", bank, address, account))
        };
        let keys = accounts
            .into_iter()
            .filter(is_counted)
            .map(|(address, account)| (Name::clone(address), account.balance.currency()));
        Self { running: Running::new(keys, period), turnover: BTreeMap::new() }
    }

    /// No such bank account exists.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub fn open(&mut self, transaction: &Transaction) {
        self.running.open(transaction);
    }

    pub fn add(&mut self, transaction: &Transaction) -> Vec<CashRow> {
        let turnover = &mut self.turnover;
        let row = |movement: Movement| {
            let Movement { account, out, into, balance } = movement;
            let (all_into, all_out) = turnover.entry(account.clone()).or_default();
            *all_into = all_into.saturating_add(i128::from(into));
            *all_out = all_out.saturating_add(i128::from(out));
            let (account, currency) = account;
            CashRow {
                effective_at: transaction.effective_at,
                account,
                currency,
                event: Name::clone(&transaction.event),
                reference: transaction.reference.clone(),
                transaction: transaction.id,
                into,
                out,
                balance,
            }
        };
        self.running.add(transaction).into_iter().map(row).collect()
    }

    pub fn finish(self) -> Vec<CashTotal> {
        let total = |(key, closing): (&AccountKey, i128)| {
            let (into, out) = self.turnover.get(key).copied().unwrap_or_default();
            let opening = closing.saturating_add(out).saturating_sub(into);
            CashTotal { account: Name::clone(&key.0), currency: key.1, opening, into, out, closing }
        };
        self.running.balances().map(total).collect()
    }
}
