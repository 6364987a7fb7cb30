//! A connection in use, with the statements that were prepared on it: each is parsed once and then only named.
//!
//! Rows are given as an array for each column. The statements that every turn makes for each payout unfold them in a list of what
//! is selected, `(SELECT unnest($1) AS a, unnest($2) AS b)`, which the server reads row by row; `FROM unnest($1, $2)` is
//! shorter, but it writes them all down first.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Statement};

use super::classify;
use crate::StoreError;

/// Statements by their text. They live as long as their connection.
#[derive(Debug, Default)]
pub struct Statements(Mutex<BTreeMap<String, Statement>>);

#[derive(Debug)]
pub struct Session<'s, C> {
    pub client: &'s C,
    pub statements: &'s Statements,
}

impl<C: GenericClient> Session<'_, C> {
    /// Prepares statements that will be sent together: one that still had to be prepared would come too late.
    pub async fn prepare_all(&self, statements: &[&str]) -> Result<(), StoreError> {
        for sql in statements {
            self.prepare(sql).await?;
        }
        Ok(())
    }

    pub async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, values).await.map_err(|error| classify(&error))
    }

    /// Writes exactly as many rows as there are, or somebody else was faster.
    pub async fn write(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        rows: usize,
    ) -> Result<(), StoreError> {
        if rows == 0 {
            return Ok(());
        }
        let statement = self.prepare(sql).await?;
        let count = self.client.execute(&statement, values).await;
        expect(count.map_err(|error| classify(&error))?, rows)
    }

    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(known) = self.known(sql) {
            return Ok(known);
        }
        let statement = self.client.prepare(sql).await.map_err(|error| classify(&error))?;
        self.lock().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn known(&self, sql: &str) -> Option<Statement> {
        self.lock().get(sql).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Statement>> {
        // A map that a panic left behind is whole: it is only ever added to.
        self.statements.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Exactly as many rows as there are, or somebody else was faster.
pub(crate) fn expect(count: u64, rows: usize) -> Result<(), StoreError> {
    if usize::try_from(count) == Ok(rows) { Ok(()) } else { Err(StoreError::Conflict) }
}
