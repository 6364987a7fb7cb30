//! Slots: when each flow is sent, so that no window of any length has more than the rate and the burst allow.

use jiff::{SignedDuration, Timestamp};

use super::rate::Rate;

/// A rate with its burst, and how far ahead slots are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub rate: Rate,
    pub burst: u32,
    pub horizon: SignedDuration,
}

/// A next slot that is so much further ahead than it can be was given out by a clock that was wrong.
/// Clocks of machines may differ by less.
pub(super) const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(1);

impl Pace {
    /// At most `limit` slots from now on to the horizon, and the next one after them.
    ///
    /// Slots are one interval apart. Slots that have passed unused are kept for as many as the burst has beyond the first.
    /// So a window of length w has at most rate·w + burst slots, whichever process gives them out.
    pub fn slots(
        self,
        next: Option<Timestamp>,
        now: Timestamp,
        limit: u32,
    ) -> (Vec<Timestamp>, Timestamp) {
        let interval = self.rate.interval();
        let kept = interval
            .saturating_mul(i32::try_from(self.burst.saturating_sub(1)).unwrap_or(i32::MAX));
        let oldest = before(now, kept);
        let latest = after(now, self.horizon);
        let mut slot = match next {
            // The clock was fast when they were given out. One interval is enough not to exceed the rate by now.
            Some(next) if next > after(after(latest, interval), CLOCK_SLACK) => {
                after(now, interval)
            }
            Some(next) => next.max(oldest),
            None => now,
        };
        let mut slots = Vec::new();
        while slot <= latest && slots.len() < usize::try_from(limit).unwrap_or(usize::MAX) {
            slots.push(slot.max(now));
            slot = after(slot, interval);
        }
        (slots, slot)
    }

    /// When it is worth asking for slots again: half of those up to the horizon are then free.
    pub fn again_at(self, next: Timestamp) -> Timestamp {
        before(next, self.horizon.checked_div(2).unwrap_or_default())
    }
}

pub(super) fn after(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn before(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
