//! What is kept about the dispatch of a kind and a channel, and the cycles that people read.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::rate::Rate;

/// The state of the dispatch of a kind and a channel. The turn that gives out slots writes it, by version: no slot is given
/// out twice, whichever process does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The next slot that is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_slot: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
}

/// What was done in a few seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    pub since: Timestamp,
    /// Flows that were read to be sent.
    pub claimed: u64,
    /// Flows that got a slot.
    pub dispatched: u64,
    /// Flows whose step was rejected.
    pub failed: u64,
    /// Flows whose lease was over without an outcome.
    pub recovered: u64,
    /// Flows that missed their cut-off and ended.
    pub expired: u64,
    /// Why nothing more was sent.
    pub reason: String,
}

impl Cycle {
    pub(crate) const fn new(since: Timestamp, reason: String) -> Self {
        Self { since, claimed: 0, dispatched: 0, failed: 0, recovered: 0, expired: 0, reason }
    }

    /// Whether the next one begins.
    pub(crate) fn is_over(&self, now: Timestamp, reason: &str) -> bool {
        let length = now.duration_since(self.since);
        let is_idle = self.claimed == 0 && self.recovered == 0;
        let most = if is_idle { IDLE_CYCLE } else { CYCLE };
        // A change of the reason is seen at once, if something was done or a second has passed.
        let is_other = reason != self.reason && length >= CHANGE;
        length.is_negative() || length >= most || is_other
    }
}

/// How long a cycle lasts, and one in which nothing is done.
const CYCLE: SignedDuration = SignedDuration::from_secs(5);
const IDLE_CYCLE: SignedDuration = SignedDuration::from_hours(1);
const CHANGE: SignedDuration = SignedDuration::from_secs(1);

/// Which cycles to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CycleFilter {
    pub kind: Option<String>,
    pub channel: Option<String>,
    /// Only those that ended at this time or later.
    pub from: Option<Timestamp>,
    /// Only those that ended before this time.
    pub before: Option<Timestamp>,
}

impl CycleFilter {
    pub fn matches(&self, row: &CycleRow) -> bool {
        self.kind.as_ref().is_none_or(|kind| *kind == row.kind)
            && self.channel.as_ref().is_none_or(|channel| *channel == row.channel)
            && self.from.is_none_or(|from| from <= row.until)
            && self.before.is_none_or(|before| row.until < before)
    }
}

/// A row of the log of cycles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleRow {
    pub kind: String,
    pub channel: String,
    pub cycle: Cycle,
    pub until: Timestamp,
    /// The rate that was in force.
    pub rate: Option<Rate>,
}
