//! SQLite: cached multi-row statements, one transaction per commit.

mod naive;

use std::path::Path;

use bursar_core::ids::BooksId;
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::turn::FlowWrite;
use bursar_store::bulk::sqlite::{
    chart_line, classify, connection, insert_attempts, insert_events, insert_flows, insert_keys,
    insert_transactions, save_holds,
};
use bursar_store::bulk::{ChartLines, NewLines};
use bursar_store::{Identity, Sqlite, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::{Baseline, NO_TIMERS, Rows, timers};

/// Raw and naive keep no tallies: they are counted at the end.
const TALLIES: &str = "INSERT INTO tallies (name, count, minor, entered)
    SELECT 'flow/' || kind || '/' || status || '/' || json_extract(state, '$.flow.terms.funds.currency') || '/'
           || json_extract(state, '$.flow.terms.channel'), count(*),
           sum(json_extract(state, '$.flow.terms.funds.amount')), count(*)
    FROM flows GROUP BY 1";

/// Replaces entries with postings indexed by account, and lists no flows.
const RECIPE: &str =
    "CREATE INDEX postings_by_source ON postings (source, tx) WHERE source <> 'world';
    CREATE INDEX postings_by_destination ON postings (destination, tx) WHERE destination <> 'world';
    DROP INDEX flows_by_kind; DROP INDEX flows_by_merchant; DROP INDEX flows_by_parent;";

#[derive(Debug)]
pub(crate) struct SqliteBaseline {
    books: Sqlite,
    follows_recipe: bool,
}

impl SqliteBaseline {
    /// Creates empty books in a directory.
    pub(crate) fn create(directory: &Path) -> Result<Self, StoreError> {
        if Sqlite::exists(directory) {
            return Err(StoreError::Unavailable(format!(
                "there are books in {}, and a benchmark makes its own",
                directory.display()
            )));
        }
        let books = Identity { id: BooksId::NONE, made_at: Timestamp::UNIX_EPOCH, clock: None };
        Ok(Self { books: Sqlite::make(directory, &books)?, follows_recipe: false })
    }

    /// Runs work in a transaction; chart lines that it adds are cached after the commit.
    fn in_transaction(
        &mut self,
        work: impl FnOnce(&Connection, &ChartLines) -> Result<NewLines, StoreError>,
    ) -> Result<(), StoreError> {
        let (connection, lines) = connection(&mut self.books);
        let transaction = connection.transaction().map_err(|error| classify(&error))?;
        let new_lines = work(&transaction, lines)?;
        transaction.commit().map_err(|error| classify(&error))?;
        lines.remember(new_lines);
        Ok(())
    }
}

impl Baseline for SqliteBaseline {
    type Books = Sqlite;

    fn books(&mut self) -> &mut Sqlite {
        &mut self.books
    }

    async fn follow_recipe(&mut self) -> Result<(), StoreError> {
        self.follows_recipe = true;
        connection(&mut self.books).0.execute_batch(RECIPE).map_err(|error| classify(&error))
    }

    async fn leave_recipe(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.follows_recipe) {
            return Ok(());
        }
        let connection = connection(&mut self.books).0;
        connection.execute_batch(NO_TIMERS).map_err(|error| classify(&error))?;
        connection.execute_batch(TALLIES).map_err(|error| classify(&error))
    }

    async fn write(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        let Rows { id, commit, accounts, holds, flows, states, keys, .. } = *rows;
        self.in_transaction(|connection, lines| {
            insert_transactions(connection, id, &commit.transactions)?;
            let new_lines = put_accounts(connection, lines, accounts)?;
            save_holds(connection, holds)?;
            insert_flows(connection, flows.iter().map(|change| &*change.after).zip(states))?;
            insert_attempts(connection, flows)?;
            put_timers(connection, flows)?;
            insert_keys(connection, keys)?;
            insert_events(connection, id, &commit.events, &commit.audit)?;
            link(rows, |sql, values| connection.prepare_cached(sql)?.execute(values))?;
            Ok(new_lines)
        })
    }

    async fn open_accounts(&mut self, accounts: &[(Name, Account)]) -> Result<(), StoreError> {
        self.in_transaction(|connection, lines| put_accounts(connection, lines, accounts))
    }

    async fn write_naively(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.in_transaction(|connection, _| {
            naive::write(connection, rows).map_err(|error| classify(&error))?;
            link(rows, |sql, values| connection.prepare(sql)?.execute(values))?;
            Ok(NewLines::new())
        })
    }

    /// Bytes written by this process: the WAL, and the file at checkpoints.
    async fn written_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let Ok(counters) = std::fs::read_to_string("/proc/self/io") else { return Ok(None) };
        let written = counters.lines().find_map(|line| line.strip_prefix("wchar: "));
        Ok(written.and_then(|number| number.parse().ok()))
    }

    /// The size of the database, including pages that are still in the WAL.
    async fn stored_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes: i64 = connection(&mut self.books)
            .0
            .query_row(sql, [], |row| row.get(0))
            .map_err(|error| classify(&error))?;
        Ok(u64::try_from(bytes).ok())
    }
}

/// Upserts account balances.
fn put_accounts(
    connection: &Connection,
    lines: &ChartLines,
    accounts: &[(Name, Account)],
) -> Result<NewLines, StoreError> {
    let sql = "INSERT INTO accounts (address, currency, balance, version, line, received) VALUES (?1, ?2, ?3, 1, ?4, ?5)
               ON CONFLICT DO UPDATE
               SET balance = excluded.balance, version = version + 1, received = excluded.received";
    let mut statement = connection.prepare_cached(sql).map_err(|error| classify(&error))?;
    let mut new_lines = NewLines::new();
    for (address, account) in accounts {
        let line = chart_line(connection, lines, &account.metadata, &mut new_lines)?;
        let (currency, minor) = (account.balance.currency(), account.balance.minor());
        let values = params![&**address, currency.code(), minor, line, account.received];
        statement.execute(values).map_err(|error| classify(&error))?;
    }
    Ok(new_lines)
}

fn put_timers(connection: &Connection, flows: &[FlowWrite]) -> Result<(), StoreError> {
    let sql = "INSERT INTO due (lane, due_at, flow) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare_cached(sql).map_err(|error| classify(&error))?;
    for (lane, time, flow) in timers(flows) {
        let values = params![lane, time, flow.as_bytes().as_slice()];
        statement.execute(values).map_err(|error| classify(&error))?;
    }
    Ok(())
}

/// Writes the commit and the head.
fn link(
    Rows { id, commit, digests, .. }: &Rows<'_>,
    execute: impl Fn(&str, &[&dyn rusqlite::ToSql]) -> rusqlite::Result<usize>,
) -> Result<(), StoreError> {
    let (uuid, time) = (id.uuid(), commit.time.as_microsecond());
    let seq = i64::try_from(commit.seq).unwrap_or(i64::MAX);
    let sql = "INSERT INTO commits (seq, id, time, hash, version, digests) VALUES (?1, ?2, ?3, ?4, 2, ?5)";
    let hash = commit.hash.as_slice();
    execute(sql, params![seq, uuid.as_bytes().as_slice(), time, hash, digests.as_slice()])
        .map_err(|error| classify(&error))?;
    let sql = "UPDATE head SET seq = ?1, time = ?2, end_hash = ?3";
    execute(sql, params![seq, time, hash]).map_err(|error| classify(&error))?;
    Ok(())
}
