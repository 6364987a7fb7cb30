//! Writes transactions with their postings, and the account index. Small commits use INSERT statements, which are pipelined
//! with others. Large commits use binary COPY, which is faster per row but needs twice as many round trips.

use bursar_core::ids::{CommitId, TransactionId};
use bursar_core::ledger::Transaction;
use futures_util::future::join;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::copy::{Copy, Field, MANY};
use super::session::Session;
use crate::StoreError;
use crate::postings::{encode, entries};

const INSERT_TRANSACTIONS: &str = "INSERT INTO transactions
        (commit_id, id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts, postings)
    SELECT $1, k.* FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
                               $8::bigint[], $9::uuid[], $10::text[]) AS k";
const INSERT_ENTRIES: &str = "INSERT INTO entries (commit_id, account, places)
    SELECT $1, account, array_agg(place ORDER BY place) FROM unnest($2::text[], $3::integer[]) AS k (account, place)
    GROUP BY account";
const COPY_TRANSACTIONS: &str = "COPY transactions
        (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts, postings)
    FROM STDIN BINARY";
const COPY_ENTRIES: &str = "COPY entries (account, commit_id, places) FROM STDIN BINARY";

/// The caller prepares these before `insert`.
pub(crate) const STATEMENTS: [&str; 2] = [INSERT_TRANSACTIONS, INSERT_ENTRIES];

/// The rows for INSERT, and the rows for COPY.
pub(crate) fn split(rows: &[Transaction]) -> (&[Transaction], &[Transaction]) {
    if rows.len() < MANY { (rows, &[]) } else { (&[], rows) }
}

/// Rows in the order of their unique key, with their position in the commit: two writers with the same references then
/// cannot deadlock.
pub fn in_order(rows: &[Transaction]) -> Vec<(i64, &Transaction)> {
    let mut rows: Vec<(i64, &Transaction)> = (0..).zip(rows).collect();
    rows.sort_unstable_by_key(|(_, row)| (&row.event, &row.reference));
    rows
}

/// Writes every row, or fails.
pub(crate) async fn insert(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let (transactions, entries) =
        join(insert_transactions(session, id, rows), insert_entries(session, id, rows)).await;
    transactions?;
    entries
}

async fn insert_transactions(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let (numbers, rows): (Vec<i64>, Vec<&Transaction>) = in_order(rows).into_iter().unzip();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id.uuid()).collect();
    let events: Vec<&str> = rows.iter().map(|row| &*row.event).collect();
    let references: Vec<&str> = rows.iter().map(|row| row.reference.as_str()).collect();
    let request_hashes: Vec<&[u8]> = rows.iter().map(|row| row.request_hash.as_slice()).collect();
    let rulebook_hashes: Vec<&[u8]> = rows.iter().map(|row| row.rulebook_hash.as_slice()).collect();
    let times: Vec<i64> = rows.iter().map(|row| row.effective_at.as_microsecond()).collect();
    let reverts: Vec<Option<Uuid>> =
        rows.iter().map(|row| row.reverts.map(TransactionId::uuid)).collect();
    let postings = rows.iter().map(|row| encode(&row.postings)).collect::<Result<Vec<_>, _>>()?;
    let values: [&(dyn ToSql + Sync); 10] = [
        &id.uuid(),
        &ids,
        &numbers,
        &events,
        &references,
        &request_hashes,
        &rulebook_hashes,
        &times,
        &reverts,
        &postings,
    ];
    session.write(INSERT_TRANSACTIONS, &values, rows.len()).await
}

async fn insert_entries(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let entries = entries(rows);
    let (accounts, positions): (Vec<&str>, Vec<i32>) = entries
        .iter()
        .flat_map(|(account, positions)| {
            positions.iter().map(move |position| (*account, *position))
        })
        .unzip();
    session.write(INSERT_ENTRIES, &[&id.uuid(), &accounts, &positions], entries.len()).await
}

/// Writes every row, or fails.
pub(crate) async fn copy(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    copy_transactions(session, id, rows).await?;
    copy_entries(session, id, rows).await
}

async fn copy_transactions(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, COPY_TRANSACTIONS).await?;
    for (n, row) in in_order(rows) {
        let postings = encode(&row.postings)?;
        let fields: Vec<Field<'_>> =
            header(id, n, row).into_iter().chain([Field::Text(&postings)]).collect();
        copy.row(&fields).await?;
    }
    copy.finish().await
}

/// The columns of a transaction without its postings.
pub fn header(id: CommitId, n: i64, row: &Transaction) -> [Field<'_>; 9] {
    [
        Field::Uuid(row.id.uuid()),
        Field::Uuid(id.uuid()),
        Field::Number(n),
        Field::Text(&row.event),
        Field::Text(&row.reference),
        Field::Bytes(&row.request_hash),
        Field::Bytes(&row.rulebook_hash),
        Field::Number(row.effective_at.as_microsecond()),
        row.reverts.map(TransactionId::uuid).into(),
    ]
}

async fn copy_entries(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, COPY_ENTRIES).await?;
    let commit_id = Field::Uuid(id.uuid());
    for (account, positions) in entries(rows) {
        copy.row(&[Field::Text(account), commit_id, Field::Integers(&positions)]).await?;
    }
    copy.finish().await
}
