//! The auditor's own arithmetic: fees, VAT, and what every account must have.

use bursar_core::ledger::Transaction;
use bursar_core::ledger::chart::Class;
use bursar_core::ledger::journal::WORLD;
use bursar_core::money::Currency;

use super::super::swarm::Price;
use super::{Audit, Purse};

/// What something should cost or bring, in minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) purse: Purse,
    pub(crate) amount: i128,
    pub(crate) fee: i128,
    pub(crate) vat: i128,
}

impl Order {
    pub(crate) fn new(merchant: &str, currency: &str, amount: &str, at: Price) -> Option<Self> {
        let currency: Currency = currency.parse().ok()?;
        let amount = minor(amount, u32::from(currency.decimals()))?;
        let (fee, vat) = price(amount, at);
        Some(Self { purse: (merchant.to_owned(), currency), amount, fee, vat })
    }
}

/// What an account has, and on which side of the books it grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Balance {
    pub(super) minor: i128,
    pub(super) class: Option<Class>,
}

/// Fee and VAT of an amount: a share of ten thousand, rounded half up, of what is never negative.
fn price(amount: i128, price: Price) -> (i128, i128) {
    let share = |of: i128, points: u32| {
        let product = of.saturating_mul(i128::from(points)).saturating_mul(2);
        product.saturating_add(10_000).checked_div(20_000).unwrap_or_default()
    };
    let fee = i128::from(price.flat).saturating_add(share(amount, price.points));
    (fee, share(fee, price.vat_points))
}

/// A decimal such as `12.5` in minor units.
pub(crate) fn minor(text: &str, decimals: u32) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let missing = decimals.checked_sub(u32::try_from(part.len()).ok()?)?;
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    digits.checked_mul(10_i128.checked_pow(missing)?)
}

impl Audit {
    /// Every posting gives to one account what it takes from another; the world outside has no account.
    pub(super) fn post(&mut self, transaction: &Transaction) {
        for posting in &transaction.postings {
            let (currency, minor) = (posting.money.currency(), i128::from(posting.money.minor()));
            for (address, sign) in [(&posting.source, -1), (&posting.destination, 1)] {
                if &**address != WORLD {
                    let key = (address.to_string(), currency);
                    let balance = self.balances.entry(key).or_default();
                    balance.minor = balance.minor.saturating_add(minor.saturating_mul(sign));
                }
            }
        }
    }

    pub(super) fn balance(&self, address: &str, currency: Currency) -> i128 {
        let known = self.balances.get(&(address.to_owned(), currency));
        known.map_or(0, |balance| balance.minor)
    }

    /// Debits less credits of all accounts together.
    pub(super) fn difference(&self, currency: Currency) -> i128 {
        let of_currency = self.balances.iter().filter(|((_, known), _)| *known == currency);
        of_currency.fold(0, |sum: i128, (_, balance)| match balance.class {
            Some(Class::Asset | Class::Expense) => sum.saturating_add(balance.minor),
            Some(Class::Liability | Class::Equity | Class::Revenue) => {
                sum.saturating_sub(balance.minor)
            }
            None => sum,
        })
    }
}
