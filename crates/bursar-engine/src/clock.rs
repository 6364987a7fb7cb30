//! The system clock, and a test clock that can be advanced.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Advances the clock to at least this time. False if the clock cannot be advanced.
    fn put_forward(&self, _to: Timestamp) -> bool {
        false
    }
}

/// The wall clock, steadied: it never runs more than a tenth faster or slower than the monotonic clock.
///
/// Leases, and the proof that a channel never received a submission, depend on the time that has really passed. A wall
/// clock that is set forward would end them at once; therefore this clock follows it slowly. If the wall clock is set
/// back, this clock slows down until they agree.
#[derive(Debug, Clone)]
pub struct SystemClock(Arc<Mutex<Reading>>);

/// The last reading.
#[derive(Debug, Clone, Copy)]
struct Reading {
    instant: Instant,
    time: Timestamp,
}

impl Default for SystemClock {
    fn default() -> Self {
        let reading = Reading { instant: Instant::now(), time: Timestamp::now() };
        Self(Arc::new(Mutex::new(reading)))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let instant = Instant::now();
        let passed = instant.saturating_duration_since(last.instant);
        let time = steadied(last.time, Timestamp::now(), passed);
        *last = Reading { instant, time };
        time
    }
}

/// The steadied time: `last` plus the time that has passed, drawn to the wall clock by at most a tenth.
pub fn steadied(last: Timestamp, wall: Timestamp, passed: Duration) -> Timestamp {
    let tenth = passed.checked_div(10).unwrap_or_default();
    let after = |span: Duration| {
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        last.saturating_add(span).unwrap_or(Timestamp::MAX)
    };
    wall.clamp(after(passed.saturating_sub(tenth)), after(passed.saturating_add(tenth)))
}

/// Runs with another clock, ahead of it by as much as it was advanced.
#[derive(Clone)]
pub struct TestClock {
    base: Arc<dyn Clock>,
    ahead: Arc<Mutex<SignedDuration>>,
}

impl std::fmt::Debug for TestClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestClock").field("ahead", &self.ahead).finish_non_exhaustive()
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::over(Arc::new(SystemClock::default()))
    }
}

impl TestClock {
    pub fn over(base: Arc<dyn Clock>) -> Self {
        Self { base, ahead: Arc::default() }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let ahead = *self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        self.base.now().saturating_add(ahead).unwrap_or(Timestamp::MAX)
    }

    fn put_forward(&self, to: Timestamp) -> bool {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        *ahead = (*ahead).max(to.duration_since(self.base.now()));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};

    use super::steadied;

    #[test]
    fn a_wall_clock_that_is_set_is_followed_slowly() {
        let start = Timestamp::from_second(1_794_700_800).unwrap();
        let seconds = SignedDuration::from_secs;
        let ten = Duration::from_secs(10);
        for (wall, expected) in [(10, 10), (9, 9), (600, 11), (-600, 9), (0, 9)] {
            let time = steadied(start, start + seconds(wall), ten);
            assert_eq!(time, start + seconds(expected), "the wall clock says {wall} s");
        }
    }
}
