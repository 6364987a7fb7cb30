//! Inserts transactions and postings in bulk.

use bursar_core::ids::CommitId;
use bursar_core::ledger::Transaction;
use bursar_core::ledger::journal::Posting;
use rusqlite::{CachedStatement, Connection, params};
use uuid::Uuid;

use super::classify;
use crate::StoreError;

/// Postings per statement: the rows are narrow, so one statement per row would cost more than the row.
const POSTINGS: usize = 50;

/// Writes every row, or fails.
pub fn insert(
    connection: &Connection,
    commit_id: CommitId,
    transactions: &[Transaction],
) -> Result<(), StoreError> {
    headers(connection, commit_id, transactions)?;
    let rows: Vec<(Uuid, i64, &Posting)> = transactions
        .iter()
        .flat_map(|transaction| {
            let postings = transaction.postings.iter().zip(0..);
            postings.map(|(posting, n)| (transaction.id.uuid(), n, posting))
        })
        .collect();
    let (many, rest) = rows.as_chunks::<POSTINGS>();
    let mut statement = prepare(connection, POSTINGS)?;
    for rows in many {
        postings(&mut statement, rows)?;
    }
    let mut statement = prepare(connection, 1)?;
    rest.iter().try_for_each(|row| postings(&mut statement, std::slice::from_ref(row)))
}

fn headers(
    connection: &Connection,
    commit_id: CommitId,
    transactions: &[Transaction],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO transactions
                   (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut statement = connection.prepare_cached(sql).map_err(|error| classify(&error))?;
    let commit_id = commit_id.uuid();
    for (transaction, n) in transactions.iter().zip(0_i64..) {
        let id = transaction.id.uuid();
        let reverts = transaction.reverts.map(|id| id.uuid().into_bytes());
        let values = params![
            id.as_bytes().as_slice(),
            commit_id.as_bytes().as_slice(),
            n,
            &*transaction.event,
            transaction.reference,
            transaction.request_hash.as_slice(),
            transaction.rulebook_hash.as_slice(),
            transaction.effective_at.as_microsecond(),
            reverts.as_ref().map(<[u8; 16]>::as_slice),
        ];
        let count = statement.execute(values).map_err(|error| classify(&error))?;
        expect(count, 1)?;
    }
    Ok(())
}

/// A statement that inserts this many postings.
fn prepare(connection: &Connection, rows: usize) -> Result<CachedStatement<'_>, StoreError> {
    let parameters = vec!["(?, ?, ?, ?, ?, ?)"; rows].join(", ");
    // `OR FAIL` saves the statement journal: a failed statement leaves its first rows, and the transaction rolls back.
    let sql = format!(
        "INSERT OR FAIL INTO postings (tx, n, source, destination, currency, amount) VALUES {parameters}"
    );
    connection.prepare_cached(&sql).map_err(|error| classify(&error))
}

fn postings(
    statement: &mut CachedStatement<'_>,
    rows: &[(Uuid, i64, &Posting)],
) -> Result<(), StoreError> {
    bind(statement, rows).map_err(|error| classify(&error))?;
    let count = statement.raw_execute().map_err(|error| classify(&error))?;
    expect(count, rows.len())
}

fn bind(
    statement: &mut CachedStatement<'_>,
    rows: &[(Uuid, i64, &Posting)],
) -> rusqlite::Result<()> {
    let mut numbers = 1_usize..;
    let mut parameter = || numbers.next().unwrap_or_default();
    for (id, n, posting) in rows {
        statement.raw_bind_parameter(parameter(), id.as_bytes().as_slice())?;
        statement.raw_bind_parameter(parameter(), n)?;
        statement.raw_bind_parameter(parameter(), &*posting.source)?;
        statement.raw_bind_parameter(parameter(), &*posting.destination)?;
        statement.raw_bind_parameter(parameter(), posting.money.currency().code())?;
        statement.raw_bind_parameter(parameter(), posting.money.minor())?;
    }
    Ok(())
}

/// A statement that wrote fewer rows lost a race against another writer.
fn expect(count: usize, rows: usize) -> Result<(), StoreError> {
    if count == rows { Ok(()) } else { Err(StoreError::Conflict) }
}
