//! The records that a plan asks for, in a constant number of statements.

use std::collections::BTreeMap;

use bursar_core::ids::TransactionId;
use bursar_core::journal::Posting;
use bursar_core::ledger::{HoldKey, Transaction};
use bursar_core::money::Money;
use bursar_core::plan::ReadPlan;
use bursar_core::records::{KnownReference, ReadSet};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::row::{self, get, hash};
use super::{classify, flows};
use crate::StoreError;
use crate::chart_lines::{ChartLines, parse, time};

pub(super) async fn load(
    client: &impl GenericClient,
    lines: &mut ChartLines,
    plan: &ReadPlan,
) -> Result<ReadSet, StoreError> {
    let mut records = ReadSet::default();
    // First: what is read below must not be older than the flows.
    flows::load(client, plan, &mut records).await?;
    let head =
        client.query_one("SELECT time FROM head", &[]).await.map_err(|error| classify(&error))?;
    records.time = get::<Option<i64>>(&head, 0)?.map(time).transpose()?;
    if !plan.accounts.is_empty() {
        let (addresses, currencies): (Vec<&str>, Vec<&str>) =
            plan.accounts.iter().map(|(address, currency)| (&**address, currency.code())).unzip();
        let sql = "SELECT address, balance, currency, line FROM accounts
                   JOIN unnest($1::text[], $2::text[]) AS k (address, currency) USING (address, currency)";
        let rows = query(client, sql, &[&addresses, &currencies]).await?;
        let numbers = rows.iter().map(|row| get(row, 3)).collect::<Result<Vec<i64>, _>>()?;
        if numbers.iter().any(|number| !lines.contains(*number)) {
            // Another process has opened accounts under a chart line that is new to this one.
            *lines = row::chart_lines(client).await?;
        }
        for row in &rows {
            records.accounts.push((get::<String>(row, 0)?.into(), row::account(row, 1, lines)?));
        }
    }
    if !plan.holds.is_empty() {
        let codes: Vec<String> = plan.holds.iter().map(|key| key.code.to_string()).collect();
        let references: Vec<&str> = plan.holds.iter().map(|key| key.reference.as_str()).collect();
        let sql = "SELECT h.gl, h.reference, h.account, h.currency, h.amount, h.epoch, h.ended_by FROM holds h
                   JOIN unnest($1::text[], $2::text[]) AS k (gl, reference)
                       ON h.gl = k.gl::bigint AND h.reference = k.reference";
        for row in &query(client, sql, &[&codes, &references]).await? {
            records.holds.push((hold_key(row)?, row::hold(row, 2)?));
        }
    }
    if !plan.transactions.is_empty() {
        let ids: Vec<Uuid> = plan.transactions.iter().map(|id| id.uuid()).collect();
        let sql = format!("{HEADERS} WHERE t.id = ANY($1)");
        let headers = query(client, &sql, &[&ids]).await?;
        records.transactions = with_postings(client, &headers).await?;
    }
    // Last: what was posted since the reads above must be known as posted.
    if !plan.references.is_empty() {
        let (events, references): (Vec<&str>, Vec<&str>) =
            plan.references.iter().map(|(event, reference)| (&**event, reference.as_str())).unzip();
        let sql = "SELECT event, reference, id, request_hash FROM transactions
                   JOIN unnest($1::text[], $2::text[]) AS k (event, reference) USING (event, reference)";
        for row in &query(client, sql, &[&events, &references]).await? {
            records.references.push(KnownReference {
                event: get::<String>(row, 0)?.into(),
                reference: get(row, 1)?,
                id: TransactionId::from_uuid(get(row, 2)?),
                request_hash: hash(row, 3)?,
            });
        }
    }
    Ok(records)
}

/// The columns that `header` reads.
pub(super) const HEADERS: &str =
    "SELECT t.id, t.event, t.reference, t.request_hash, t.rulebook_hash, t.effective_at, t.reverts, c.time, t.commit_id
     FROM transactions t JOIN commits c ON c.id = t.commit_id";

/// Transactions in the order of their headers, with all their postings.
pub(super) async fn with_postings(
    client: &impl GenericClient,
    headers: &[Row],
) -> Result<Vec<Transaction>, StoreError> {
    let mut transactions = headers.iter().map(header).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<Uuid> = transactions.iter().map(|transaction| transaction.id.uuid()).collect();
    let sql = "SELECT tx, source, destination, currency, amount FROM postings WHERE tx = ANY($1) ORDER BY tx, n";
    let mut postings: BTreeMap<Uuid, Vec<Posting>> = BTreeMap::new();
    for row in &query(client, sql, &[&ids]).await? {
        let currency = parse(&get::<String>(row, 3)?, "a currency")?;
        postings.entry(get(row, 0)?).or_default().push(Posting {
            source: get::<String>(row, 1)?.into(),
            destination: get::<String>(row, 2)?.into(),
            money: Money::from_minor(get(row, 4)?, currency),
        });
    }
    for transaction in &mut transactions {
        transaction.postings = postings.remove(&transaction.id.uuid()).unwrap_or_default();
    }
    Ok(transactions)
}

fn header(row: &Row) -> Result<Transaction, StoreError> {
    let reverts: Option<Uuid> = get(row, 6)?;
    Ok(Transaction {
        id: TransactionId::from_uuid(get(row, 0)?),
        event: get::<String>(row, 1)?.into(),
        reference: get(row, 2)?,
        request_hash: hash(row, 3)?,
        rulebook_hash: hash(row, 4)?,
        effective_at: time(get(row, 5)?)?,
        inserted_at: time(get(row, 7)?)?,
        reverts: reverts.map(TransactionId::from_uuid),
        postings: Vec::new(),
    })
}

/// `gl, reference`.
pub(super) fn hold_key(row: &Row) -> Result<HoldKey, StoreError> {
    Ok(HoldKey {
        code: parse(&get::<i64>(row, 0)?.to_string(), "a GL code")?,
        reference: get(row, 1)?,
    })
}

pub(super) async fn query(
    client: &impl GenericClient,
    sql: &str,
    values: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    client.query(sql, values).await.map_err(|error| classify(&error))
}
