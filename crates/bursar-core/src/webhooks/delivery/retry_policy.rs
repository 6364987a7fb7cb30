//! The retry policy of deliveries, and the limits of the breaker.

use jiff::SignedDuration;

use crate::ids::Seed;

/// The delivery policy of all endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Pauses between attempts; there is one attempt more than there are pauses.
    pub pauses: Vec<SignedDuration>,
    /// A pause is up to this much longer, so that deliveries that fail together do not retry together.
    pub jitter_percent: u32,
    /// Pause after an attempt that could not be sent and therefore does not count.
    pub unsent_pause: SignedDuration,
    /// The maximum `Retry-After` that a receiver gets.
    pub retry_after_max: SignedDuration,
    /// An attempt without an outcome is lost after this time.
    pub lease: SignedDuration,
    /// Number of different deliveries that fail in a row before the breaker opens.
    pub breaker_after: usize,
    /// How long the breaker is open, at first and at most.
    pub breaker_pause: SignedDuration,
    pub breaker_pause_max: SignedDuration,
    /// An endpoint without a success for this long is disabled.
    pub disable_after: SignedDuration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let minutes = [1, 5, 30, 2 * 60, 12 * 60, 24 * 60, 72 * 60];
        Self {
            pauses: minutes.into_iter().map(SignedDuration::from_mins).collect(),
            jitter_percent: 10,
            unsent_pause: SignedDuration::from_secs(10),
            retry_after_max: SignedDuration::from_hours(72),
            lease: SignedDuration::from_secs(35),
            breaker_after: 20,
            breaker_pause: SignedDuration::from_mins(1),
            breaker_pause_max: SignedDuration::from_mins(30),
            disable_after: SignedDuration::from_hours(120),
        }
    }
}

impl RetryPolicy {
    /// Whether no other attempt follows this one.
    pub(super) fn is_last(&self, attempt: u32) -> bool {
        usize::try_from(attempt).is_ok_and(|attempt| attempt > self.pauses.len())
    }

    /// The pause after the attempt with this number; none after the last. A longer `Retry-After` is honoured.
    pub(super) fn pause(
        &self,
        attempt: u32,
        retry_after: Option<SignedDuration>,
        seed: &Seed,
    ) -> Option<SignedDuration> {
        let index = usize::try_from(attempt).ok()?.checked_sub(1)?;
        let step = *self.pauses.get(index)?;
        let requested = retry_after.map_or(step, |requested| requested.min(self.retry_after_max));
        Some(self.jittered(step.max(requested), seed))
    }

    /// The pause after an attempt that was not sent.
    pub(super) fn unsent_pause(&self, seed: &Seed) -> SignedDuration {
        self.jittered(self.unsent_pause, seed)
    }

    fn jittered(&self, pause: SignedDuration, seed: &Seed) -> SignedDuration {
        let most =
            pause.as_millis().saturating_mul(i128::from(self.jitter_percent)).div_euclid(100);
        let random = seed.derive("jitter", 0);
        let random = u64::from_be_bytes(random.first_chunk().copied().unwrap_or_default());
        let more =
            i128::from(random).checked_rem_euclid(most.saturating_add(1)).unwrap_or_default();
        pause.saturating_add(SignedDuration::from_millis(i64::try_from(more).unwrap_or_default()))
    }
}
