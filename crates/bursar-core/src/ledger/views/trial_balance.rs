//! The trial balance: turnover and balance of every code, per currency. Its two sides must be equal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::directory::Directory;
use super::moment::AsOf;
use crate::ledger::chart::{GlAccount, GlCode, Side};
use crate::ledger::closing::ClosedAccount;
use crate::ledger::journal::JournalError;
use crate::ledger::{Account, Transaction};
use crate::money::Currency;
use crate::numscript::Name;

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

impl TrialBalance {
    /// The trial balance of now, from the balance and turnover of each account. None if a turnover is above what an
    /// account can count: then only the postings have it.
    pub fn of_accounts<'a>(accounts: impl IntoIterator<Item = &'a Account>) -> Option<Self> {
        let mut turnover = Turnovers::new();
        for Account { balance, received, metadata } in accounts {
            count(&mut turnover, metadata, balance.currency(), (balance.minor(), *received))?;
        }
        Some(Self::new(turnover))
    }

    fn new(turnover: Turnovers) -> Self {
        let row = |((code, currency), turnover): ((GlCode, Currency), Turnover)| {
            let Turnover { gl, debit, credit } = turnover;
            let balance = match gl.side() {
                Side::Debit => debit.saturating_sub(credit),
                Side::Credit => credit.saturating_sub(debit),
            };
            Row { code, name: gl.name.clone(), currency, debit, credit, balance }
        };
        let rows: Vec<Row> = turnover.into_iter().map(row).collect();
        let totals = totals(&rows);
        let is_balanced = totals.iter().all(|total| total.debit == total.credit);
        Self { rows, totals, is_balanced }
    }
}

/// Recomputes the books from the postings, one transaction after the other.
#[derive(Debug)]
pub struct TrialBalanceFold {
    as_of: Option<AsOf>,
    directory: Directory,
    turnover: Turnovers,
}

type Turnovers = BTreeMap<(GlCode, Currency), Turnover>;

/// Adds what went through an account. None if its turnover is above what an account can count.
fn count(
    turnover: &mut Turnovers,
    gl: &Arc<GlAccount>,
    currency: Currency,
    (balance, received): (i64, i64),
) -> Option<()> {
    if received == i64::MAX {
        return None;
    }
    let received = i128::from(received);
    let sent = received.saturating_sub(i128::from(balance));
    let (debit, credit) = match gl.side() {
        Side::Debit => (received, sent),
        Side::Credit => (sent, received),
    };
    let sum = turnover.entry((gl.code, currency)).or_insert_with(|| Turnover {
        gl: Arc::clone(gl),
        debit: 0,
        credit: 0,
    });
    sum.debit = sum.debit.saturating_add(debit);
    sum.credit = sum.credit.saturating_add(credit);
    Some(())
}

#[derive(Debug)]
struct Turnover {
    gl: Arc<GlAccount>,
    debit: i128,
    credit: i128,
}

impl TrialBalanceFold {
    /// `None` counts everything.
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Name, &'a Account)>,
        as_of: Option<AsOf>,
    ) -> Self {
        Self { as_of, directory: Directory::new(accounts), turnover: Turnovers::new() }
    }

    /// Begins with the accounts as of a closing, instead of the transactions before it. None if one of them is above what an
    /// account can count: then only the postings have it.
    pub fn begin<'c>(
        mut self,
        closed: impl IntoIterator<Item = &'c ClosedAccount>,
    ) -> Option<Self> {
        for ClosedAccount { address, currency, balance, received } in closed {
            let Some(gl) = self.directory.get(address) else { continue };
            count(&mut self.turnover, gl, *currency, (*balance, *received))?;
        }
        Some(self)
    }

    pub fn add(&mut self, transaction: &Transaction) -> Result<(), JournalError> {
        if self.as_of.is_some_and(|as_of| !as_of.counts(transaction)) {
            return Ok(());
        }
        for leg in self.directory.legs(transaction)? {
            let Some(gl) = self.directory.get(leg.address) else { continue };
            let turnover = self
                .turnover
                .entry((leg.code, leg.money.currency()))
                .or_insert_with(|| Turnover { gl: Arc::clone(gl), debit: 0, credit: 0 });
            let sum = match leg.side {
                Side::Debit => &mut turnover.debit,
                Side::Credit => &mut turnover.credit,
            };
            *sum = sum.saturating_add(i128::from(leg.money.minor()));
        }
        Ok(())
    }

    pub fn finish(self) -> TrialBalance {
        TrialBalance::new(self.turnover)
    }
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
