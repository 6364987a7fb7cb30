//! Naive baseline: a statement for every row, prepared on every use.

use bursar_core::feed::FeedEvent;
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::{HoldState, Transaction};
use bursar_core::turn::{FlowWrite, HoldWrite};
use rusqlite::{Connection, params};

use super::super::{Rows, ends};

pub(super) fn write(connection: &Connection, rows: &Rows<'_>) -> rusqlite::Result<()> {
    let Rows { id, commit, holds, flows, keys, .. } = *rows;
    keys.iter().try_for_each(|known| key(connection, known))?;
    flows.iter().try_for_each(|change| flow(connection, change))?;
    for (row, n) in commit.transactions.iter().zip(0_i64..) {
        transaction(connection, id, n, row)?;
    }
    holds.iter().try_for_each(|change| hold(connection, change))?;
    for (row, n) in commit.events.iter().zip(0_i64..) {
        event(connection, id, n, row)?;
    }
    Ok(())
}

fn execute(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<()> {
    connection.prepare(sql)?.execute(values).map(drop)
}

fn key(connection: &Connection, known: &KnownKey) -> rusqlite::Result<()> {
    let (digest, flow) = (known.key.digest(), known.flow.uuid());
    let sql = "SELECT reply FROM keys WHERE digest = ?1";
    connection.prepare(sql)?.exists([digest.as_slice()])?;
    let values = params![
        digest.as_slice(),
        known.key.scope(),
        known.key.value(),
        known.request_hash.as_slice(),
        flow.as_bytes().as_slice(),
        known.text
    ];
    let sql = "INSERT INTO keys (digest, scope, key, request_hash, flow, reply)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    execute(connection, sql, values)
}

fn flow(connection: &Connection, change: &FlowWrite) -> rusqlite::Result<()> {
    let FlowWrite { before, after, .. } = change;
    let uuid = after.id.uuid();
    let id = uuid.as_bytes().as_slice();
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (status, state) = (after.state.status(), after.encode());
    let (version, sequence) = (number(after.version), number(after.sequence));
    let updated_at = after.updated_at.as_microsecond();
    if before.is_some() {
        connection.prepare("SELECT state FROM flows WHERE id = ?1")?.exists([id])?;
        let sql =
            "UPDATE flows SET status = ?2, version = ?3, sequence = ?4, state = ?5, updated_at = ?6
                   WHERE id = ?1";
        execute(connection, sql, params![id, status, version, sequence, state, updated_at])?;
    } else {
        let (kind, merchant) = (after.state.kind(), &after.merchant);
        let created_at = after.created_at.as_microsecond();
        let sql = "INSERT INTO flows (id, kind, merchant, status, version, sequence, state, created_at, updated_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let values =
            params![id, kind, merchant, status, version, sequence, state, created_at, updated_at];
        execute(connection, sql, values)?;
    }
    for (speaker, reference) in change.new_references() {
        let sql = "INSERT INTO attempts (channel, reference, flow) VALUES (?1, ?2, ?3)";
        execute(connection, sql, params![speaker, reference, id])?;
    }
    if let Some(due) = change.due_before() {
        let sql = "DELETE FROM due WHERE lane = ?1 AND due_at = ?2 AND flow = ?3";
        execute(connection, sql, params![due.lane, due.at.as_microsecond(), id])?;
    }
    if let Some(due) = after.due() {
        let sql = "INSERT INTO due (lane, due_at, flow) VALUES (?1, ?2, ?3)";
        execute(connection, sql, params![due.lane, due.at.as_microsecond(), id])?;
    }
    Ok(())
}

fn hold(connection: &Connection, change: &HoldWrite) -> rusqlite::Result<()> {
    let HoldWrite { key, before, after } = change;
    let code = key.code.to_string();
    let ended_by = match after.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid().into_bytes()),
    };
    let ended_by = ended_by.as_ref().map(<[u8; 16]>::as_slice);
    if before.is_some() {
        let sql = "SELECT amount FROM holds WHERE gl = ?1 AND reference = ?2";
        connection.prepare(sql)?.exists(params![code, key.reference])?;
        let sql = "UPDATE holds SET epoch = ?3, ended_by = ?4 WHERE gl = ?1 AND reference = ?2";
        return execute(connection, sql, params![code, key.reference, after.epoch, ended_by]);
    }
    let (currency, minor) = (after.money.currency(), after.money.minor());
    let sql = "INSERT INTO holds (gl, reference, account, currency, amount, epoch, ended_by)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![
        code,
        key.reference,
        &*after.account,
        currency.code(),
        minor,
        after.epoch,
        ended_by
    ];
    execute(connection, sql, values)
}

fn event(
    connection: &Connection,
    commit_id: CommitId,
    n: i64,
    event: &FeedEvent,
) -> rusqlite::Result<()> {
    let (commit_id, id) = (commit_id.uuid(), event.id.uuid());
    let values = params![
        commit_id.as_bytes().as_slice(),
        n,
        id.as_bytes().as_slice(),
        event.kind,
        event.resource,
        event.merchant,
        i64::try_from(event.sequence).unwrap_or(i64::MAX),
        event.time.as_microsecond(),
        event.data
    ];
    let sql =
        "INSERT INTO events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    execute(connection, sql, values)
}

fn transaction(
    connection: &Connection,
    commit_id: CommitId,
    n: i64,
    transaction: &Transaction,
) -> rusqlite::Result<()> {
    let (id, commit_id) = (transaction.id.uuid(), commit_id.uuid());
    let sql = "SELECT 1 FROM transactions WHERE event = ?1 AND reference = ?2";
    connection.prepare(sql)?.exists(params![&*transaction.event, transaction.reference])?;
    let sql = "INSERT INTO transactions
                   (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = params![
        id.as_bytes().as_slice(),
        commit_id.as_bytes().as_slice(),
        n,
        &*transaction.event,
        transaction.reference,
        transaction.request_hash.as_slice(),
        transaction.rulebook_hash.as_slice(),
        transaction.effective_at.as_microsecond(),
    ];
    execute(connection, sql, values)?;
    for (posting, place) in transaction.postings.iter().zip(0_i64..) {
        let (currency, minor) = (posting.money.currency(), posting.money.minor());
        let sql = "INSERT INTO postings (tx, n, source, destination, currency, amount)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![
            id.as_bytes().as_slice(),
            place,
            &*posting.source,
            &*posting.destination,
            currency.code(),
            minor
        ];
        execute(connection, sql, values)?;
        let sql = "UPDATE accounts SET balance = balance + ?1, received = received + max(?1, 0), version = version + 1
                   WHERE address = ?2 AND currency = ?3";
        for (address, change) in ends(posting) {
            execute(connection, sql, params![change, &**address, currency.code()])?;
        }
    }
    Ok(())
}
