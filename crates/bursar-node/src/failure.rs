//! Why a command stopped, in words for people.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use bursar_store::StoreError;

/// A command that did not do what it was asked to do.
#[derive(Debug)]
pub enum Failure {
    /// Something to say in one sentence or more.
    Plain(String),
    /// A message that was laid out elsewhere, such as a compiler's.
    Rendered(String),
    /// The reader went away (`bursar … | head`): there is nobody to tell.
    Unheard,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self::Plain(message.into())
    }

    /// The same failure, with what else there is to know.
    #[must_use]
    pub fn and(self, more: &str) -> Self {
        match self {
            Self::Plain(message) => Self::Plain(format!("{message}. {more}")),
            Self::Rendered(message) => Self::Rendered(format!("{message}\n{more}")),
            Self::Unheard => Self::Unheard,
        }
    }

    pub fn reading(path: &Path, error: &io::Error) -> Self {
        Self::new(format!(
            "cannot read {}: {error}. Nothing was done; check the path",
            path.display()
        ))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(message) => write!(f, "error: {message}"),
            Self::Rendered(message) => f.write_str(message),
            Self::Unheard => Ok(()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::Unheard;
        }
        Self::new(format!("cannot write the output: {error}"))
    }
}
