//! Closings: the accounts as of a commit, so that a report of the past folds only the commits behind one.
//!
//! A closing follows from the postings alone. It has a row for each account that moved since the closing before; an account
//! without one is as its latest row says. Processes that close the same day write the same rows.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::journal::WORLD;
use super::{AccountKey, Transaction};
use crate::money::Currency;
use crate::numscript::Name;
use crate::turn::SavedCommit;

/// The last part of a closing: the commit that it is as of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    pub seq: u64,
    pub hash: [u8; 32],
    /// The time of the commit.
    pub time: Timestamp,
    /// The earliest effective time of a transaction since the closing before; none without transactions.
    pub earliest: Option<Timestamp>,
    /// The latest effective time of a transaction since the beginning.
    pub latest: Option<Timestamp>,
}

/// An account as of a closing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedAccount {
    pub address: Name,
    pub currency: Currency,
    pub balance: i64,
    /// The sum of all postings to it; a sum that does not fit stays at the largest integer.
    pub received: i64,
}

/// A part of a closing: some of its accounts, and with the last part the closing itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    pub seq: u64,
    /// In the order of their addresses and currencies.
    pub accounts: Vec<ClosedAccount>,
    pub closing: Option<Closing>,
}

/// What the postings of an account add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub balance: i128,
    pub received: i128,
}

impl Moved {
    /// The account after these postings.
    pub fn close(self, key: &AccountKey, before: Option<&ClosedAccount>) -> ClosedAccount {
        let fit = |sum: i128| i64::try_from(sum).unwrap_or(i64::MAX);
        let (balance, received) = before.map_or((0, 0), |row| (row.balance, row.received));
        let received = match received {
            i64::MAX => i64::MAX,
            received => fit(self.received.saturating_add(received.into())),
        };
        ClosedAccount {
            address: Name::clone(&key.0),
            currency: key.1,
            balance: fit(self.balance.saturating_add(balance.into())),
            received,
        }
    }
}

/// Adds the postings of a transaction to the sums of its accounts.
pub(super) fn add_postings(sums: &mut BTreeMap<AccountKey, Moved>, transaction: &Transaction) {
    for posting in &transaction.postings {
        let minor = i128::from(posting.money.minor());
        let ends = [(&posting.source, minor.saturating_neg()), (&posting.destination, minor)];
        for (address, change) in ends.into_iter().filter(|(address, _)| &***address != WORLD) {
            let key = (Name::clone(address), posting.money.currency());
            let sums = sums.entry(key).or_default();
            sums.balance = sums.balance.saturating_add(change);
            sums.received = sums.received.saturating_add(change.max(0));
        }
    }
}

/// What happened since a closing.
#[derive(Debug, Clone, Default)]
pub struct SinceClosing {
    /// The closing itself; none at the beginning of the books.
    pub before: Option<Closing>,
    /// The last commit that was added.
    pub last: Option<(u64, [u8; 32], Timestamp)>,
    pub moved: BTreeMap<AccountKey, Moved>,
    earliest: Option<Timestamp>,
    latest: Option<Timestamp>,
}

impl SinceClosing {
    pub fn new(before: Option<Closing>) -> Self {
        let latest = before.and_then(|closing| closing.latest);
        let last = before.map(|closing| (closing.seq, closing.hash, closing.time));
        Self { before, last, latest, ..Self::default() }
    }

    /// The next commit, in order.
    pub fn add(&mut self, commit: &SavedCommit) {
        self.last = Some((commit.seq, commit.hash, commit.time));
        for transaction in &commit.transactions {
            self.transaction(transaction);
        }
    }

    fn transaction(&mut self, transaction: &Transaction) {
        let time = transaction.effective_at;
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        self.latest = self.latest.max(Some(time));
        add_postings(&mut self.moved, transaction);
    }

    /// The closing as of the last commit; none if nothing moved since the one before.
    pub fn closing(&self) -> Option<Closing> {
        let (seq, hash, time) = self.last.filter(|_| !self.moved.is_empty())?;
        Some(Closing { seq, hash, time, earliest: self.earliest, latest: self.latest })
    }

    /// Whether a midnight (UTC) lies between the last commit and this time.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
        self.last.is_some_and(|(.., time)| day(time) < day(now))
    }
}
