//! What time it is: the system's, or one that a test puts forward.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// From here on it is at least this late. False if the clock cannot be put forward: real time is nobody's to change.
    fn put_forward(&self, _to: Timestamp) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Starts at the time of another clock and moves with it, ahead of it by as much as it was put forward.
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
        Self::over(Arc::new(SystemClock))
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
