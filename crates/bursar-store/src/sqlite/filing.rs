//! Transactions by account: filed in slices, and found again whether they are filed or not. A statement looks into every
//! slice, and through everything behind the last: small slices make it look often, large ones make it look long, and a
//! turn wait.

use std::collections::BTreeSet;

use bursar_core::feed::Cursor;
use bursar_core::journal::WORLD;
use bursar_core::numscript::Name;
use bursar_core::verify::Filed;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::classify;
use super::load::{all, one, prepare};
use super::row::get;
use crate::StoreError;
use crate::chart_lines::damaged;

/// Commit and place in it.
pub(super) type Place = (i64, i64);

/// Transactions of a slice, about. A commit without any counts as one: it is looked through as well.
const SLICE: usize = 8_192;

/// What this process has saved since it last filed.
#[derive(Debug)]
pub(super) struct Filing {
    slice: usize,
    gathered: usize,
}

impl Default for Filing {
    fn default() -> Self {
        Self::every(SLICE)
    }
}

impl Filing {
    pub(super) const fn every(slice: usize) -> Self {
        Self { slice, gathered: 0 }
    }

    pub(super) fn add(&mut self, transactions: usize) {
        self.gathered = self.gathered.saturating_add(transactions.max(1));
    }

    /// Files what has gathered, if it is enough.
    pub(super) fn file_in_time(&mut self, connection: &mut Connection) {
        if self.gathered >= self.slice {
            self.gathered = 0;
            self.file(connection);
        }
    }

    /// Files what is behind the last slice, as long as it fills another. No money waits for it: what could not be filed is
    /// looked through until the next time.
    pub(super) fn file(&self, connection: &mut Connection) {
        while matches!(file_slice(connection, self.slice), Ok(true)) {}
    }
}

/// The last commit that is filed.
const LAST: &str = "SELECT ifnull(max(seq), 0) FROM slices";
/// The commit that fills a slice.
const END: &str = "SELECT c.seq FROM commits c LEFT JOIN transactions t ON t.commit_id = c.id
    WHERE c.seq > ?1 ORDER BY c.seq LIMIT 1 OFFSET ?2";
/// A cross join is made in the order in which it is written: from the new commits to their postings, whatever the planner
/// thinks of tables that it knows nothing about. A transaction that touches an account twice is filed once.
const FILE: &str = "INSERT INTO entries (slice, account, seq, n)
    SELECT ?2, CASE side.column1 WHEN 'from' THEN p.source ELSE p.destination END AS account, c.seq, t.n
    FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
         CROSS JOIN (VALUES ('from'), ('to')) AS side
    WHERE c.seq > ?1 AND c.seq <= ?2 AND account <> 'world'
    ORDER BY account, c.seq, t.n
    ON CONFLICT DO NOTHING";

/// Files one slice; false if there is not enough for one.
fn file_slice(connection: &mut Connection, slice: usize) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let filed: i64 = transaction.query_row(LAST, [], |row| row.get(0))?;
    let offset = i64::try_from(slice.saturating_sub(1)).unwrap_or(i64::MAX);
    let end: Option<i64> =
        transaction.query_row(END, params![filed, offset], |row| row.get(0)).optional()?;
    let Some(end) = end else { return Ok(false) };
    transaction.prepare_cached(FILE)?.execute(params![filed, end])?;
    transaction.execute("INSERT INTO slices (seq) VALUES (?1)", params![end])?;
    transaction.commit()?;
    Ok(true)
}

/// All entries that statements find.
pub(super) fn filed(connection: &Connection) -> Result<Filed, StoreError> {
    let until = one(connection, LAST, [], |row| get::<i64>(row, 0))?.unwrap_or_default();
    let mut filed = Filed::until(u64::try_from(until).map_err(damaged)?);
    let sql = "SELECT e.account, e.seq, e.n FROM slices s CROSS JOIN entries e ON e.slice = s.seq";
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        let number = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
        filed.add(&get::<String>(row, 0)?, number(1)?, number(2)?);
    }
    Ok(filed)
}

/// The first transactions from a place on that touch any of these accounts.
pub(super) fn places(
    connection: &Connection,
    addresses: &[Name],
    after: Cursor,
    limit: u32,
) -> Result<Vec<Place>, StoreError> {
    let place = |row: &rusqlite::Row<'_>| Ok((get(row, 0)?, get(row, 1)?));
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (commit, n) = (number(after.commit), number(after.rows));
    let addresses: Vec<&str> =
        addresses.iter().map(|address| &**address).filter(|address| *address != WORLD).collect();
    let filed = one(connection, LAST, [], |row| get::<i64>(row, 0))?.unwrap_or_default();
    let sql = "SELECT e.seq, e.n FROM slices s CROSS JOIN entries e ON e.slice = s.seq
               WHERE s.seq >= ?2 AND s.seq <= ?5 AND e.account = ?1 AND (e.seq, e.n) >= (?2, ?3)
               ORDER BY s.seq, e.seq, e.n LIMIT ?4";
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for address in &addresses {
        places.extend(all(connection, sql, params![address, commit, n, limit, filed], place)?);
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    if places.len() < most {
        // A plus, or the search would begin at the place instead of behind the last slice.
        let sql = "SELECT DISTINCT c.seq, t.n
                   FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
                   WHERE c.seq >= ?1 AND (+c.seq, t.n) >= (?2, ?3)
                     AND (p.source IN (SELECT value FROM json_each(?4))
                          OR p.destination IN (SELECT value FROM json_each(?4)))
                   ORDER BY c.seq, t.n LIMIT ?5";
        let addresses = serde_json::to_string(&addresses).map_err(damaged)?;
        let first = filed.saturating_add(1).max(commit);
        places.extend(all(connection, sql, params![first, commit, n, addresses, limit], place)?);
    }
    Ok(places.into_iter().take(most).collect())
}
