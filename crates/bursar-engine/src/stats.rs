//! Statistics of an engine, counted since its start.

use std::collections::{BTreeMap, VecDeque};

use bursar_core::flow::{Effect, EndpointResult, Observation, Outcome};
use bursar_core::ids::FlowId;
use bursar_core::rejection::Rejection;
use jiff::Timestamp;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Turns that were saved.
    pub turns: u64,
    /// Requests in these turns.
    pub requests: u64,
    /// Turns that the store did not save, or whose outcome is unknown.
    pub not_saved: u64,
    /// Turns given up after repeated write conflicts.
    pub conflicts: u64,
    /// Turns that panicked.
    pub panics: u64,
    /// Flows that were quarantined because their steps make turns fail.
    pub quarantined: u64,
    /// Outcomes of effects that could not be saved. Their flows query the channel.
    pub dropped_outcomes: u64,
    /// Effects in flight, without webhook calls.
    pub in_flight: usize,
    /// Requests that wait for a turn.
    pub inbox: usize,
    /// When the last saved turn was admitted. An idle engine still makes turns, ten times a second.
    pub last_turn_at: Option<Timestamp>,
    /// When the last turn was admitted that the store did not save, until a turn writes again: turns without writes
    /// succeed on a full disk too.
    pub not_saved_at: Option<Timestamp>,
    /// Why the store did not save it.
    pub not_saved_because: Option<String>,
    pub channels: BTreeMap<String, ChannelStats>,
    pub deliveries: DeliveryStats,
    /// How many alerts were raised in all.
    pub alerts: u64,
    /// The latest alerts, oldest first.
    pub latest_alerts: VecDeque<(Timestamp, Alert)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Submissions that are done.
    pub submissions: u64,
    /// Submissions with an unknown outcome.
    pub unknown: u64,
    /// Answers to submissions and queries that the connector has no mapping for.
    pub unmapped: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryStats {
    /// Attempts that were answered with a 2xx status.
    pub accepted: u64,
    /// Attempts that ended in any other way.
    pub failed: u64,
    /// Deliveries that were dead-lettered by a fault of Bursar: they cannot be signed or written, or make turns fail.
    pub unsendable: u64,
    /// Attempts that were not sent by a fault of this process: no key for the secrets, or no local resources.
    pub unsent: u64,
    /// Attempts in flight.
    pub in_flight: u64,
    /// The duration of all attempts together.
    pub milliseconds: u64,
}

/// A condition that an operator must look at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alert {
    #[error(
        "a step of {flow} makes Bursar fail: it is quarantined and its money stays where it is. Look at its events, then report the bug"
    )]
    Quarantined { flow: String },
    #[error(
        "{flow} makes Bursar fail again and again and is dead-lettered: its merchant does not receive it. Report the bug, then replay it"
    )]
    DeadLettered { flow: String },
    #[error(
        "the first due flow of {lane} makes Bursar fail and cannot be quarantined: {lane} is paused for a minute. Report the bug"
    )]
    LanePaused { lane: String },
    #[error(
        "the outcome of an effect of flow {flow} makes Bursar fail and was dropped: the channel is queried when the lease ends. Report the bug"
    )]
    DroppedOutcome { flow: FlowId },
    #[error(
        "a step of {flow} was refused and is deferred, its money stays where it is: {rejection}. Fix the cause; the step is retried"
    )]
    Refused { flow: String, rejection: Rejection },
    #[error(
        "the outcome of an effect of flow {flow} was refused and its money stays where it is: {rejection}. Fix the cause; the channel is queried again"
    )]
    OutcomeRejected { flow: String, rejection: Rejection },
    /// Raised by another host.
    #[error("{0}")]
    External(String),
}

/// How many alerts are kept.
const ALERTS_MAX: usize = 32;

impl Stats {
    pub(crate) fn alert(&mut self, at: Timestamp, alert: Alert) {
        add(&mut self.alerts, 1);
        // A repeated alert must not push out a different one.
        self.latest_alerts.retain(|(_, known)| *known != alert);
        if self.latest_alerts.len() >= ALERTS_MAX {
            self.latest_alerts.pop_front();
        }
        self.latest_alerts.push_back((at, alert));
    }

    /// The sum with the statistics of another host, which makes no turns.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        let Self {
            turns: _,
            requests: _,
            not_saved: _,
            conflicts: _,
            panics: _,
            quarantined: _,
            dropped_outcomes: _,
            in_flight,
            inbox: _,
            last_turn_at: _,
            not_saved_at: _,
            not_saved_because: _,
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
        let DeliveryStats { accepted, failed, unsendable, unsent, in_flight, milliseconds } =
            *deliveries;
        let stats = &mut self.deliveries;
        add(&mut stats.accepted, accepted);
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

    /// Counts an effect that was run.
    pub(crate) fn count(&mut self, effect: &Effect, outcome: &Outcome) {
        match effect.observe(outcome) {
            Observation::Nothing => {}
            Observation::Channel { channel, is_submission, is_unknown, is_unmapped } => {
                let stats = self.channels.entry(channel.to_owned()).or_default();
                add(&mut stats.submissions, u64::from(is_submission));
                add(&mut stats.unknown, u64::from(is_unknown));
                add(&mut stats.unmapped, u64::from(is_unmapped));
            }
            Observation::Endpoint { result, took_ms } => {
                let stats = &mut self.deliveries;
                add(&mut stats.milliseconds, took_ms);
                let count = match result {
                    EndpointResult::Accepted => &mut stats.accepted,
                    EndpointResult::Failed => &mut stats.failed,
                    EndpointResult::Unsendable => &mut stats.unsendable,
                    EndpointResult::Unsent => &mut stats.unsent,
                };
                add(count, 1);
            }
        }
    }
}

pub(crate) fn add(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}
