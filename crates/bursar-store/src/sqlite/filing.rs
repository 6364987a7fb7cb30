//! Transactions by account: filed in slices, and found again whether they are filed or not. A statement looks into every
//! slice, and through everything behind the last: small slices make it look often, large ones make it look long, and a
//! turn wait.

use std::collections::BTreeSet;

use bursar_core::feed::Cursor;
use bursar_core::journal::WORLD;
use bursar_core::numscript::Name;
use bursar_core::verify::Filed;
use rusqlite::{Connection, TransactionBehavior, params};

use super::classify;
use super::load::{all, one};
use super::row::get;
use crate::StoreError;
use crate::chart_lines::damaged;

/// Commit and place in it.
pub(super) type Place = (i64, i64);

/// Transactions of a slice.
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
    /// Whoever was here before may have left something to be filed.
    pub(super) const fn every(slice: usize) -> Self {
        Self { slice, gathered: slice }
    }

    pub(super) const fn is_time(&self) -> bool {
        self.gathered >= self.slice
    }

    pub(super) const fn add(&mut self, transactions: usize) {
        self.gathered = self.gathered.saturating_add(transactions);
    }

    pub(super) const fn done(&mut self) {
        self.gathered = 0;
    }
}

/// A cross join is made in the order in which it is written: from the new commits to their postings, whatever the planner
/// thinks of tables that it knows nothing about. A transaction that touches an account twice is filed once.
const FILE: &str = "INSERT OR IGNORE INTO entries (slice, account, seq, n)
    SELECT ?2, CASE side.column1 WHEN 'from' THEN p.source ELSE p.destination END AS account, c.seq, t.n
    FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
         CROSS JOIN (VALUES ('from'), ('to')) AS side
    WHERE c.seq > ?1 AND c.seq <= ?2 AND account <> 'world'
    ORDER BY account, c.seq, t.n";
const LAST: &str = "SELECT ifnull(max(seq), 0) FROM slices";

/// Files everything that is not.
pub(super) fn file(connection: &mut Connection) -> Result<(), StoreError> {
    let behavior = TransactionBehavior::Immediate;
    let filed = connection.transaction_with_behavior(behavior).and_then(|transaction| {
        let filed: i64 = transaction.query_row(LAST, [], |row| row.get(0))?;
        let head: i64 = transaction.query_row("SELECT seq FROM head", [], |row| row.get(0))?;
        if head > filed {
            transaction.prepare_cached(FILE)?.execute(params![filed, head])?;
            let sql = "INSERT INTO slices (seq) VALUES (?1)";
            transaction.prepare_cached(sql)?.execute(params![head])?;
        }
        transaction.commit()
    });
    filed.map_err(|error| classify(&error))
}

/// How far it is filed, and how many entries there are.
pub(super) fn filed(connection: &Connection) -> Result<Filed, StoreError> {
    let number = |sql| {
        let found = one(connection, sql, [], |row| get::<i64>(row, 0))?;
        u64::try_from(found.unwrap_or_default()).map_err(damaged)
    };
    Ok(Filed { until: number(LAST)?, entries: number("SELECT count(*) FROM entries")? })
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
    // First: what is filed meanwhile is then found twice, and not never.
    let filed = one(connection, LAST, [], |row| get::<i64>(row, 0))?;
    let sql = "SELECT e.seq, e.n FROM slices s CROSS JOIN entries e ON e.slice = s.seq
               WHERE s.seq >= ?2 AND e.account = ?1 AND (e.seq, e.n) >= (?2, ?3)
               ORDER BY s.seq, e.seq, e.n LIMIT ?4";
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for address in &addresses {
        places.extend(all(connection, sql, params![address, commit, n, limit], place)?);
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    if places.len() < most {
        let sql = "SELECT DISTINCT c.seq, t.n
                   FROM commits c CROSS JOIN transactions t ON t.commit_id = c.id CROSS JOIN postings p ON p.tx = t.id
                   WHERE c.seq > ?1 AND (c.seq, t.n) >= (?2, ?3)
                     AND (p.source IN (SELECT value FROM json_each(?4))
                          OR p.destination IN (SELECT value FROM json_each(?4)))
                   ORDER BY c.seq, t.n LIMIT ?5";
        let addresses = serde_json::to_string(&addresses).map_err(damaged)?;
        let values = params![filed.unwrap_or_default(), commit, n, addresses, limit];
        places.extend(all(connection, sql, values, place)?);
    }
    Ok(places.into_iter().take(most).collect())
}
