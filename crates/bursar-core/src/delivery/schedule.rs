//! When to try again, and when to leave an endpoint alone.

use jiff::SignedDuration;

use crate::ids::Seed;

/// How deliveries are made, for all endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// From one attempt to the next; one attempt more than there are pauses.
    pub pauses: Vec<SignedDuration>,
    /// A pause is up to this much longer, so that those who fail together do not come back together.
    pub jitter_percent: u32,
    /// How soon to try again what could not even be sent: no attempt was made.
    pub unsent_pause: SignedDuration,
    /// How long a receiver may ask to be left alone, at most.
    pub retry_after_max: SignedDuration,
    /// An attempt that has not come back by then is lost.
    pub lease: SignedDuration,
    /// Different deliveries that fail in a row until the endpoint is left alone for a while.
    pub breaker_after: usize,
    /// How long at first, and at most.
    pub breaker_pause: SignedDuration,
    pub breaker_pause_max: SignedDuration,
    /// An endpoint that takes nothing for so long is switched off.
    pub disable_after: SignedDuration,
}

impl Default for Schedule {
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

impl Schedule {
    /// Whether no other attempt follows this one.
    pub(super) fn is_last(&self, attempt: u32) -> bool {
        usize::try_from(attempt).is_ok_and(|attempt| attempt > self.pauses.len())
    }

    /// The pause behind the attempt with this number; none behind the last. Whoever asks for more time gets it.
    pub(super) fn pause(
        &self,
        attempt: u32,
        retry_after: Option<SignedDuration>,
        seed: &Seed,
    ) -> Option<SignedDuration> {
        let index = usize::try_from(attempt).ok()?.checked_sub(1)?;
        let step = *self.pauses.get(index)?;
        let asked = retry_after.map_or(step, |asked| asked.min(self.retry_after_max));
        Some(self.jittered(step.max(asked), seed))
    }

    /// The pause behind an attempt that never began.
    pub(super) fn unsent_pause(&self, seed: &Seed) -> SignedDuration {
        self.jittered(self.unsent_pause, seed)
    }

    fn jittered(&self, pause: SignedDuration, seed: &Seed) -> SignedDuration {
        let most =
            pause.as_millis().saturating_mul(i128::from(self.jitter_percent)).div_euclid(100);
        let dice = seed.derive("jitter", 0);
        let dice = u64::from_be_bytes(dice.first_chunk().copied().unwrap_or_default());
        let more = i128::from(dice).checked_rem_euclid(most.saturating_add(1)).unwrap_or_default();
        pause.saturating_add(SignedDuration::from_millis(i64::try_from(more).unwrap_or_default()))
    }
}
