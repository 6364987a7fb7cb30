//! The lanes in which payouts wait.

/// Where payouts wait for anything but their turn to be sent.
pub const LANE: &str = "payout";

/// Where the payouts of a channel wait for their turn to be sent: whoever wakes them must have a free hand.
pub fn submit_lane(channel: &str) -> String {
    format!("{SUBMIT_LANE}{channel}")
}

/// Where the payouts of a channel sleep until their time. Apart from all others, so that nobody reads them before.
pub fn schedule_lane(channel: &str) -> String {
    format!("{SCHEDULE_LANE}{channel}")
}

/// What the names of these lanes begin with.
pub(super) const SUBMIT_LANE: &str = "submit:";
pub(super) const SCHEDULE_LANE: &str = "schedule:";
