//! Store failures. Each variant says what the caller does next.

/// The turn was not saved; after `Unknown` it may have been.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer changed a record that the turn relied on: run the turn again from the beginning.
    #[error("other writers changed the same records again and again: nothing was saved. Try again")]
    Conflict,
    /// The store cannot be used now: try again later.
    #[error("the store is not available: {0}. Nothing was saved; put that right and try again")]
    Unavailable(String),
    /// The outcome of the commit is not known: look the commit up before answering.
    #[error(
        "whether the commit was saved is not known: {0}. Look at the books before trying again; an event that was posted is answered, not posted twice"
    )]
    Unknown(String),
    /// There are no books here: make them, or put them back.
    #[error(
        "there are no books in {0}: nothing was done. New ones are made by `bursar init`; books that were there and are gone come back from a backup, and then `bursar restore begin` comes first (docs/operations/backup.md): empty books would pay again what was paid"
    )]
    Missing(String),
    /// The books are not where they were: stop.
    #[error(
        "the books are not where they were: {0}. Nothing was saved, and nothing more is sent. Stop the process, and find out what happened to the file before you start it again"
    )]
    Gone(String),
    /// The books were put back to an earlier state: recheck mode must begin before any other turn.
    #[error(
        "the books were put back to an earlier state: {0}. Nothing was saved; the channels are asked what they know before money moves again"
    )]
    WentBack(String),
    /// The store holds invalid data: stop.
    #[error("the store cannot be trusted: {0}. Nothing was saved; stop and restore from a backup")]
    Corrupt(String),
}

impl StoreError {
    /// Classifies a migration error by what the caller does next.
    pub(crate) fn from_migration(error: &refinery::Error) -> Self {
        use refinery::error::Kind;
        match error.kind() {
            Kind::DivergentVersion(..) | Kind::MissingVersion(..) => {
                Self::Corrupt(format!("it was written by another version of Bursar: {error}"))
            }
            Kind::InvalidName
            | Kind::InvalidVersion
            | Kind::RepeatedVersion(_)
            | Kind::InvalidMigrationPath(..)
            | Kind::ConfigError(_)
            | Kind::Connection(..)
            | Kind::InvalidMigrationFile(..) => {
                let reason = deepest(error);
                Self::Unavailable(format!(
                    "the schema cannot be brought up to date: {error}: {reason}"
                ))
            }
        }
    }
}

/// The message of the root cause.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
