//! The version of the schema of stored books.

use refinery::Migration;

use crate::StoreError;

/// The last migration that the books have, and the last one that this process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    pub applied: i64,
    pub known: i64,
}

/// The version in the table that the migrations keep.
pub(crate) const APPLIED: &str = "SELECT CAST(max(version) AS BIGINT) FROM refinery_schema_history";

impl SchemaVersion {
    pub(crate) fn new(applied: Option<i64>, known: &[Migration]) -> Self {
        let known = known.iter().map(|migration| i64::from(migration.version())).max();
        Self { applied: applied.unwrap_or_default(), known: known.unwrap_or_default() }
    }

    /// A reader migrates nothing: a report must not stop the processes that still use the old schema.
    pub(crate) fn check(self) -> Result<(), StoreError> {
        let Self { applied, known } = self;
        if applied == known {
            return Ok(());
        }
        let advice = if applied < known {
            "stop all processes of the earlier version, and run `bursar migrate`"
        } else {
            "use the newer version of Bursar that has migrated them"
        };
        Err(StoreError::Unavailable(format!(
            "the books have schema version {applied}, this process knows {known}: {advice}"
        )))
    }
}
