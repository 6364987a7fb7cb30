//! Bisection of failed turns: the engine halves the batch and retries until the failing request is alone. Lanes with a
//! failing flow restart at one flow per turn.

use std::collections::{BTreeMap, VecDeque};

use bursar_core::flow::EffectOutcome;
use bursar_core::ids::EndpointId;
use bursar_core::turn::Body;
use bursar_core::webhooks::StartDeliveries;
use jiff::{SignedDuration, Timestamp};

use super::message::Ticket;

/// The origin of a request in a turn.
#[derive(Debug)]
pub(super) enum Origin {
    Caller(Ticket),
    /// The outcome of an effect: it must be saved, however many turns that takes.
    Outcome {
        outcome: EffectOutcome,
        /// How often it made a turn fail in which it was alone.
        failures: u32,
    },
    Claim {
        lane: String,
        limit: u32,
    },
    Quarantine {
        lane: String,
    },
    StartDeliveries(StartDeliveries),
    QuarantineDelivery,
    /// An endpoint was disabled.
    CancelDeliveries(EndpointId),
}

/// Requests that are decided together, with their origins.
pub(super) type Group = Vec<(Origin, Body)>;

#[derive(Debug, Default)]
pub(super) struct Bisection {
    groups: VecDeque<Group>,
    /// Lanes with a flow that makes turns fail: how many of their flows one turn claims, in a turn of their own.
    throttled: BTreeMap<String, u32>,
    /// Lanes whose first flow could not even be quarantined.
    paused_lanes: BTreeMap<String, Timestamp>,
}

const LANE_PAUSE: SignedDuration = SignedDuration::from_mins(1);

impl Bisection {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<Group> {
        self.groups.pop_front()
    }

    pub(super) fn push(&mut self, group: Group) {
        self.groups.push_back(group);
    }

    pub(super) fn push_front(&mut self, group: Group) {
        self.groups.push_front(group);
    }

    /// Both halves run again, in order. Turn boundaries change no answer.
    pub(super) fn halve(&mut self, mut group: Group) {
        let second = group.split_off(group.len() >> 1);
        self.push_front(second);
        self.push_front(group);
    }

    /// How many flows of a lane one turn may claim, if the lane is throttled.
    pub(super) fn throttle(&self, lane: &str) -> Option<u32> {
        self.throttled.get(lane).copied()
    }

    /// The lane restarts at one flow per turn.
    pub(super) fn slow_start(&mut self, lane: String) {
        self.throttled.insert(lane, 1);
    }

    /// A claim was saved: twice as many next time. The lane is free again once it is empty or takes `limit_max`.
    pub(super) fn ramp_up(&mut self, lane: &str, (claimed, limit): (u32, u32), limit_max: u32) {
        let doubled = limit.saturating_mul(2);
        if claimed < limit || doubled >= limit_max {
            self.throttled.remove(lane);
        } else if let Some(throttle) = self.throttled.get_mut(lane) {
            *throttle = doubled;
        }
    }

    pub(super) fn pause_lane(&mut self, lane: String, now: Timestamp) {
        let until = now.saturating_add(LANE_PAUSE).unwrap_or(Timestamp::MAX);
        self.paused_lanes.insert(lane, until);
    }

    pub(super) fn is_paused(&self, lane: &str, now: Timestamp) -> bool {
        // A pause that lasts longer than it ever could means that the clock was set back.
        let is_ahead = |until: Timestamp| now < until && until.duration_since(now) <= LANE_PAUSE;
        self.paused_lanes.get(lane).is_some_and(|until| is_ahead(*until))
    }
}
