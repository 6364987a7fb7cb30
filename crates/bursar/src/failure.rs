//! Why a command stopped, in words for people.

use std::fmt;
use std::path::Path;

/// A command that did not do what it was asked to do.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// Whether the message already begins with its own headline.
    pub(crate) is_rendered: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_rendered: false }
    }

    /// A message that was laid out elsewhere, such as a compiler's.
    pub(crate) fn rendered(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_rendered: true }
    }

    pub(crate) fn reading(path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!(
            "cannot read {}: {error}. Nothing was done; check the path",
            path.display()
        ))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A reader that goes away early (`bursar … | head`) is no failure worth a message, but the work stops.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(format!("cannot write the output: {error}"))
    }
}
