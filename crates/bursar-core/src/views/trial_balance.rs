//! The trial balance: turnover and balance of every code, per currency. Its two sides must be equal.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::chart::{GlAccount, GlCode, Side};
use crate::journal::{self, JournalError};
use crate::ledger::{Ledger, Transaction};
use crate::money::Currency;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialBalance {
    pub rows: Vec<Row>,
    pub totals: Vec<Total>,
    pub is_balanced: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub code: GlCode,
    pub name: String,
    pub currency: Currency,
    pub debit: i128,
    pub credit: i128,
    /// On the normal side of the code; may be negative.
    pub balance: i128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    pub currency: Currency,
    pub debit: i128,
    pub credit: i128,
}

/// Which transactions to count: those up to and including a moment, by one of their two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    pub time: Timestamp,
    pub clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Effective,
    Inserted,
}

/// Reads the books back from the postings. `None` counts everything.
pub fn trial_balance(ledger: &Ledger, as_of: Option<AsOf>) -> Result<TrialBalance, JournalError> {
    let metadata: BTreeMap<&str, &GlAccount> =
        ledger.accounts().map(|(address, account)| (&**address, &*account.metadata)).collect();
    let mut turnover: BTreeMap<(GlCode, Currency), (&GlAccount, i128, i128)> = BTreeMap::new();
    for transaction in ledger.transactions().iter().filter(|transaction| counts(transaction, as_of))
    {
        for leg in
            journal::legs(&transaction.postings, |address| metadata.get(&**address).copied())?
        {
            let Some(gl) = metadata.get(&**leg.address).copied() else { continue };
            let (_, debit, credit) =
                turnover.entry((leg.code, leg.money.currency())).or_insert((gl, 0, 0));
            let sum = match leg.side {
                Side::Debit => debit,
                Side::Credit => credit,
            };
            *sum = sum.saturating_add(i128::from(leg.money.minor()));
        }
    }
    let rows: Vec<Row> = turnover
        .into_iter()
        .map(|((code, currency), (gl, debit, credit))| Row {
            code,
            name: gl.name.clone(),
            currency,
            debit,
            credit,
            balance: match gl.side() {
                Side::Debit => debit.saturating_sub(credit),
                Side::Credit => credit.saturating_sub(debit),
            },
        })
        .collect();
    let totals = totals(&rows);
    let is_balanced = totals.iter().all(|total| total.debit == total.credit);
    Ok(TrialBalance { rows, totals, is_balanced })
}

fn counts(transaction: &Transaction, as_of: Option<AsOf>) -> bool {
    as_of.is_none_or(|as_of| match as_of.clock {
        Clock::Effective => transaction.effective_at <= as_of.time,
        Clock::Inserted => transaction.inserted_at <= as_of.time,
    })
}

fn totals(rows: &[Row]) -> Vec<Total> {
    let mut sums: BTreeMap<Currency, (i128, i128)> = BTreeMap::new();
    for row in rows {
        let (debit, credit) = sums.entry(row.currency).or_default();
        *debit = debit.saturating_add(row.debit);
        *credit = credit.saturating_add(row.credit);
    }
    sums.into_iter().map(|(currency, (debit, credit))| Total { currency, debit, credit }).collect()
}
