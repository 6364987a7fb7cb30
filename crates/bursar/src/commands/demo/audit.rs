//! An independent look at the day: the bank's own books, what merchants were told, and the promises of the ledger
//! recomputed from its postings.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::commit::SavedCommit;
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::ledger::{Account, Hold, HoldKey, HoldState};
use bursar_core::money::{Currency, Money, decimal};
use bursar_core::numscript::Name;
use bursar_core::rulebook::Rulebook;
use bursar_core::verify::{Report, Verifier};
use bursar_core::views::{TrialBalance, TrialBalanceFold};
use bursar_store::{Query, StoreError};

use super::desk::{Cash, Tally};
use crate::failure::Failure;

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

/// The books as they are in the end, with what they say when they are recomputed.
#[derive(Debug)]
pub(super) struct Books {
    accounts: Vec<(Name, Account)>,
    holds: Vec<(HoldKey, Hold)>,
    /// How many of each kind of event were told.
    told: BTreeMap<String, u64>,
    pub(super) trial: TrialBalance,
    pub(super) report: Report,
}

/// Rows that are read at once.
const PAGE: u32 = 1_000;
/// Commits that are read at once; each may have a thousand transactions.
const COMMITS: u32 = 16;

impl World {
    pub(super) fn saw(&mut self, bank: &Name, cash: &Cash) {
        let (money, sign) = match cash {
            Cash::None => return,
            Cash::Received(money) => (money, 1),
            Cash::Paid(money) => (money, -1),
        };
        let sum = self.cash.entry((Name::clone(bank), money.currency())).or_default();
        *sum = sum.saturating_add(i128::from(money.minor()).saturating_mul(sign));
    }

    pub(super) fn disputed(&mut self, account: Name) {
        self.disputed.insert(account);
    }
}

impl Books {
    pub(super) async fn read(
        rulebook: &Rulebook,
        store: &mut impl Query,
    ) -> Result<Result<Self, Failure>, StoreError> {
        let accounts = store.accounts().await?;
        let mut verifier = Verifier::new(rulebook, &accounts);
        let mut trial = TrialBalanceFold::new(
            accounts.iter().map(|(address, account)| (address, account)),
            None,
        );
        let mut after = 0;
        loop {
            let page = store.history(after, COMMITS).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for commit in &page {
                verifier.add(commit);
                if let Err(failure) = add(&mut trial, commit) {
                    return Ok(Err(failure));
                }
            }
        }
        let mut after = None;
        loop {
            let page = store.flows(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for flow in &page {
                verifier.add_flow(flow);
            }
        }
        let (holds, due) = (store.holds().await?, store.due().await?);
        let report = verifier.finish(&accounts, &holds, &due, &store.end().await?);
        let told = told(store).await?;
        Ok(Ok(Self { accounts, holds, told, trial: trial.finish(), report }))
    }

    pub(super) fn open_holds(&self) -> usize {
        self.holds.iter().filter(|(_, hold)| hold.state == HoldState::Open).count()
    }
}

fn add(trial: &mut TrialBalanceFold, commit: &SavedCommit) -> Result<(), Failure> {
    for transaction in &commit.transactions {
        trial.add(transaction).map_err(|error| {
            Failure::new(format!("{} is not double entry: {error}. Stop and look", transaction.id))
        })?;
    }
    Ok(())
}

/// The feed as a merchant's system would read it.
async fn told(store: &mut impl Query) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut told: BTreeMap<String, u64> = BTreeMap::new();
    let mut after = Cursor::default();
    loop {
        let page: Vec<(Cursor, FeedEvent)> = store.events(after, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(told) };
        after = *last;
        for (_, event) in &page {
            let count = told.entry(event.kind.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }
}

pub(super) fn check(books: &Books, world: &World, tally: &Tally) -> Vec<Finding> {
    vec![
        Finding {
            promise: "debits equal credits in every currency",
            failures: unbalanced(&books.trial),
        },
        Finding {
            promise: "the banks hold what their statements say",
            failures: wrong_cash(books, world),
        },
        Finding {
            promise: "every balance, hold, flow and hash is what the postings make it",
            failures: books.report.differences.clone(),
        },
        Finding {
            promise: "only merchants in dispute are below zero",
            failures: overdrawn(books, world),
        },
        Finding {
            promise: "merchants were told of every reservation, once for each change",
            failures: untold(books, tally),
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

fn wrong_cash(books: &Books, world: &World) -> Vec<String> {
    let booked = |bank: &Name, currency: Currency| {
        let accounts = books.accounts.iter().map(|(address, account)| (address, account.balance));
        let mut found = accounts
            .filter(|(address, balance)| *address == bank && balance.currency() == currency);
        found.next().map_or(Money::from_minor(0, currency), |(_, balance)| balance)
    };
    world
        .cash
        .iter()
        .map(|((bank, currency), statement)| (bank, *currency, booked(bank, *currency), *statement))
        .filter(|(_, _, booked, statement)| i128::from(booked.minor()) != *statement)
        .map(|(bank, currency, booked, statement)| {
            format!(
                "{bank}: booked {booked} {currency}, statement {}",
                decimal(statement, currency)
            )
        })
        .collect()
}

fn overdrawn(books: &Books, world: &World) -> Vec<String> {
    books
        .accounts
        .iter()
        .filter(|(address, account)| {
            account.balance.is_negative() && !world.disputed.contains(address)
        })
        .map(|(address, account)| format!("{address}: {}", account.balance))
        .collect()
}

fn untold(books: &Books, tally: &Tally) -> Vec<String> {
    [
        ("reserve", "reservation.held"),
        ("settle", "reservation.settled"),
        ("release", "reservation.released"),
        ("expire", "reservation.expired"),
    ]
    .into_iter()
    .map(|(request, event)| {
        (event, tally.done(request), books.told.get(event).copied().unwrap_or_default())
    })
    .filter(|(_, done, told)| done != told)
    .map(|(event, done, told)| format!("{event}: {done} times, told {told} times"))
    .collect()
}
