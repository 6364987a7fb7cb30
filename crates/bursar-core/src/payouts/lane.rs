//! The lanes of payouts.

use jiff::Timestamp;

use super::state::{Payout, State};
use crate::dispatch::{LEASES, Rank, Waits};
use crate::flow::{Due, LaneInfo, LaneScope};

/// The lanes in which the embedded engine claims due payouts.
pub(super) const LANES: [LaneInfo; 3] = [
    LaneInfo { name: LANE, scope: LaneScope::Kind },
    // What was not answered comes before what is sent next.
    LaneInfo { name: LEASE_LANE, scope: LaneScope::Channel },
    LaneInfo { name: SUBMIT_LANE, scope: LaneScope::Queue },
];

/// Lane of payouts that wait for anything but submission and its outcome.
pub const LANE: &str = "payout";

/// The queues of the payouts of a channel that wait for submission, scheduled ones until their time: the engine claims one
/// only with a free slot of the channel.
pub fn submit_lane(channel: &str) -> String {
    format!("{SUBMIT_LANE}{channel}")
}

/// Lane of the payouts of a channel that are being submitted: due when the lease is over and no outcome has come.
pub fn lease_lane(channel: &str) -> String {
    format!("{LEASE_LANE}{channel}")
}

/// Prefixes of these lanes.
const SUBMIT_LANE: &str = "submit:payout:";
const LEASE_LANE: &str = LEASES;

impl Payout {
    pub fn due(&self) -> Option<Due> {
        let at = self.due_at()?;
        let lane = match self.family() {
            Some(family) => format!("{family}{}", self.terms.channel),
            None => LANE.to_owned(),
        };
        Some(Due { lane, at })
    }

    /// When the next step is due: a question after a restore comes before all others.
    pub(crate) fn due_at(&self) -> Option<Timestamp> {
        let at = self.state.due()?;
        Some(self.recheck_due().unwrap_or(at))
    }

    /// Whether the payout waits in this lane, if it waits.
    pub(crate) fn waits_in(&self, lane: &str) -> bool {
        match self.family() {
            Some(family) => lane.strip_prefix(family) == Some(self.terms.channel.as_str()),
            None => lane == LANE,
        }
    }

    /// How it waits to be sent, if it does. A retry keeps its rank.
    pub(crate) fn waits(&self) -> Option<Waits<'_>> {
        let is_waiting = self.family() == Some(SUBMIT_LANE);
        let rank = match self.terms.scheduled_at {
            _ if self.is_urgent => Rank::Urgent,
            Some(_) => Rank::Scheduled,
            None => Rank::Interactive,
        };
        is_waiting.then_some(Waits { channel: &self.terms.channel, rank })
    }

    /// The prefix of its lane, if it is a lane of its channel.
    const fn family(&self) -> Option<&'static str> {
        if self.recheck_due().is_some() {
            // It waits for a question, not for a slot.
            return None;
        }
        match self.state {
            State::Ready { .. } | State::Scheduled { .. } => Some(SUBMIT_LANE),
            State::Submitting { .. } => Some(LEASE_LANE),
            State::Unconfirmed { .. }
            | State::Processing { .. }
            | State::Stuck { .. }
            | State::Success
            | State::Failed { .. }
            | State::Cancelled
            | State::Expired
            | State::Returned
            | State::LateSuccess => None,
        }
    }
}
