//! Assets and liabilities by maturity: assets, debts, and the gap between them.

use std::collections::BTreeMap;

use super::balances::Balance;
use crate::ledger::chart::{Class, LIQUIDITY_BUCKETS};
use crate::money::Currency;

/// One bucket of one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlmRow {
    pub currency: Currency,
    pub bucket: &'static str,
    pub assets: i128,
    pub liabilities: i128,
    pub gap: i128,
    pub cumulative_gap: i128,
}

/// The totals of a currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlmSummary {
    pub currency: Currency,
    /// Cash and receivables from providers.
    pub safeguarded: i128,
    /// Debts to merchants, held or not.
    pub claims: i128,
    /// Debts of merchants: shown as a receivable, never netted against debts to other merchants.
    pub merchant_receivable: i128,
    pub open_position: i128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alm {
    pub rows: Vec<AlmRow>,
    pub summaries: Vec<AlmSummary>,
}

/// From current or past balances. `receivable_bucket` is the bucket of merchants' debts.
pub fn alm<'a>(balances: impl IntoIterator<Item = Balance<'a>>, receivable_bucket: &str) -> Alm {
    let mut buckets: BTreeMap<(Currency, usize), (i128, i128)> = BTreeMap::new();
    let mut summaries: BTreeMap<Currency, AlmSummary> = BTreeMap::new();
    for Balance { gl, currency, minor } in balances {
        let is_debt = gl.view == "merchant" && minor < 0;
        let summary = summaries.entry(currency).or_insert(AlmSummary {
            currency,
            safeguarded: 0,
            claims: 0,
            merchant_receivable: 0,
            open_position: 0,
        });
        let sum = match gl.view.as_str() {
            "cash" | "receivable" => &mut summary.safeguarded,
            "merchant" if is_debt => &mut summary.merchant_receivable,
            "merchant" | "hold" => &mut summary.claims,
            "position" => &mut summary.open_position,
            _ => &mut 0,
        };
        *sum = sum.saturating_add(if is_debt { minor.saturating_neg() } else { minor });
        let bucket = if is_debt { receivable_bucket } else { gl.liquidity.as_str() };
        let Some(place) = LIQUIDITY_BUCKETS.iter().position(|known| *known == bucket) else {
            continue;
        };
        let (assets, liabilities) = buckets.entry((currency, place)).or_default();
        match gl.class {
            Class::Asset => *assets = assets.saturating_add(minor),
            Class::Liability if is_debt => *assets = assets.saturating_sub(minor),
            Class::Liability => *liabilities = liabilities.saturating_add(minor),
            Class::Equity | Class::Revenue | Class::Expense => {}
        }
    }
    Alm { rows: rows(buckets), summaries: summaries.into_values().collect() }
}

fn rows(buckets: BTreeMap<(Currency, usize), (i128, i128)>) -> Vec<AlmRow> {
    let mut rows: Vec<AlmRow> = Vec::new();
    for ((currency, place), (assets, liabilities)) in buckets {
        let bucket = LIQUIDITY_BUCKETS.get(place).copied().unwrap_or("none");
        if bucket == "none" {
            continue;
        }
        let gap = assets.saturating_sub(liabilities);
        let before = rows
            .last()
            .filter(|last| last.currency == currency)
            .map_or(0, |last| last.cumulative_gap);
        let cumulative_gap = before.saturating_add(gap);
        rows.push(AlmRow { currency, bucket, assets, liabilities, gap, cumulative_gap });
    }
    rows
}
