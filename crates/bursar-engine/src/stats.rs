//! Numbers about an engine, for whoever watches it. Counts are since it was started.

use std::collections::{BTreeMap, VecDeque};

use bursar_core::delivery::{self, Unsendable};
use bursar_core::ids::FlowId;
use bursar_core::payout::{Answer, Event, Outcome};
use bursar_core::rejection::Rejection;
use jiff::Timestamp;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Turns that were saved.
    pub turns: u64,
    /// Requests in these turns.
    pub requests: u64,
    /// Turns that the store did not save, or nobody knows.
    pub not_saved: u64,
    /// Turns given up because other writers were faster again and again.
    pub conflicts: u64,
    /// Turns that ended in a bug.
    pub panics: u64,
    /// Flows that were set aside because waking them makes turns fail.
    pub set_aside: u64,
    /// Reports that could not be taken note of. Their flows ask the channel again.
    pub dropped_reports: u64,
    /// Effects that have not come back.
    pub in_flight: usize,
    /// Requests that wait for a turn.
    pub inbox: usize,
    /// When the last turn was admitted that was saved. An engine at rest still turns, ten times a second.
    pub last_turn_at: Option<Timestamp>,
    /// When a turn was last admitted that the store did not save, unless something was written since: an engine that
    /// finds nothing to do also turns on a full disk.
    pub not_saved_at: Option<Timestamp>,
    pub channels: BTreeMap<String, ChannelStats>,
    pub deliveries: DeliveryStats,
    /// How many alerts there were in all.
    pub alerts: u64,
    /// The latest alerts, oldest first.
    pub latest_alerts: VecDeque<(Timestamp, Alert)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Submissions that have come back.
    pub submissions: u64,
    /// Those of them whose outcome is not known.
    pub unknown: u64,
    /// Answers, to submissions and questions, that the connector has no meaning for.
    pub unmapped: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryStats {
    /// Attempts that have come back with a 2xx.
    pub taken: u64,
    /// Attempts that have come back with anything else.
    pub failed: u64,
    /// What could not be sent and never will be, because it cannot be signed or written or makes every turn fail: dead
    /// letters, and our fault.
    pub unsendable: u64,
    /// What could not be sent this time, because this process has no key for it or no means: our fault as well.
    pub unsent: u64,
    /// Attempts that have not come back.
    pub in_flight: u64,
    /// How long attempts took, in all.
    pub milliseconds: u64,
}

/// Something that a person must look at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alert {
    #[error(
        "waking {flow} makes Bursar fail: it was set aside and its money stays where it is. Look at its events, then report the bug"
    )]
    SetAside { flow: String },
    #[error(
        "{flow} makes Bursar fail again and again and is a dead letter now: its merchant is not told. Report the bug, then replay it"
    )]
    GivenUp { flow: String },
    #[error(
        "the first flow that waits in {lane} makes Bursar fail and cannot be set aside: nothing in {lane} moves for a minute. Report the bug"
    )]
    LaneRests { lane: String },
    #[error(
        "what a channel said about flow {flow} makes Bursar fail and was dropped: the channel is asked again when the lease ends. Report the bug"
    )]
    DroppedReport { flow: FlowId },
    #[error(
        "{flow} cannot go on and was set aside, its money stays where it is: {rejection}. Put that right; it is tried again by itself"
    )]
    Refused { flow: String, rejection: Rejection },
    #[error(
        "what a channel said about flow {flow} was refused and its money stays where it is: {rejection}. Put that right; the channel is asked again"
    )]
    NotTaken { flow: String, rejection: Rejection },
    /// In the words of another host.
    #[error("{0}")]
    Beside(String),
}

/// More would only push out of sight what came first.
const ALERTS_MAX: usize = 32;

/// How the detail of an answer begins that a connector has no meaning for.
const UNMAPPED: &str = "unmapped ";

