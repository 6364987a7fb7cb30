//! The account index: transactions by account, written in slices. A statement probes every slice and scans all commits
//! after the last one. Small slices cost many probes; large ones cost a long scan, and delay the turn that writes them.

use std::collections::BTreeSet;

use bursar_core::feed::Cursor;
use bursar_core::ledger::journal::WORLD;
use bursar_core::ledger::verify::IndexedEntries;
use bursar_core::numscript::Name;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::classify;
use super::load::{all, one, prepare};
use super::row::get;
use crate::StoreError;
use crate::chart_lines::damaged;

/// Number of a commit, and number of the transaction in it.
pub(super) type Position = (i64, i64);

/// Approximate number of transactions in a slice. A commit without transactions counts as one: a statement scans it too.
const SLICE: usize = 8_192;

/// Decides when the next slice is written.
#[derive(Debug)]
pub(super) struct AccountIndex {
    slice: usize,
    /// Transactions that this process has saved since it last wrote a slice.
    unindexed: usize,
}

impl Default for AccountIndex {
    fn default() -> Self {
        Self::with_slice(SLICE)
    }
}

impl AccountIndex {
    pub(super) const fn with_slice(slice: usize) -> Self {
        Self { slice, unindexed: 0 }
    }

    pub(super) fn add(&mut self, transactions: usize) {
        self.unindexed = self.unindexed.saturating_add(transactions.max(1));
    }

    /// Extends the index if enough transactions for a slice were saved.
    pub(super) fn extend_if_full(&mut self, connection: &mut Connection) {
        if self.unindexed >= self.slice {
            self.unindexed = 0;
            self.extend(connection);
        }
    }

    /// Writes slices as long as the commits after the last one fill another. A failure is ignored: statements scan the
    /// unindexed commits until the next call succeeds.
    pub(super) fn extend(&self, connection: &mut Connection) {
        while matches!(write_slice(connection, self.slice), Ok(true)) {}
    }
}

/// The last indexed commit.
const LAST: &str = "SELECT ifnull(max(seq), 0) FROM slices";
/// The last commit of the next slice.
const END: &str = "SELECT c.seq FROM commits c LEFT JOIN transactions t ON t.commit_id = c.id
    WHERE c.seq > ?1 ORDER BY c.seq LIMIT 1 OFFSET ?2";
/// SQLite runs a cross join in the order in which it is written: from the new commits to their postings, whatever the
/// planner assumes about tables without statistics. A transaction that touches an account twice has one entry.
const INSERT_ENTRIES: &str = "INSERT INTO entries (slice, account, seq, n)
    SELECT ?2, CASE side.column1 WHEN 'from' THEN p.source ELSE p.destination END AS account, c.seq, t.n
    FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
         CROSS JOIN (VALUES ('from'), ('to')) AS side
    WHERE c.seq > ?1 AND c.seq <= ?2 AND account <> 'world'
    ORDER BY account, c.seq, t.n
    ON CONFLICT DO NOTHING";

/// Writes one slice; false if there are too few commits for one.
fn write_slice(connection: &mut Connection, slice: usize) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let indexed: i64 = transaction.query_row(LAST, [], |row| row.get(0))?;
    let offset = i64::try_from(slice.saturating_sub(1)).unwrap_or(i64::MAX);
    let end: Option<i64> =
        transaction.query_row(END, params![indexed, offset], |row| row.get(0)).optional()?;
    let Some(end) = end else { return Ok(false) };
    transaction.prepare_cached(INSERT_ENTRIES)?.execute(params![indexed, end])?;
    transaction.execute("INSERT INTO slices (seq) VALUES (?1)", params![end])?;
    transaction.commit()?;
    Ok(true)
}

/// All entries of the index.
pub(super) fn indexed_entries(connection: &Connection) -> Result<IndexedEntries, StoreError> {
    let until = one(connection, LAST, [], |row| get::<i64>(row, 0))?.unwrap_or_default();
    let mut entries = IndexedEntries::until(u64::try_from(until).map_err(damaged)?);
    let sql = "SELECT e.account, e.seq, e.n FROM slices s CROSS JOIN entries e ON e.slice = s.seq";
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        let number = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
        entries.add(&get::<String>(row, 0)?, number(1)?, number(2)?);
    }
    Ok(entries)
}

/// The first transactions from a cursor on that touch any of these accounts.
pub(super) fn positions(
    connection: &Connection,
    addresses: &[Name],
    after: Cursor,
    limit: u32,
) -> Result<Vec<Position>, StoreError> {
    let position = |row: &rusqlite::Row<'_>| Ok((get(row, 0)?, get(row, 1)?));
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (commit, n) = (number(after.commit), number(after.rows));
    let addresses: Vec<&str> =
        addresses.iter().map(|address| &**address).filter(|address| *address != WORLD).collect();
    let indexed = one(connection, LAST, [], |row| get::<i64>(row, 0))?.unwrap_or_default();
    let sql = "SELECT e.seq, e.n FROM slices s CROSS JOIN entries e ON e.slice = s.seq
               WHERE s.seq >= ?2 AND s.seq <= ?5 AND e.account = ?1 AND (e.seq, e.n) >= (?2, ?3)
               ORDER BY s.seq, e.seq, e.n LIMIT ?4";
    let mut positions: BTreeSet<Position> = BTreeSet::new();
    for address in &addresses {
        positions.extend(all(
            connection,
            sql,
            params![address, commit, n, limit, indexed],
            position,
        )?);
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    if positions.len() < most {
        // The unary plus keeps SQLite from starting the index search at the cursor instead of after the last slice.
        let sql = "SELECT DISTINCT c.seq, t.n
                   FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
                   WHERE c.seq >= ?1 AND (+c.seq, t.n) >= (?2, ?3)
                     AND (p.source IN (SELECT value FROM json_each(?4))
                          OR p.destination IN (SELECT value FROM json_each(?4)))
                   ORDER BY c.seq, t.n LIMIT ?5";
        let addresses = serde_json::to_string(&addresses).map_err(damaged)?;
        let first = indexed.saturating_add(1).max(commit);
        positions.extend(all(
            connection,
            sql,
            params![first, commit, n, addresses, limit],
            position,
        )?);
    }
    Ok(positions.into_iter().take(most).collect())
}
