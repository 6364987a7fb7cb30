//! A merchant's statement: every movement of their money, in the order it was saved, with running balances.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::chart::GlAccount;
use crate::ledger::{Account, Transaction};
use crate::money::{Currency, Money};
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
    /// What left the account, and what came in.
    pub debit: i64,
    pub credit: i64,
    /// The account after it.
    pub balance: i128,
}

#[derive(Debug)]
pub struct StatementFold {
    accounts: BTreeMap<(Name, Currency), String>,
    balances: BTreeMap<(Name, Currency), i128>,
    rows: Vec<StatementRow>,
}

impl StatementFold {
    /// Takes the accounts whose chart line has `{merchantId}` and whose address is this merchant's.
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Name, &'a Account)>,
        merchant: &str,
    ) -> Self {
        let accounts = accounts
            .into_iter()
            .filter(|(address, account)| {
                belongs_to(address, &account.metadata, account.balance, merchant)
            })
            .map(|(address, account)| {
                let key = (Name::clone(address), account.balance.currency());
                (key, account.metadata.name.clone())
            })
            .collect();
        Self { accounts, balances: BTreeMap::new(), rows: Vec::new() }
    }

    pub fn add(&mut self, transaction: &Transaction) {
        for posting in &transaction.postings {
            let minor = posting.money.minor();
            for (address, debit, credit) in
                [(&posting.source, minor, 0), (&posting.destination, 0, minor)]
            {
                let key = (Name::clone(address), posting.money.currency());
                let Some(name) = self.accounts.get(&key) else { continue };
                let balance = self.balances.entry(key).or_default();
                *balance =
                    balance.saturating_add(i128::from(credit)).saturating_sub(i128::from(debit));
                self.rows.push(StatementRow {
                    effective_at: transaction.effective_at,
                    event: Name::clone(&transaction.event),
                    reference: transaction.reference.clone(),
                    account: name.clone(),
                    currency: posting.money.currency(),
                    debit,
                    credit,
                    balance: *balance,
                });
            }
        }
    }

    pub fn finish(self) -> Vec<StatementRow> {
        self.rows
    }
}

/// Other placeholders than merchant and currency belong to nobody's statement.
fn belongs_to(address: &Name, gl: &GlAccount, balance: Money, merchant: &str) -> bool {
    let Some(pattern) = &gl.pattern else { return false };
    let currency = balance.currency();
    let is_of_merchants = pattern.placeholders().any(|name| &**name == "merchantId");
    let filled = pattern.fill(|name| match name {
        "merchantId" => merchant,
        "currency" => currency.code(),
        _ => "",
    });
    is_of_merchants && filled == *address
}
