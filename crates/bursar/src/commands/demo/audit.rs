//! An independent look at the day: the bank's own books, and the promises of the ledger recomputed from its postings.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::chart::GlCode;
use bursar_core::journal::WORLD;
use bursar_core::ledger::{HoldState, Ledger};
use bursar_core::money::{Currency, Money, decimal};
use bursar_core::numscript::Name;
use bursar_core::rulebook::Rulebook;
use bursar_core::views::TrialBalance;

/// What the bank's statement would say. It never looks at the ledger.
#[derive(Debug, Default)]
pub(super) struct World {
    /// By the address that the chart gives the bank's account.
    cash: BTreeMap<(Name, Currency), i128>,
    /// Accounts of merchants that a customer has disputed with: they may owe us.
    disputed: BTreeSet<Name>,
}

/// A promise, and how it was broken if it was.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) promise: &'static str,
    pub(super) failures: Vec<String>,
}

impl World {
    pub(super) fn received(&mut self, bank: &Name, money: Money) {
        self.change(bank, money.currency(), i128::from(money.minor()));
    }

    pub(super) fn paid(&mut self, bank: &Name, money: Money) {
        self.change(bank, money.currency(), i128::from(money.minor()).saturating_neg());
    }

    pub(super) fn disputed(&mut self, account: Name) {
        self.disputed.insert(account);
    }

    fn change(&mut self, bank: &Name, currency: Currency, minor: i128) {
        let cash = self.cash.entry((Name::clone(bank), currency)).or_default();
        *cash = cash.saturating_add(minor);
    }
}

pub(super) fn check(
    rulebook: &Rulebook,
    ledger: &Ledger,
    trial: &TrialBalance,
    world: &World,
) -> Vec<Finding> {
    vec![
        Finding { promise: "debits equal credits in every currency", failures: unbalanced(trial) },
        Finding {
            promise: "the banks hold what their statements say",
            failures: wrong_cash(ledger, world),
        },
        Finding {
            promise: "every balance is the sum of its postings",
            failures: wrong_balances(ledger),
        },
        Finding {
            promise: "hold accounts equal their open holds",
            failures: wrong_holds(rulebook, ledger),
        },
        Finding {
            promise: "only merchants in dispute are below zero",
            failures: overdrawn(ledger, world),
        },
    ]
}

fn unbalanced(trial: &TrialBalance) -> Vec<String> {
    trial
        .totals
        .iter()
        .filter(|total| total.debit != total.credit)
        .map(|total| {
            let (debit, credit) =
                (decimal(total.debit, total.currency), decimal(total.credit, total.currency));
            format!("{}: debits {debit}, credits {credit}", total.currency)
        })
        .collect()
}

fn wrong_cash(ledger: &Ledger, world: &World) -> Vec<String> {
    world
        .cash
        .iter()
        .filter_map(|((bank, currency), statement)| {
            let booked = ledger.balance(bank, *currency);
            (i128::from(booked.minor()) != *statement).then(|| {
                format!(
                    "{bank}: booked {booked} {currency}, statement {}",
                    decimal(*statement, *currency)
                )
            })
        })
        .collect()
}

fn wrong_balances(ledger: &Ledger) -> Vec<String> {
    let mut sums: BTreeMap<(&str, Currency), i128> = BTreeMap::new();
    for posting in ledger.transactions().iter().flat_map(|transaction| &transaction.postings) {
        let minor = i128::from(posting.money.minor());
        for (address, change) in
            [(&posting.source, minor.saturating_neg()), (&posting.destination, minor)]
        {
            let sum = sums.entry((address, posting.money.currency())).or_default();
            *sum = sum.saturating_add(change);
        }
    }
    ledger
        .accounts()
        .filter_map(|(address, account)| {
            let sum =
                sums.get(&(&**address, account.balance.currency())).copied().unwrap_or_default();
            let is_right = &**address != WORLD && sum == i128::from(account.balance.minor());
            (!is_right).then(|| format!("{address}: balance {}", account.balance))
        })
        .collect()
}

fn wrong_holds(rulebook: &Rulebook, ledger: &Ledger) -> Vec<String> {
    let mut held: BTreeMap<(GlCode, Currency), i128> = BTreeMap::new();
    for (key, hold) in ledger.holds().filter(|(_, hold)| hold.state == HoldState::Open) {
        let sum = held.entry((key.code, hold.money.currency())).or_default();
        *sum = sum.saturating_add(i128::from(hold.money.minor()));
    }
    for (_, account) in ledger.accounts().filter(|(_, account)| account.metadata.view == "hold") {
        let sum = held.entry((account.metadata.code, account.balance.currency())).or_default();
        *sum = sum.saturating_sub(i128::from(account.balance.minor()));
    }
    held.into_iter()
        .filter(|(_, difference)| *difference != 0)
        .map(|((code, currency), difference)| {
            let name = rulebook.chart().get(code).map(|gl| gl.name.clone()).unwrap_or_default();
            format!("{code} {name}: {} {currency} apart", decimal(difference, currency))
        })
        .collect()
}

fn overdrawn(ledger: &Ledger, world: &World) -> Vec<String> {
    ledger
        .accounts()
        .filter(|(address, account)| {
            account.balance.is_negative() && !world.disputed.contains(*address)
        })
        .map(|(address, account)| format!("{address}: {}", account.balance))
        .collect()
}
