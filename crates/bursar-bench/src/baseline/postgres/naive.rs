//! Naive baseline: a statement for every row.

use bursar_core::feed::FeedEvent;
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::{HoldState, Transaction};
use bursar_core::turn::{FlowWrite, HoldWrite};
use bursar_store::StoreError;
use bursar_store::bulk::postgres::Session;
use tokio_postgres::Transaction as Client;
use tokio_postgres::types::ToSql;

use super::super::{Rows, ends};

pub(super) async fn write(
    session: &Session<'_, Client<'_>>,
    rows: &Rows<'_>,
) -> Result<(), StoreError> {
    let Rows { id, commit, holds, flows, keys, .. } = *rows;
    for known in keys {
        key(session, known).await?;
    }
    for change in flows {
        flow(session, change).await?;
    }
    for (row, n) in commit.transactions.iter().zip(0_i64..) {
        transaction(session, id, n, row).await?;
    }
    for change in holds {
        hold(session, change).await?;
    }
    for (row, n) in commit.events.iter().zip(0_i64..) {
        event(session, id, n, row).await?;
    }
    Ok(())
}

async fn key(session: &Session<'_, Client<'_>>, known: &KnownKey) -> Result<(), StoreError> {
    let digest = known.key.digest();
    session.query("SELECT reply FROM keys WHERE digest = $1", &[&digest.as_slice()]).await?;
    let sql = "INSERT INTO keys (digest, scope, key, request_hash, flow, reply)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let values: [&(dyn ToSql + Sync); 6] = [
        &digest.as_slice(),
        &known.key.scope(),
        &known.key.value(),
        &known.request_hash.as_slice(),
        &known.flow.uuid(),
        &known.text,
    ];
    session.write(sql, &values, 1).await
}

async fn flow(session: &Session<'_, Client<'_>>, change: &FlowWrite) -> Result<(), StoreError> {
    let FlowWrite { before, after, .. } = change;
    let id = after.id.uuid();
    if before.is_some() {
        let sql = "SELECT state FROM flows WHERE id = $1 FOR UPDATE";
        session.query(sql, &[&id]).await?;
    }
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (kind, status, state) = (after.state.kind(), after.state.status(), after.encode());
    let (version, sequence) = (number(after.version), number(after.sequence));
    let updated_at = after.updated_at.as_microsecond();
    let created_at = after.created_at.as_microsecond();
    let values: [&(dyn ToSql + Sync); 6] = [&id, &status, &version, &sequence, &state, &updated_at];
    if before.is_some() {
        let sql =
            "UPDATE flows SET status = $2, version = $3, sequence = $4, state = $5, updated_at = $6
                   WHERE id = $1";
        session.write(sql, &values, 1).await?;
    } else {
        let sql = "INSERT INTO flows (id, status, version, sequence, state, updated_at, kind, merchant, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let more: [&(dyn ToSql + Sync); 3] = [&kind, &after.merchant, &created_at];
        session.write(sql, &[values.as_slice(), more.as_slice()].concat(), 1).await?;
    }
    for (speaker, reference) in change.new_references() {
        let sql = "INSERT INTO attempts (channel, reference, flow) VALUES ($1, $2, $3)";
        session.write(sql, &[&&*speaker, &reference, &id], 1).await?;
    }
    if let Some(due) = change.due_before() {
        let sql = "DELETE FROM due WHERE lane = $1 AND due_at = $2 AND flow = $3";
        session.write(sql, &[&due.lane, &due.at.as_microsecond(), &id], 1).await?;
    }
    if let Some(due) = after.due() {
        let sql = "INSERT INTO due (lane, due_at, flow) VALUES ($1, $2, $3)";
        session.write(sql, &[&due.lane, &due.at.as_microsecond(), &id], 1).await?;
    }
    Ok(())
}

async fn hold(session: &Session<'_, Client<'_>>, change: &HoldWrite) -> Result<(), StoreError> {
    let HoldWrite { key, before, after } = change;
    let code = key.code.to_string();
    let ended_by = match after.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid()),
    };
    let epoch = i64::from(after.epoch);
    if before.is_some() {
        let sql = "SELECT amount FROM holds WHERE gl = $1::text::bigint AND reference = $2";
        session.query(sql, &[&code, &key.reference]).await?;
        let sql = "UPDATE holds SET epoch = $3, ended_by = $4 WHERE gl = $1::text::bigint AND reference = $2";
        return session.write(sql, &[&code, &key.reference, &epoch, &ended_by], 1).await;
    }
    let (currency, minor) = (after.money.currency(), after.money.minor());
    let sql = "INSERT INTO holds (gl, reference, account, currency, amount, epoch, ended_by)
               VALUES ($1::text::bigint, $2, $3, $4, $5, $6, $7)";
    let values: [&(dyn ToSql + Sync); 7] =
        [&code, &key.reference, &&*after.account, &currency.code(), &minor, &epoch, &ended_by];
    session.write(sql, &values, 1).await
}

async fn event(
    session: &Session<'_, Client<'_>>,
    commit_id: CommitId,
    n: i64,
    event: &FeedEvent,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let values: [&(dyn ToSql + Sync); 9] = [
        &commit_id.uuid(),
        &n,
        &event.id.uuid(),
        &event.kind,
        &event.resource,
        &event.merchant,
        &i64::try_from(event.sequence).unwrap_or(i64::MAX),
        &event.time.as_microsecond(),
        &event.data,
    ];
    session.write(sql, &values, 1).await
}

async fn transaction(
    session: &Session<'_, Client<'_>>,
    commit_id: CommitId,
    n: i64,
    row: &Transaction,
) -> Result<(), StoreError> {
    let id = row.id.uuid();
    let sql = "SELECT 1 FROM transactions WHERE event = $1 AND reference = $2";
    session.query(sql, &[&&*row.event, &row.reference]).await?;
    let sql = "INSERT INTO transactions
                   (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values: [&(dyn ToSql + Sync); 8] = [
        &id,
        &commit_id.uuid(),
        &n,
        &&*row.event,
        &row.reference,
        &row.request_hash.as_slice(),
        &row.rulebook_hash.as_slice(),
        &row.effective_at.as_microsecond(),
    ];
    session.write(sql, &values, 1).await?;
    for (posting, place) in row.postings.iter().zip(0_i64..) {
        let (currency, minor) = (posting.money.currency(), posting.money.minor());
        let sql = "INSERT INTO postings (tx, n, source, destination, currency, amount)
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (source, destination) = (&*posting.source, &*posting.destination);
        let values: [&(dyn ToSql + Sync); 6] =
            [&id, &place, &source, &destination, &currency.code(), &minor];
        session.write(sql, &values, 1).await?;
        let sql = "UPDATE accounts SET balance = balance + $1, received = received + greatest($1, 0), version = version + 1
                   WHERE address = $2 AND currency = $3";
        for (address, change) in ends(posting) {
            session.write(sql, &[&change, &&**address, &currency.code()], 1).await?;
        }
    }
    Ok(())
}
