//! The transactions that a report counts: up to a moment, or in a period, by one of their two times.

use jiff::Timestamp;

use crate::ledger::Transaction;
use crate::ledger::closing::Closing;
use crate::turn::SavedCommit;

/// The time by which a transaction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Effective,
    Inserted,
}

/// Everything up to and including a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    pub time: Timestamp,
    pub clock: Clock,
}

/// Includes its start and excludes its end, so that adjacent periods count nothing twice. Both ends may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub clock: Clock,
}

/// The position of a transaction relative to a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    Before,
    Within,
    After,
}

impl Clock {
    const fn of(self, transaction: &Transaction) -> Timestamp {
        match self {
            Self::Effective => transaction.effective_at,
            Self::Inserted => transaction.inserted_at,
        }
    }
}

impl AsOf {
    pub fn counts(self, transaction: &Transaction) -> bool {
        self.clock.of(transaction) <= self.time
    }

    /// Whether every transaction up to this closing counts.
    pub fn counts_all_before(self, closing: &Closing) -> bool {
        match self.clock {
            Clock::Effective => closing.latest.is_none_or(|latest| latest <= self.time),
            Clock::Inserted => closing.time <= self.time,
        }
    }

    /// Whether no transaction between this closing and the one before counts.
    pub fn counts_none_of(self, closing: &Closing) -> bool {
        match self.clock {
            Clock::Effective => closing.earliest.is_none_or(|earliest| earliest > self.time),
            // The first commit behind the moment ends the report.
            Clock::Inserted => false,
        }
    }

    /// Whether neither this commit nor any later one counts.
    pub fn ends_before(self, commit: &SavedCommit) -> bool {
        match self.clock {
            Clock::Effective => false,
            Clock::Inserted => commit.time > self.time,
        }
    }
}

impl Period {
    /// Without limits.
    pub const ALWAYS: Self = Self { from: None, to: None, clock: Clock::Effective };

    pub fn place(self, transaction: &Transaction) -> Placed {
        let time = self.clock.of(transaction);
        if self.from.is_some_and(|from| time < from) {
            Placed::Before
        } else if self.to.is_some_and(|to| time >= to) {
            Placed::After
        } else {
            Placed::Within
        }
    }
}
