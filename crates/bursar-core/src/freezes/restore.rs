//! Recheck mode: the books were restored from a copy, and the channels may know more than they do.
//!
//! A copy lacks the last commits of the books that it was made from. What they sent is not in the copy, so nothing is sent,
//! and no money is released, before the channel was asked. It ends for a channel when two people say so.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::four_eyes::{Signature, completes};
use crate::rejection::Rejection;

/// The last restore of the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// When it was noticed. It names the restore: cursors and payouts carry it.
    pub at: Timestamp,
    /// The last commit of the copy; what came after it is lost.
    pub last_commit: Option<Timestamp>,
    /// Its number.
    pub last_seq: u64,
    /// Earlier restores, the latest last: their epochs, and the last commits of their copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<(i64, u64)>,
    pub reason: String,
    pub actor: String,
    /// When all channels were ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The channels that were ended alone.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ended: BTreeSet<String>,
    /// The first of two people who want a channel ended; all channels under an empty name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proposals: BTreeMap<String, Signature>,
    /// Reports of providers about the lost time that one person has loaded, by channel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proposed: BTreeMap<String, Report>,
    /// Those that two people have loaded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<String, Report>,
}

/// A provider's list of all payments in an interval. Two people must load the same list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub from: Timestamp,
    pub to: Timestamp,
    /// SHA-256 of its rows, in hexadecimal.
    pub digest: String,
    pub rows: u64,
    pub loaded_by: Signature,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
}

/// How many restores the books remember, as far as readers of the feed may have slept.
const EARLIER_MAX: usize = 50;

impl Restore {
    /// A restore that begins now. A later one has a later name, also if the clock stands still.
    pub(crate) fn begin(
        before: Option<&Self>,
        now: Timestamp,
        (last_seq, last_commit): (u64, Option<Timestamp>),
        (actor, reason): (&str, &str),
    ) -> Self {
        let mut earlier = before.map_or_else(Vec::new, |before| before.earlier.clone());
        earlier.extend(before.map(|before| (before.epoch(), before.last_seq)));
        let forgotten = earlier.len().saturating_sub(EARLIER_MAX);
        earlier.drain(..forgotten);
        // While a restore is open, the time that it has lost is still unknown.
        let open = before.filter(|before| before.is_open());
        let (last_seq, last_commit) = open.map_or((last_seq, last_commit), |before| {
            (before.last_seq.min(last_seq), before.last_commit.min(last_commit))
        });
        let next = before.map(|before| before.at.saturating_add(SignedDuration::from_micros(1)));
        Self {
            at: next.and_then(Result::ok).map_or(now, |next| next.max(now)),
            last_commit,
            last_seq,
            earlier,
            reason: reason.to_owned(),
            actor: actor.to_owned(),
            ended_at: None,
            ended: BTreeSet::new(),
            proposals: BTreeMap::new(),
            proposed: BTreeMap::new(),
            reports: BTreeMap::new(),
        }
    }

    /// Whether payouts through this channel are still rechecked.
    pub fn is_open_for(&self, channel: &str) -> bool {
        self.ended_at.is_none() && !self.ended.contains(channel)
    }

    /// The number that cursors carry after this restore.
    pub fn epoch(&self) -> i64 {
        self.at.as_microsecond()
    }

    /// The last commit that a reader of an earlier epoch shares with the books; none if nothing was lost since.
    pub fn shared_until(&self, epoch: i64) -> Option<u64> {
        let own = (self.epoch(), self.last_seq);
        let since = self.earlier.iter().chain([&own]).filter(|(later, _)| *later > epoch);
        since.map(|(_, seq)| *seq).min()
    }

    pub const fn is_open(&self) -> bool {
        self.ended_at.is_none()
    }

    /// The report that proves the absence of every reference that it does not list: it covers the time from the last commit
    /// of the copy until the channel has shown everything that was sent before the restore.
    pub fn proof(&self, channel: &str, shown_at: Timestamp) -> Option<&Report> {
        self.reports.get(channel).filter(|report| {
            self.last_commit.is_none_or(|last| report.from <= last) && report.to >= shown_at
        })
    }

    /// Ends one channel, or all; the first of two people only proposes it.
    pub(crate) fn end(
        &mut self,
        channel: Option<&str>,
        by: &Signature,
        now: Timestamp,
    ) -> Result<RestoreStatus, Rejection> {
        if channel.map_or(!self.is_open(), |channel| !self.is_open_for(channel)) {
            return Ok(RestoreStatus::Ended);
        }
        let name = channel.unwrap_or_default();
        let first = self.proposals.get(name);
        if !first.map_or(Ok(false), |first| completes(first, by))? {
            self.proposals.insert(name.to_owned(), by.clone());
            return Ok(RestoreStatus::EndProposed);
        }
        self.proposals.remove(name);
        match channel {
            Some(channel) => drop(self.ended.insert(channel.to_owned())),
            None => self.ended_at = Some(now),
        }
        Ok(RestoreStatus::Ended)
    }

    /// Takes a report; the second of two people must load the same one.
    pub(crate) fn report(
        &mut self,
        channel: &str,
        report: Report,
    ) -> Result<RestoreStatus, Rejection> {
        let is_same = |known: &Report| {
            (known.from, known.to, &known.digest) == (report.from, report.to, &report.digest)
        };
        if self.reports.get(channel).is_some_and(is_same) {
            return Ok(RestoreStatus::Reported);
        }
        let first = self.proposed.get(channel).filter(|it| is_same(it));
        let completed = |first: &&Report| completes(&first.loaded_by, &report.loaded_by);
        let is_second = first.as_ref().map_or(Ok(false), completed)?;
        let Some(first) = first.filter(|_| is_second) else {
            self.proposed.insert(channel.to_owned(), report);
            return Ok(RestoreStatus::ReportProposed);
        };
        let confirmed = Report { confirmed_by: Some(report.loaded_by.actor), ..first.clone() };
        self.proposed.remove(channel);
        self.reports.insert(channel.to_owned(), confirmed);
        Ok(RestoreStatus::Reported)
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestoreStatus {
    Rechecking,
    EndProposed,
    Ended,
    ReportProposed,
    Reported,
}

impl RestoreStatus {
    /// The name of the action in the audit log.
    pub(crate) const fn action(self) -> &'static str {
        match self {
            Self::Rechecking => "restore.begin",
            Self::EndProposed => "restore.end.propose",
            Self::Ended => "restore.end",
            Self::ReportProposed => "restore.report.propose",
            Self::Reported => "restore.report",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rechecking => "RECHECKING",
            Self::EndProposed => "END_PROPOSED",
            Self::Ended => "ENDED",
            Self::ReportProposed => "REPORT_PROPOSED",
            Self::Reported => "REPORTED",
        }
    }
}
