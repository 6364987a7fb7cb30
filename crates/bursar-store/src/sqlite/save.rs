//! Writes a commit. Each statement checks the precondition that the decision relied on.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use bursar_core::ids::CommitId;
use bursar_core::ledger::chart::GlAccount;
use bursar_core::ledger::{Hold, HoldState};
use bursar_core::turn::{AccountWrite, Commit, Digests, HoldWrite, chain};
use rusqlite::{Connection, Statement, params};

use super::load::prepare;
use super::{classify, closings, control, dispatch, feed, flows, queues, registry, rows, tallies};
use crate::StoreError;
use crate::chain_row::CHAIN_VERSION;
use crate::chart_lines::{ChartLines, NewLines, damaged};
use crate::identity::Position;

/// Number of flows from which encoding them on a second thread is faster.
const MANY: usize = 64;

/// Returns the chart lines that it inserted, and the end of the chain. The chain must end where the process has left it.
pub(super) fn save(
    connection: &Connection,
    lines: &ChartLines,
    (id, commit): (CommitId, &Commit),
    known: [Option<Position>; 2],
) -> Result<(NewLines, Option<Position>), StoreError> {
    if commit.flows.len() < MANY {
        return write_all(connection, lines, (id, commit), known, || Texts::new(commit));
    }
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, || Texts::new(commit));
        let texts = || match spawned {
            Ok(texts) => texts.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system has no thread left.
            Err(_) => Texts::new(commit),
        };
        write_all(connection, lines, (id, commit), known, texts)
    })
}

/// The digests and the encoded states of a commit.
struct Texts {
    digests: Digests,
    /// In the order of the flows.
    states: Vec<String>,
}

impl Texts {
    fn new(commit: &Commit) -> Self {
        let states = commit.flows.iter().map(|change| change.after.encode()).collect();
        Self { digests: commit.appended().digests(), states }
    }
}

fn write_all(
    connection: &Connection,
    lines: &ChartLines,
    (id, commit): (CommitId, &Commit),
    known: [Option<Position>; 2],
    texts: impl FnOnce() -> Texts,
) -> Result<(NewLines, Option<Position>), StoreError> {
    let mut new_lines = NewLines::new();
    let Some(time) = commit.time else {
        let [position, _] = known;
        return Ok((new_lines, position));
    };
    let (seq, previous): (i64, [u8; 32]) = connection
        .query_row("SELECT seq, end_hash FROM head", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|error| classify(&error))?;
    let is_known = |known: &Position| (i64::try_from(known.seq), known.hash) == (Ok(seq), previous);
    let known = known.into_iter().flatten();
    if known.clone().next().is_some() && !known.clone().any(|known| is_known(&known)) {
        let why = "the file was overwritten while this process used it".to_owned();
        return Err(StoreError::Gone(why));
    }
    let seq = seq.saturating_add(1);
    rows::insert(connection, id, &commit.transactions)?;
    let mut statement = prepare(connection, ACCOUNT)?;
    for write in &commit.accounts {
        let line = chart_line(connection, lines, &write.after.metadata, &mut new_lines)?;
        account(&mut statement, line, write)?;
    }
    holds(connection, &commit.holds)?;
    control::save(connection, commit)?;
    registry::save(connection, commit)?;
    feed::save(connection, id, &commit.events, &commit.audit)?;
    let Texts { digests, states } = texts();
    flows::save(connection, commit, &states)?;
    tallies::save(connection, commit)?;
    queues::save(connection, commit, time)?;
    dispatch::save(connection, commit)?;
    closings::save(connection, commit)?;
    let hash = chain(previous, time, &digests);
    let (uuid, digests) = (id.uuid(), digests.to_bytes());
    let values = params![
        seq,
        uuid.as_bytes().as_slice(),
        time.as_microsecond(),
        hash.as_slice(),
        CHAIN_VERSION,
        digests.as_slice()
    ];
    let sql = "INSERT INTO commits (seq, id, time, hash, version, digests) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    write_one(connection, sql, values)?;
    let values = params![seq, time.as_microsecond(), hash.as_slice()];
    let sql = "UPDATE head SET seq = ?1, time = ?2, end_hash = ?3 WHERE seq = ?1 - 1";
    write_one(connection, sql, values)?;
    let seq = u64::try_from(seq).map_err(damaged)?;
    let mut known = known;
    Ok((new_lines, known.next().map(|known| known.after(commit, (seq, hash)))))
}

