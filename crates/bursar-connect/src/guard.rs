//! A condition of the whole process, checked before the first byte of every submission: books that are gone cannot know what
//! was sent.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Why nothing was sent.
pub(crate) const GUARDED: &str = "the books are not where they were, so it was not sent";

/// Shared by all channels. Allows everything until a condition is set.
#[derive(Clone, Default)]
pub struct Guard(Arc<OnceLock<Condition>>);

type Condition = Box<dyn Fn() -> bool + Send + Sync>;

impl Guard {
    /// Sets the condition, once.
    pub fn set(&self, condition: impl Fn() -> bool + Send + Sync + 'static) {
        drop(self.0.set(Box::new(condition)));
    }

    pub(crate) fn allows(&self) -> bool {
        self.0.get().is_none_or(|condition| condition())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("is_set", &self.0.get().is_some()).finish()
    }
}
