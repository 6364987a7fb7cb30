//! Symbolic values for the drift check: a currency for each leg and an amount for each variable.

use std::collections::BTreeMap;

use super::bind::Bound;
use super::mapping::Line;
use super::rule::{Input, Rule};
use crate::ledger::chart::{Chart, GlCode, Side};
use crate::money::{Currency, Money};
use crate::numscript::Name;
use crate::rejection::Rejection;

/// Debits and credits per currency and code.
pub(super) type Journal = BTreeMap<(Currency, GlCode, Side), i128>;

/// Each amount is far larger than all sums of the following ones, so that subtractions stay positive.
const AMOUNTS: [i64; 5] = [1_000_003_000_000_000, 991_083_250_743, 982_243_063, 973_481, 967];

/// No two sums of these amounts are equal, so that no amount can stand for another.
pub(super) struct Symbols {
    currencies: BTreeMap<Name, Currency>,
    amounts: BTreeMap<Name, i64>,
}

impl Symbols {
    /// `None` if the rule has more currencies or amounts than there are symbols.
    pub(super) fn new(rule: &Rule) -> Option<Self> {
        let codes = ["USD", "EUR", "GBP", "CHF"];
        let currencies = rule
            .legs
            .iter()
            .zip(codes)
            .filter_map(|(leg, code)| Some((Name::clone(leg.variable()), code.parse().ok()?)))
            .collect();
        let names = rule.lines.iter().flat_map(|line| line.amount.names());
        let mut amounts = BTreeMap::new();
        let mut unused = AMOUNTS.into_iter();
        for name in names {
            if !amounts.contains_key(name) {
                amounts.insert(Name::clone(name), unused.next()?);
            }
        }
        (rule.legs.len() <= codes.len()).then_some(Self { currencies, amounts })
    }

    fn currency(&self, line: &Line) -> Option<Currency> {
        self.currencies.get(line.leg.variable()).copied()
    }

    fn amount(&self, line: &Line) -> i128 {
        line.amount.evaluate(|name| i128::from(self.amounts.get(name).copied().unwrap_or_default()))
    }

    pub(super) fn bind<'r>(&self, rule: &'r Rule) -> Result<Bound<'r>, Rejection> {
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        for identifier in &rule.identifiers {
            variables.insert(identifier.to_string(), "drift".to_owned());
        }
        for (leg, currency) in &self.currencies {
            variables.insert(leg.to_string(), currency.to_string());
        }
        for input in &rule.inputs {
            if let Input::Amount { name, leg } = input
                && let Some(currency) = self.currencies.get(leg.variable())
            {
                let minor = self.amounts.get(name).copied().unwrap_or_default();
                variables.insert(name.to_string(), Money::from_minor(minor, *currency).to_string());
            }
        }
        rule.bind("drift", &variables, None)
    }

    /// The journal that the mapping requires.
    pub(super) fn journal(&self, rule: &Rule) -> Journal {
        let mut journal = Journal::new();
        for line in &rule.lines {
            let Some(currency) = self.currency(line) else { continue };
            add(&mut journal, (currency, line.debit, Side::Debit), self.amount(line));
            add(&mut journal, (currency, line.credit, Side::Credit), self.amount(line));
        }
        journal
    }

    /// The funds that each code needs, where the mapping allows no overdraft.
    pub(super) fn needs(&self, rule: &Rule, chart: &Chart) -> BTreeMap<(GlCode, Currency), i128> {
        let mut needs = BTreeMap::new();
        for line in &rule.lines {
            let Some(currency) = self.currency(line) else { continue };
            for code in line.falling(chart).filter(|code| line.overdraft != Some(*code)) {
                add(&mut needs, (code, currency), self.amount(line));
            }
        }
        needs
    }
}

pub(super) fn add<K: Ord>(sums: &mut BTreeMap<K, i128>, key: K, amount: i128) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(amount);
}
