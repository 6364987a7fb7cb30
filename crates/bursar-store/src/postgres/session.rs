//! A connection with its cache of prepared statements: the server parses each statement once.
//!
//! A statement takes its rows as one array per column. Statements on the path of every turn expand them in the select list,
//! `(SELECT unnest($1) AS a, unnest($2) AS b)`, which the server streams. `FROM unnest($1, $2)` is shorter, but the server
//! materialises it first.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Statement};

use super::classify;
use crate::StoreError;

/// Prepared statements by their text, valid for one connection.
#[derive(Debug, Default)]
pub struct Statements(Mutex<BTreeMap<String, Statement>>);

#[derive(Debug)]
pub struct Session<'s, C> {
    pub client: &'s C,
    pub statements: &'s Statements,
}

impl<C: GenericClient> Session<'_, C> {
    /// Prepares statements that will be pipelined: preparing one in between would break their order.
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

    /// Writes exactly this many rows. A statement that writes fewer lost a race against another writer.
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
        // A panic cannot leave the map half-changed: entries are only ever inserted.
        self.statements.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement that wrote fewer rows lost a race against another writer.
pub(crate) fn expect(count: u64, rows: usize) -> Result<(), StoreError> {
    if usize::try_from(count) == Ok(rows) { Ok(()) } else { Err(StoreError::Conflict) }
}
