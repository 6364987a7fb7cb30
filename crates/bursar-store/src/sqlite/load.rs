//! Loads the records of a read plan by cached statements.

use std::sync::Arc;

use bursar_core::ids::TransactionId;
use bursar_core::ledger::Transaction;
use bursar_core::ledger::journal::Posting;
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::turn::{KnownReference, ReadPlan, ReadSet};
use rusqlite::{CachedStatement, Connection, Row, Statement, params};
use uuid::Uuid;

use super::row::{self, get};
use super::{classify, control, dispatch, flows, registry};
use crate::StoreError;
use crate::chart_lines::{ChartLines, damaged, parse, time};

pub(super) fn load(
    connection: &Connection,
    lines: &ChartLines,
    plan: &ReadPlan,
) -> Result<ReadSet, StoreError> {
    let (seq, time) = last_commit(connection)?;
    let mut records = ReadSet { time, seq, ..ReadSet::default() };
    let sql = "SELECT balance, currency, line, received FROM accounts WHERE address = ?1 AND currency = ?2";
    let mut statement = prepare(connection, sql)?;
    for (address, currency) in &plan.accounts {
        let found = first(&mut statement, params![&**address, currency.code()], |row| {
            row::account(row, 0, lines)
        })?;
        records.accounts.extend(found.map(|account| (Name::clone(address), account)));
    }
    let sql = "SELECT id, request_hash FROM transactions WHERE event = ?1 AND reference = ?2";
    let mut statement = prepare(connection, sql)?;
    for (event, reference) in &plan.references {
        let found = first(&mut statement, params![&**event, reference], |row| {
            Ok((transaction_id(get(row, 0)?), get(row, 1)?))
        })?;
        records.references.extend(found.map(|(id, request_hash)| KnownReference {
            event: Name::clone(event),
            reference: reference.clone(),
            id,
            request_hash,
        }));
    }
    let sql = "SELECT account, currency, amount, epoch, ended_by FROM holds WHERE gl = ?1 AND reference = ?2";
    let mut statement = prepare(connection, sql)?;
    for key in &plan.holds {
        let code = key.code.to_string();
        let found = first(&mut statement, params![code, key.reference], |row| row::hold(row, 0))?;
        records.holds.extend(found.map(|hold| (key.clone(), hold)));
    }
    for id in &plan.transactions {
        records.transactions.extend(transaction(connection, *id)?);
    }
    // Frozen merchants are passed over.
    records.control = plan.control.then(|| control::load(connection)).transpose()?;
    flows::load(connection, plan, &mut records)?;
    dispatch::load(connection, plan, &mut records)?;
    for key in &plan.registry {
        match registry::find(connection, key) {
            Ok(found) => records.registry.extend(found.map(Arc::new)),
            // An undecodable row must not fail the whole turn.
            Err(StoreError::Corrupt(_)) => records.unreadable_records.push(key.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}

fn last_commit(connection: &Connection) -> Result<(u64, Option<jiff::Timestamp>), StoreError> {
    let mut statement = prepare(connection, "SELECT seq, time FROM head")?;
    let found = first(&mut statement, [], |row| {
        Ok((get::<i64>(row, 0)?, get::<Option<i64>>(row, 1)?.map(time).transpose()?))
    })?;
    let (seq, time) = found.unwrap_or_default();
    Ok((u64::try_from(seq).map_err(damaged)?, time))
}

pub(super) fn transaction(
    connection: &Connection,
    id: TransactionId,
) -> Result<Option<Transaction>, StoreError> {
    let sql = format!("{HEADERS} WHERE t.id = ?1");
    let uuid = id.uuid();
    let mut statement = prepare(connection, &sql)?;
    let found = first(&mut statement, params![uuid.as_bytes().as_slice()], header)?;
    let Some(mut transaction) = found else { return Ok(None) };
    transaction.postings = postings(connection, id)?;
    Ok(Some(transaction))
}

/// The postings of a transaction, in order.
pub(super) fn postings(
    connection: &Connection,
    id: TransactionId,
) -> Result<Vec<Posting>, StoreError> {
    let sql = "SELECT source, destination, currency, amount FROM postings WHERE tx = ?1 ORDER BY n";
    let mut statement = prepare(connection, sql)?;
    let uuid = id.uuid();
    let mut rows =
        statement.query(params![uuid.as_bytes().as_slice()]).map_err(|error| classify(&error))?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        postings.push(posting(row)?);
    }
    Ok(postings)
}

/// The columns that `header` reads.
pub(super) const HEADERS: &str =
    "SELECT t.id, t.event, t.reference, t.request_hash, t.rulebook_hash, t.effective_at, t.reverts, c.time
     FROM transactions t JOIN commits c ON c.id = t.commit_id";

/// A transaction without its postings.
pub(super) fn header(row: &Row<'_>) -> Result<Transaction, StoreError> {
    let reverts: Option<[u8; 16]> = get(row, 6)?;
    Ok(Transaction {
        id: transaction_id(get(row, 0)?),
        event: get::<String>(row, 1)?.into(),
        reference: get(row, 2)?,
        request_hash: get(row, 3)?,
        rulebook_hash: get(row, 4)?,
        effective_at: time(get(row, 5)?)?,
        inserted_at: time(get(row, 7)?)?,
        reverts: reverts.map(transaction_id),
        postings: Vec::new(),
    })
}

/// `source, destination, currency, amount`.
fn posting(row: &Row<'_>) -> Result<Posting, StoreError> {
    let currency = parse(&get::<String>(row, 2)?, "a currency")?;
    Ok(Posting {
        source: get::<String>(row, 0)?.into(),
        destination: get::<String>(row, 1)?.into(),
        money: Money::from_minor(get(row, 3)?, currency),
    })
}

pub(super) fn transaction_id(bytes: [u8; 16]) -> TransactionId {
    TransactionId::from_uuid(Uuid::from_bytes(bytes))
}

pub(super) fn prepare<'c>(
    connection: &'c Connection,
    sql: &str,
) -> Result<CachedStatement<'c>, StoreError> {
    connection.prepare_cached(sql).map_err(|error| classify(&error))
}

/// The first row, if there is one.
pub(super) fn first<T>(
    statement: &mut Statement<'_>,
    values: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut rows = statement.query(values).map_err(|error| classify(&error))?;
    rows.next().map_err(|error| classify(&error))?.map(read).transpose()
}

/// Same, for a statement that the caller runs once.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    first(&mut *prepare(connection, sql)?, values, read)
}

/// Every row.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(values).map_err(|error| classify(&error))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        found.push(read(row)?);
    }
    Ok(found)
}
