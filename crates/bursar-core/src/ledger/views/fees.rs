//! Fees and VAT: the bookings on each code by each event in a period, and the VAT owed before and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::directory::{Directory, is_of};
use super::moment::{Period, Placed};
use crate::ledger::chart::{Class, GlAccount, GlCode, Side};
use crate::ledger::journal::JournalError;
use crate::ledger::{Account, Transaction};
use crate::money::Currency;
use crate::numscript::Name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fees {
    pub rows: Vec<FeeRow>,
    pub rates: Vec<FeeRate>,
    pub totals: Vec<FeeTotal>,
}

/// The bookings of one event on one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeRow {
    pub code: GlCode,
    pub name: String,
    pub currency: Currency,
    pub event: Name,
    /// The charges.
    pub credit: i128,
    /// Reverted charges, or payments to the tax authority.
    pub debit: i128,
    pub net: i128,
}

/// The VAT that one event charged beside its fees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeRate {
    pub event: Name,
    pub currency: Currency,
    pub fee: i128,
    pub vat: i128,
    /// VAT as a part of the fee, rounded; none without a fee.
    pub vat_basis_points: Option<i128>,
}

/// One code over the period: opening + credit - debit = closing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeTotal {
    pub code: GlCode,
    pub name: String,
    pub currency: Currency,
    pub opening: i128,
    pub credit: i128,
    pub debit: i128,
    pub closing: i128,
}

#[derive(Debug)]
pub struct FeesFold {
    directory: Directory,
    period: Period,
    /// The accounts of the only merchant to count.
    merchant: Option<BTreeSet<Name>>,
    codes: BTreeMap<(GlCode, Currency), Code>,
}

#[derive(Debug)]
struct Code {
    gl: Arc<GlAccount>,
    opening: i128,
    /// Credits and debits of the period, by event.
    events: BTreeMap<Name, (i128, i128)>,
}

impl FeesFold {
    /// With a merchant, only transactions that touch one of their accounts count.
    pub fn new<'a>(
        accounts: &'a [(Name, Account)],
        merchant: Option<&str>,
        period: Period,
    ) -> Self {
        let all = accounts.iter().map(|(address, account): &'a (Name, Account)| (address, account));
        let theirs = |merchant: &str| {
            let own = all
                .clone()
                .filter(|(address, account)| is_of("merchantId", merchant, address, account));
            own.map(|(address, _)| Name::clone(address)).collect()
        };
        Self {
            merchant: merchant.map(theirs),
            period,
            directory: Directory::new(all),
            codes: BTreeMap::new(),
        }
    }

    /// The requested merchant has no account.
    pub fn is_empty(&self) -> bool {
        self.merchant.as_ref().is_some_and(BTreeSet::is_empty)
    }

    pub fn add(&mut self, transaction: &Transaction) -> Result<(), JournalError> {
        let place = self.period.place(transaction);
        if place == Placed::After || !self.concerns(transaction) {
            return Ok(());
        }
        for leg in self.directory.legs(transaction)? {
            let Some(gl) = self.directory.get(leg.address).filter(|gl| is_fee_or_tax(gl)) else {
                continue;
            };
            let minor = i128::from(leg.money.minor());
            let (credit, debit) = match leg.side {
                Side::Credit => (minor, 0),
                Side::Debit => (0, minor),
            };
            let code = self.codes.entry((leg.code, leg.money.currency())).or_insert_with(|| Code {
                gl: Arc::clone(gl),
                opening: 0,
                events: BTreeMap::new(),
            });
            if place == Placed::Before {
                code.opening = code.opening.saturating_add(credit).saturating_sub(debit);
                continue;
            }
            let event = code.events.entry(Name::clone(&transaction.event)).or_default();
            event.0 = event.0.saturating_add(credit);
            event.1 = event.1.saturating_add(debit);
        }
        Ok(())
    }

    pub fn finish(self) -> Fees {
        let mut fees = Fees { rows: Vec::new(), rates: Vec::new(), totals: Vec::new() };
        let mut rates: BTreeMap<(Name, Currency), (i128, i128)> = BTreeMap::new();
        for ((code, currency), Code { gl, opening, events }) in self.codes {
            let name = || gl.name.clone();
            let (mut all_credit, mut all_debit) = (0_i128, 0_i128);
            for (event, (credit, debit)) in events {
                all_credit = all_credit.saturating_add(credit);
                all_debit = all_debit.saturating_add(debit);
                let net = credit.saturating_sub(debit);
                let (fee, vat) = rates.entry((Name::clone(&event), currency)).or_default();
                let sum = if is_tax(&gl) { vat } else { fee };
                *sum = sum.saturating_add(net);
                fees.rows.push(FeeRow { code, name: name(), currency, event, credit, debit, net });
            }
            fees.totals.push(FeeTotal {
                code,
                name: name(),
                currency,
                opening,
                credit: all_credit,
                debit: all_debit,
                closing: opening.saturating_add(all_credit).saturating_sub(all_debit),
            });
        }
        let rate = |((event, currency), (fee, vat)): ((Name, Currency), (i128, i128))| {
            let vat_basis_points = part_of(vat, fee);
            FeeRate { event, currency, fee, vat, vat_basis_points }
        };
        fees.rates = rates.into_iter().map(rate).collect();
        fees
    }

    fn concerns(&self, transaction: &Transaction) -> bool {
        self.merchant.as_ref().is_none_or(|theirs| {
            let is_theirs = |address: &Name| theirs.contains(address);
            let mut postings = transaction.postings.iter();
            postings.any(|posting| is_theirs(&posting.source) || is_theirs(&posting.destination))
        })
    }
}

fn is_tax(gl: &GlAccount) -> bool {
    gl.view == "tax"
}

fn is_fee_or_tax(gl: &GlAccount) -> bool {
    is_tax(gl) || gl.class == Class::Revenue
}

/// In parts of ten thousand, rounded half away from zero.
fn part_of(part: i128, whole: i128) -> Option<i128> {
    let size = part.saturating_abs().saturating_mul(10_000);
    let half = whole.saturating_abs().checked_div(2)?;
    let points = size.saturating_add(half).checked_div(whole.saturating_abs())?;
    let is_negative = (part < 0) != (whole < 0);
    Some(if is_negative { points.saturating_neg() } else { points })
}
