//! The error of a command, as printed to the terminal.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use bursar_store::StoreError;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A message of one or more sentences.
    Plain(String),
    /// A message with its own layout, such as diagnostics with source excerpts.
    Rendered(String),
    /// The reader of standard output has closed it (`bursar … | head`): nothing is printed.
    BrokenPipe,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self::Plain(message.into())
    }

    /// Appends a sentence.
    #[must_use]
    pub fn and(self, more: &str) -> Self {
        match self {
            Self::Plain(message) => Self::Plain(format!("{message}. {more}")),
            Self::Rendered(message) => Self::Rendered(format!("{message}\n{more}")),
            Self::BrokenPipe => Self::BrokenPipe,
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
            Self::BrokenPipe => Ok(()),
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
            return Self::BrokenPipe;
        }
        Self::new(format!("cannot write the output: {error}"))
    }
}