/// The number of a chart line. Inserts a new line.
pub fn chart_line(
    connection: &Connection,
    lines: &ChartLines,
    account: &Arc<GlAccount>,
    new_lines: &mut NewLines,
) -> Result<i64, StoreError> {
    if let Some(number) = lines.number(account) {
        return Ok(number);
    }
    if let Some((number, _)) = new_lines.iter().find(|(_, known)| known == account) {
        return Ok(*number);
    }
    let pattern = account.pattern.as_ref().map(ToString::to_string).unwrap_or_default();
    let code = account.code.to_string();
    let values =
        params![code, account.name, account.class.name(), pattern, account.liquidity, account.view];
    let sql = "INSERT INTO chart_lines (gl, name, class, address, liquidity, view)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    write_one(connection, sql, values)?;
    let number = connection.last_insert_rowid();
    new_lines.push((number, Arc::clone(account)));
    Ok(number)
}

const ACCOUNT: &str =
    "INSERT INTO accounts (address, currency, balance, version, line, received) VALUES (?1, ?2, ?3, 1, ?4, ?6)
    ON CONFLICT DO UPDATE
    SET balance = balance + ?3, version = version + 1, received = min(received, 9223372036854775807 - ?6) + ?6
    WHERE balance = ?5";

/// Adds the net change. Precondition (optimistic lock): the opening balance is the one that the turn read, and suffices.
fn account(
    statement: &mut Statement<'_>,
    line: i64,
    change: &AccountWrite,
) -> Result<(), StoreError> {
    let AccountWrite { address, after, delta, received, least_opening } = change;
    let opening = after.balance.minor().saturating_sub(*delta);
    if least_opening.is_some_and(|least| opening < least) {
        return Err(StoreError::Conflict);
    }
    let currency = after.balance.currency();
    write(statement, params![&**address, currency.code(), delta, line, opening, received])
}

/// Inserts new holds and updates existing ones. Precondition (optimistic lock): an existing hold is as the turn read it.
pub fn holds(connection: &Connection, changes: &[HoldWrite]) -> Result<(), StoreError> {
    let sql = "INSERT INTO holds (gl, reference, account, currency, amount, epoch, ended_by)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = prepare(connection, sql)?;
    let sql = "UPDATE holds SET epoch = ?3, ended_by = ?4
               WHERE gl = ?1 AND reference = ?2 AND epoch = ?5 AND ended_by IS ?6";
    let mut update = prepare(connection, sql)?;
    for HoldWrite { key, before, after } in changes {
        let code = key.code.to_string();
        let ended_by = ended_by(after);
        let ended_by = ended_by.as_ref().map(<[u8; 16]>::as_slice);
        let reference = &key.reference;
        if let Some(before) = before {
            let was_ended_by = self::ended_by(before);
            let was_ended_by = was_ended_by.as_ref().map(<[u8; 16]>::as_slice);
            let values =
                params![code, reference, after.epoch, ended_by, before.epoch, was_ended_by];
            write(&mut update, values)?;
        } else {
            let (currency, minor) = (after.money.currency(), after.money.minor());
            let (account, epoch) = (&*after.account, after.epoch);
            let values = params![code, reference, account, currency.code(), minor, epoch, ended_by];
            write(&mut insert, values)?;
        }
    }
    Ok(())
}

fn ended_by(hold: &Hold) -> Option<[u8; 16]> {
    match hold.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid().into_bytes()),
    }
}

/// Writes exactly one row. A statement that writes none lost a race against another writer.
pub(super) fn write(
    statement: &mut Statement<'_>,
    values: impl rusqlite::Params,
) -> Result<(), StoreError> {
    let count = statement.execute(values).map_err(|error| classify(&error))?;
    if count == 1 { Ok(()) } else { Err(StoreError::Conflict) }
}

/// Same, for a statement that the caller runs once.
pub(super) fn write_one(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<(), StoreError> {
    write(&mut *prepare(connection, sql)?, values)
}
