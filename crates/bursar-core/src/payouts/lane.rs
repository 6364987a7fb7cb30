//! The lanes of payouts.

use crate::flow::{LaneInfo, LaneScope};

/// The lanes in which the embedded engine claims due payouts.
pub(super) const LANES: [LaneInfo; 3] = [
    LaneInfo { name: LANE, scope: LaneScope::Kind },
    LaneInfo { name: SUBMIT_LANE, scope: LaneScope::Channel { takes_slot: true } },
    LaneInfo { name: LEASE_LANE, scope: LaneScope::Channel { takes_slot: false } },
];

/// Lane of payouts that wait for anything but submission and its outcome.
pub const LANE: &str = "payout";

/// Lane of the payouts of a channel that wait for submission, scheduled ones until their time: the engine claims one only
/// with a free slot of the channel.
pub fn submit_lane(channel: &str) -> String {
    format!("{SUBMIT_LANE}{channel}")
}

/// Lane of the payouts of a channel that are being submitted: due when the lease is over and no outcome has come.
pub fn lease_lane(channel: &str) -> String {
    format!("{LEASE_LANE}{channel}")
}

/// Prefixes of these lanes.
pub(super) const SUBMIT_LANE: &str = "submit:";
pub(super) const LEASE_LANE: &str = "lease:";
