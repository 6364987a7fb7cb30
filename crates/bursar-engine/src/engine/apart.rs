//! What is left of turns that failed: halved until whatever makes them fail is alone, and lanes that are woken with care.

use std::collections::{BTreeMap, VecDeque};

use bursar_core::ids::EndpointId;
use bursar_core::request::{Body, Deliver, Report};
use jiff::{SignedDuration, Timestamp};

use super::message::Ticket;

/// Whose request a place in a turn is.
#[derive(Debug)]
pub(super) enum Place {
    Caller(Ticket),
    /// What became of an effect: it must reach the books, however often that takes.
    Report {
        report: Report,
        /// How often it made a turn fail in which it was alone.
        failures: u32,
    },
    Wake {
        lane: String,
        limit: u32,
    },
    SetAside {
        lane: String,
    },
    Deliver(Deliver),
    SetAsideDelivery,
    /// An endpoint was switched off.
    Cancel(EndpointId),
}

/// Requests that are decided together, with whose they are.
pub(super) type Group = Vec<(Place, Body)>;

#[derive(Debug, Default)]
pub(super) struct Apart {
    groups: VecDeque<Group>,
    /// Lanes in which something makes turns fail: how many of their flows are woken at once, and in a turn of their own.
    careful: BTreeMap<String, u32>,
    /// Lanes whose first flow could not even be set aside.
    resting: BTreeMap<String, Timestamp>,
}

/// How long a lane is left alone that nothing helps.
const LANE_REST: SignedDuration = SignedDuration::from_mins(1);

impl Apart {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<Group> {
        self.groups.pop_front()
    }

    /// Behind whatever else is left.
    pub(super) fn push(&mut self, group: Group) {
        self.groups.push_back(group);
    }

    /// Before anything else.
    pub(super) fn push_front(&mut self, group: Group) {
        self.groups.push_front(group);
    }

    /// Both halves run again, in their order. Where batches are cut changes no answer.
    pub(super) fn halve(&mut self, mut group: Group) {
        let second = group.split_off(group.len() >> 1);
        self.push_front(second);
        self.push_front(group);
    }

    /// How many flows of a lane to wake, if it is woken with care.
    pub(super) fn care(&self, lane: &str) -> Option<u32> {
        self.careful.get(lane).copied()
    }

    /// From here on one by one.
    pub(super) fn take_care(&mut self, lane: String) {
        self.careful.insert(lane, 1);
    }

    /// Waking these went well: twice as many next time, and no more care once the lane has no more or takes this many.
    pub(super) fn went_well(&mut self, lane: &str, (woken, limit): (u32, u32), limit_max: u32) {
        let doubled = limit.saturating_mul(2);
        if woken < limit || doubled >= limit_max {
            self.careful.remove(lane);
        } else if let Some(care) = self.careful.get_mut(lane) {
            *care = doubled;
        }
    }

    pub(super) fn rest(&mut self, lane: String, now: Timestamp) {
        let until = now.saturating_add(LANE_REST).unwrap_or(Timestamp::MAX);
        self.resting.insert(lane, until);
    }

    pub(super) fn is_resting(&self, lane: &str, now: Timestamp) -> bool {
        // If it is longer than it was ever meant to be, the clock was set back.
        let is_ahead = |until: Timestamp| now < until && until.duration_since(now) <= LANE_REST;
        self.resting.get(lane).is_some_and(|until| is_ahead(*until))
    }
}
