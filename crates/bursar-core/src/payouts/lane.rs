//! The lanes of payouts.

use crate::flow::{LaneInfo, LaneScope};

/// The lanes in which the embedded engine claims due payouts.
pub(super) const LANES: [LaneInfo; 3] = [
    LaneInfo { name: LANE, scope: LaneScope::Kind },
    LaneInfo { name: SUBMIT_LANE, scope: LaneScope::Channel { takes_slot: true } },
    LaneInfo { name: SCHEDULE_LANE, scope: LaneScope::Channel { takes_slot: false } },
];

/// Lane of payouts that wait for anything but submission.
pub const LANE: &str = "payout";

/// Lane of the payouts of a channel that wait for submission: the engine claims one only with a free slot of the
/// channel.
pub fn submit_lane(channel: &str) -> String {
    format!("{SUBMIT_LANE}{channel}")
}

/// Lane of the scheduled payouts of a channel. It is separate, so that no claim reads them early.
pub fn schedule_lane(channel: &str) -> String {
    format!("{SCHEDULE_LANE}{channel}")
}

/// Prefixes of these lanes.
pub(super) const SUBMIT_LANE: &str = "submit:";
pub(super) const SCHEDULE_LANE: &str = "schedule:";
