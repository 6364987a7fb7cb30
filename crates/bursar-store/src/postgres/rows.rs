//! Transactions and postings into their tables: few by statements that are sent together with others, many by binary copy,
//! which the server takes faster but asks for twice as many answers.

use bursar_core::ids::{CommitId, TransactionId};
use bursar_core::journal::Posting;
use bursar_core::ledger::Transaction;
use bursar_core::money::Currency;
use futures_util::future::join;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::accounts::codes;
use super::copy::{Copy, MANY};
use super::session::Session;
use crate::StoreError;

const INSERT_TRANSACTIONS: &str = "INSERT INTO transactions
        (commit_id, id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts)
    SELECT $1, k.* FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
                               $8::bigint[], $9::uuid[]) AS k";
const INSERT_POSTINGS: &str = "INSERT INTO postings (tx, n, source, destination, currency, amount)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[])";
const COPY_TRANSACTIONS: &str = "COPY transactions
        (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts)
    FROM STDIN BINARY";
const COPY_POSTINGS: &str =
    "COPY postings (tx, n, source, destination, currency, amount) FROM STDIN BINARY";

/// To be prepared before `insert`.
pub(crate) const STATEMENTS: [&str; 2] = [INSERT_TRANSACTIONS, INSERT_POSTINGS];

/// What to insert and what to copy.
pub(crate) fn split(rows: &[Transaction]) -> (&[Transaction], &[Transaction]) {
    if rows.len() < MANY { (rows, &[]) } else { (&[], rows) }
}

/// Rows in the order of their unique key, with their place in the commit: two writers with the same references then wait
/// for each other in one direction only.
fn in_order(rows: &[Transaction]) -> Vec<(i64, &Transaction)> {
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
    let (transactions, postings) =
        join(insert_transactions(session, id, rows), insert_postings(session, rows)).await;
    transactions?;
    postings
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
    let values: [&(dyn ToSql + Sync); 9] = [
        &id.uuid(),
        &ids,
        &numbers,
        &events,
        &references,
        &request_hashes,
        &rulebook_hashes,
        &times,
        &reverts,
    ];
    session.write(INSERT_TRANSACTIONS, &values, rows.len()).await
}

async fn insert_postings(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let rows: Vec<(Uuid, i64, &Posting)> = rows
        .iter()
        .flat_map(|row| {
            let postings = row.postings.iter().zip(0..);
            postings.map(|(posting, n)| (row.id.uuid(), n, posting))
        })
        .collect();
    let ids: Vec<Uuid> = rows.iter().map(|(id, ..)| *id).collect();
    let numbers: Vec<i64> = rows.iter().map(|(_, n, _)| *n).collect();
    let sources: Vec<&str> = rows.iter().map(|(.., posting)| &*posting.source).collect();
    let destinations: Vec<&str> = rows.iter().map(|(.., posting)| &*posting.destination).collect();
    let currencies: Vec<Currency> =
        rows.iter().map(|(.., posting)| posting.money.currency()).collect();
    let amounts: Vec<i64> = rows.iter().map(|(.., posting)| posting.money.minor()).collect();
    let values: [&(dyn ToSql + Sync); 6] =
        [&ids, &numbers, &sources, &destinations, &codes(&currencies), &amounts];
    session.write(INSERT_POSTINGS, &values, rows.len()).await
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
    copy_postings(session, rows).await
}

async fn copy_transactions(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let (uuid, text, bytes, number) = (Type::UUID, Type::TEXT, Type::BYTEA, Type::INT8);
    let types = [
        uuid.clone(),
        uuid.clone(),
        number.clone(),
        text.clone(),
        text,
        bytes.clone(),
        bytes,
        number,
        uuid,
    ];
    let mut copy = Copy::begin(session, COPY_TRANSACTIONS, &types).await?;
    let commit_id = id.uuid();
    for (n, row) in in_order(rows) {
        let values: [&(dyn ToSql + Sync); 9] = [
            &row.id.uuid(),
            &commit_id,
            &n,
            &&*row.event,
            &row.reference,
            &row.request_hash.as_slice(),
            &row.rulebook_hash.as_slice(),
            &row.effective_at.as_microsecond(),
            &row.reverts.map(TransactionId::uuid),
        ];
        copy.row(&values).await?;
    }
    copy.finish().await
}

async fn copy_postings(
    session: &Session<'_, tokio_postgres::Transaction<'_>>,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let types = [Type::UUID, Type::INT8, Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8];
    let mut copy = Copy::begin(session, COPY_POSTINGS, &types).await?;
    for row in rows {
        let id = row.id.uuid();
        for (posting, n) in row.postings.iter().zip(0_i64..) {
            let (currency, minor) = (posting.money.currency(), posting.money.minor());
            let (source, destination) = (&*posting.source, &*posting.destination);
            let values: [&(dyn ToSql + Sync); 6] =
                [&id, &n, &source, &destination, &currency.code(), &minor];
            copy.row(&values).await?;
        }
    }
    copy.finish().await
}