impl Stats {
    pub(crate) fn alert(&mut self, at: Timestamp, alert: Alert) {
        add(&mut self.alerts, 1);
        // What is seen again and again must not push out of sight what is seen once.
        self.latest_alerts.retain(|(_, known)| *known != alert);
        if self.latest_alerts.len() >= ALERTS_MAX {
            self.latest_alerts.pop_front();
        }
        self.latest_alerts.push_back((at, alert));
    }

    /// Together with what another host has counted, which makes no turns.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        let Self {
            turns: _,
            requests: _,
            not_saved: _,
            conflicts: _,
            panics: _,
            set_aside: _,
            dropped_reports: _,
            in_flight,
            inbox: _,
            last_turn_at: _,
            not_saved_at: _,
            channels,
            deliveries,
            alerts,
            latest_alerts,
        } = other;
        self.in_flight = self.in_flight.saturating_add(*in_flight);
        for (name, more) in channels {
            let ChannelStats { submissions, unknown, unmapped } = *more;
            let stats = self.channels.entry(name.clone()).or_default();
            add(&mut stats.submissions, submissions);
            add(&mut stats.unknown, unknown);
            add(&mut stats.unmapped, unmapped);
        }
        let DeliveryStats { taken, failed, unsendable, unsent, in_flight, milliseconds } =
            *deliveries;
        let stats = &mut self.deliveries;
        add(&mut stats.taken, taken);
        add(&mut stats.failed, failed);
        add(&mut stats.unsendable, unsendable);
        add(&mut stats.unsent, unsent);
        add(&mut stats.in_flight, in_flight);
        add(&mut stats.milliseconds, milliseconds);
        add(&mut self.alerts, *alerts);
        self.latest_alerts.extend(latest_alerts.iter().cloned());
        self.latest_alerts.make_contiguous().sort_by_key(|(at, _)| *at);
        self
    }

    /// What came back from an endpoint.
    pub(crate) fn brought(&mut self, event: &delivery::Event) {
        let delivery::Event::Returned { took_ms, outcome, .. } = event else { return };
        let stats = &mut self.deliveries;
        add(&mut stats.milliseconds, *took_ms);
        let count = match outcome {
            delivery::Outcome::Answered { status, .. } if (200..300).contains(status) => {
                &mut stats.taken
            }
            delivery::Outcome::Answered { .. } | delivery::Outcome::Failed { .. } => {
                &mut stats.failed
            }
            delivery::Outcome::Unsendable { what, .. } => match what {
                Unsendable::Serialisation | Unsendable::Signing => &mut stats.unsendable,
                Unsendable::NoKey | Unsendable::NoMeans => &mut stats.unsent,
            },
        };
        add(count, 1);
    }

    /// What came back from a channel.
    pub(crate) fn heard(&mut self, channel: &str, event: &Event) {
        let stats = self.channels.entry(channel.to_owned()).or_default();
        let detail = match event {
            Event::Submitted { outcome, .. } => {
                add(&mut stats.submissions, 1);
                add(&mut stats.unknown, u64::from(matches!(outcome, Outcome::Unknown { .. })));
                outcome_detail(outcome)
            }
            Event::Queried { answer, .. } => answer_detail(answer),
            Event::Due | Event::Told { .. } | Event::CancelAsked | Event::Decided(_) => None,
        };
        let is_unmapped = detail.is_some_and(|detail| detail.starts_with(UNMAPPED));
        add(&mut stats.unmapped, u64::from(is_unmapped));
    }
}

pub(crate) fn add(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

fn outcome_detail(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::NotSent { detail }
        | Outcome::Rejected { detail, .. }
        | Outcome::Unknown { detail } => Some(detail),
        Outcome::Accepted { .. } | Outcome::Paid { .. } | Outcome::Duplicate => None,
    }
}

fn answer_detail(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::NotPaid { detail, .. }
        | Answer::Returned { detail }
        | Answer::Failed { detail } => Some(detail),
        Answer::Paid { .. } | Answer::Pending { .. } | Answer::NotFound => None,
    }
}
