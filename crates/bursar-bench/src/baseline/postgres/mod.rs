//! PostgreSQL: binary copy, one transaction per commit, in a database that is created for the benchmark and dropped.

mod naive;

use bursar_core::ids::CommitId;
use bursar_core::ledger::{Account, Transaction};
use bursar_core::money::Currency;
use bursar_core::numscript::Name;
use bursar_store::bulk::postgres::{
    Connection, Copy, Database, Field, PACKED, Session, chart_line, classify, codes, connect,
    connection, copy_attempts, copy_due, copy_events, copy_flows, copy_holds, copy_keys, header,
    in_order, open, parse,
};
use bursar_store::bulk::{ChartLines, NewLines};
use bursar_store::{Location, Postgres, StoreError};
use futures_util::future::join;
use tokio_postgres::Transaction as Client;
use tokio_postgres::types::ToSql;

use super::{Baseline, NO_TIMERS, Rows, timers};

#[derive(Debug)]
pub(crate) struct PostgresBaseline {
    books: Postgres,
    server: Database,
    name: String,
    follows_recipe: bool,
}

impl PostgresBaseline {
    /// Creates a database with empty books on the server of the URL. The database of the URL is not touched.
    pub(crate) async fn create(url: &str, purpose: &str) -> Result<Self, StoreError> {
        let server = parse(url)?;
        let name = format!("bursar_bench_{purpose}");
        let client = connect(&server).await?;
        let sql = "SELECT 1 FROM pg_database WHERE datname = $1";
        let found = client.query_opt(sql, &[&name]).await.map_err(|error| classify(&error))?;
        if found.is_some() {
            return Err(StoreError::Unavailable(format!(
                "there is a database `{name}` already: another benchmark runs, or one was cut off. \
                 If it is not needed: DROP DATABASE {name}"
            )));
        }
        let sql = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'";
        let durable = client.query_one(sql, &[]).await.and_then(|row| row.try_get(0));
        if !durable.map_err(|error| classify(&error))? {
            return Err(StoreError::Unavailable(
                "this server answers before it has written (fsync or synchronous_commit is off), so its figures \
                 would mean nothing"
                    .to_owned(),
            ));
        }
        let sql = format!("CREATE DATABASE {name} TEMPLATE template0");
        client.batch_execute(&sql).await.map_err(|error| classify(&error))?;
        let books = open(server.named(&name)).await?;
        Ok(Self { books, server, name, follows_recipe: false })
    }

    /// The location of these books on the server of this URL.
    pub(crate) fn location(&self, server: &str) -> Location {
        let name = &self.name;
        // The last database name counts; in a URL it is the path.
        let named = match server.split_once("://").and_then(|(_, rest)| rest.split_once('/')) {
            Some((_, path)) => {
                let end = server.len().saturating_sub(path.len());
                let query =
                    path.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
                format!("{}{name}{query}", server.get(..end).unwrap_or(server))
            }
            None if server.contains("://") => format!("{server}/{name}"),
            None => format!("{server} dbname={name}"),
        };
        Location::Database(named)
    }

    /// Another connection to the same books, for another writer.
    pub(crate) async fn another(&self) -> Result<Postgres, StoreError> {
        open(self.server.named(&self.name)).await
    }

    /// Drops the database.
    pub(crate) async fn remove(self) -> Result<(), StoreError> {
        drop(self.books);
        let client = connect(&self.server).await?;
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        client.batch_execute(&sql).await.map_err(|error| classify(&error))
    }

    async fn number(&mut self, sql: &str) -> Result<Option<u64>, StoreError> {
        let row = connection(&mut self.books).client.query_one(sql, &[]).await;
        let number: i64 = row.and_then(|row| row.try_get(0)).map_err(|error| classify(&error))?;
        Ok(u64::try_from(number).ok())
    }
}

impl Baseline for PostgresBaseline {
    type Books = Postgres;

    fn books(&mut self) -> &mut Postgres {
        &mut self.books
    }

    async fn follow_recipe(&mut self) -> Result<(), StoreError> {
        self.follows_recipe = true;
        connection(&mut self.books)
            .client
            .batch_execute(RECIPE)
            .await
            .map_err(|error| classify(&error))
    }

    async fn leave_recipe(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.follows_recipe) {
            return Ok(());
        }
        for sql in [NO_TIMERS, PACKED, TALLIES] {
            let done = connection(&mut self.books).client.batch_execute(sql).await;
            done.map_err(|error| classify(&error))?;
        }
        Ok(())
    }

    async fn write(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        let Rows { id, commit, accounts, .. } = *rows;
        let Connection { client, statements, lines: known } = connection(&mut self.books);
        let client = client.transaction().await.map_err(|error| classify(&error))?;
        let session = Session { client: &client, statements };
        let (lines, new_lines) = chart_lines(&session, known, accounts).await?;
        session.prepare_all(&[PUT_ACCOUNTS, COMMIT, HEAD]).await?;
        copy_headers(&session, id, &commit.transactions).await?;
        copy_postings(&session, &commit.transactions).await?;
        copy_all_flows(&session, rows).await?;
        let (put, linked) =
            join(put_accounts(&session, accounts, &lines), link(&session, rows)).await;
        put?;
        linked?;
        client.commit().await.map_err(|error| classify(&error))?;
        known.remember(new_lines);
        Ok(())
    }

    async fn open_accounts(&mut self, accounts: &[(Name, Account)]) -> Result<(), StoreError> {
        let Connection { client, statements, lines: known } = connection(&mut self.books);
        let client = client.transaction().await.map_err(|error| classify(&error))?;
        let session = Session { client: &client, statements };
        let (lines, new_lines) = chart_lines(&session, known, accounts).await?;
        put_accounts(&session, accounts, &lines).await?;
        client.commit().await.map_err(|error| classify(&error))?;
        known.remember(new_lines);
        Ok(())
    }

    async fn write_naively(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        let Connection { client, statements, lines: _ } = connection(&mut self.books);
        let client = client.transaction().await.map_err(|error| classify(&error))?;
        let session = Session { client: &client, statements };
        naive::write(&session, rows).await?;
        link(&session, rows).await?;
        client.commit().await.map_err(|error| classify(&error))
    }

    /// The WAL position of the server.
    async fn written_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        self.number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").await
    }

    async fn stored_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
                   WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
        self.number(sql).await
    }
}

/// Replaces embedded postings and entries with one row for each posting, indexed by account. Statements are planned on
/// every use.
const RECIPE: &str = "SET plan_cache_mode = force_custom_plan;
    RESET enable_hashjoin;
    RESET enable_mergejoin;
    DROP VIEW postings;
    DROP TABLE entries;
    ALTER TABLE transactions DROP COLUMN postings;
    CREATE TABLE postings (
        tx UUID NOT NULL,
        n BIGINT NOT NULL,
        source TEXT COLLATE \"C\" NOT NULL,
        destination TEXT COLLATE \"C\" NOT NULL,
        currency TEXT NOT NULL,
        amount BIGINT NOT NULL CHECK (amount > 0),
        PRIMARY KEY (tx, n)
    );
    CREATE INDEX postings_by_source ON postings (source, tx) WHERE source <> 'world';
    CREATE INDEX postings_by_destination ON postings (destination, tx) WHERE destination <> 'world';
    ALTER TABLE postings
        ALTER tx SET STATISTICS 10, ALTER n SET STATISTICS 10, ALTER source SET STATISTICS 10,
        ALTER destination SET STATISTICS 10, ALTER currency SET STATISTICS 10, ALTER amount SET STATISTICS 10;
    DROP INDEX flows_by_kind, flows_by_merchant, flows_by_parent;";

/// Raw and naive keep no tallies: they are counted at the end.
const TALLIES: &str = "INSERT INTO tallies (name, count, minor, entered)
    SELECT concat('flow/', kind, '/', status, '/', state::json #>> '{flow,terms,funds,currency}', '/',
                  state::json #>> '{flow,terms,channel}'), count(*),
           sum((state::json #>> '{flow,terms,funds,amount}')::bigint), count(*)
    FROM flows GROUP BY 1";

const COPY_HEADERS: &str = "COPY transactions
        (id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts)
    FROM STDIN BINARY";
const COPY_POSTINGS: &str =
    "COPY postings (tx, n, source, destination, currency, amount) FROM STDIN BINARY";
const PUT_ACCOUNTS: &str =
    "INSERT INTO accounts (address, currency, balance, version, line, received)
    SELECT address, currency, balance, 1, line, received
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS k (address, currency, balance, line, received)
    ON CONFLICT (address, currency) DO UPDATE
    SET balance = excluded.balance, version = accounts.version + 1, received = excluded.received";
const COMMIT: &str =
    "INSERT INTO commits (seq, id, time, hash, version, digests) VALUES ($1, $2, $3, $4, 2, $5)";
const HEAD: &str = "UPDATE head SET seq = $1, time = $2, end_hash = $3";

async fn chart_lines(
    session: &Session<'_, Client<'_>>,
    known: &ChartLines,
    accounts: &[(Name, Account)],
) -> Result<(Vec<i64>, NewLines), StoreError> {
    let mut new_lines = NewLines::new();
    let mut lines = Vec::with_capacity(accounts.len());
    for (_, account) in accounts {
        lines.push(chart_line(session, known, &account.metadata, &mut new_lines).await?);
    }
    Ok((lines, new_lines))
}

/// Copies transactions without their postings.
async fn copy_headers(
    session: &Session<'_, Client<'_>>,
    id: CommitId,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, COPY_HEADERS).await?;
    for (n, row) in in_order(rows) {
        copy.row(&header(id, n, row)).await?;
    }
    copy.finish().await
}

async fn copy_postings(
    session: &Session<'_, Client<'_>>,
    rows: &[Transaction],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, COPY_POSTINGS).await?;
    for row in rows {
        for (posting, n) in row.postings.iter().zip(0_i64..) {
            let fields = [
                Field::Uuid(row.id.uuid()),
                Field::Number(n),
                Field::Text(&posting.source),
                Field::Text(&posting.destination),
                Field::Text(posting.money.code()),
                Field::Number(posting.money.minor()),
            ];
            copy.row(&fields).await?;
        }
    }
    copy.finish().await
}

/// Copies flows, holds and keys.
async fn copy_all_flows(
    session: &Session<'_, Client<'_>>,
    rows: &Rows<'_>,
) -> Result<(), StoreError> {
    let Rows { id, commit, holds, flows, states, keys, .. } = *rows;
    if !holds.is_empty() {
        copy_holds(session, &holds.iter().collect::<Vec<_>>()).await?;
    }
    if !flows.is_empty() {
        copy_flows(session, flows.iter().map(|change| &*change.after).zip(states)).await?;
        copy_attempts(session, flows).await?;
        copy_due(session, timers(flows)).await?;
    }
    if !keys.is_empty() {
        copy_keys(session, keys.iter()).await?;
    }
    if !commit.events.is_empty() {
        copy_events(session, id, &commit.events).await?;
    }
    Ok(())
}

/// Upserts account balances.
async fn put_accounts(
    session: &Session<'_, Client<'_>>,
    accounts: &[(Name, Account)],
    lines: &[i64],
) -> Result<(), StoreError> {
    let addresses: Vec<&str> = accounts.iter().map(|(address, _)| &**address).collect();
    let currencies: Vec<Currency> =
        accounts.iter().map(|(_, account)| account.balance.currency()).collect();
    let balances: Vec<i64> = accounts.iter().map(|(_, account)| account.balance.minor()).collect();
    let received: Vec<i64> = accounts.iter().map(|(_, account)| account.received).collect();
    let values: [&(dyn ToSql + Sync); 5] =
        [&addresses, &codes(&currencies), &balances, &lines, &received];
    session.write(PUT_ACCOUNTS, &values, accounts.len()).await
}

/// Writes the commit and the head.
async fn link(
    session: &Session<'_, Client<'_>>,
    Rows { id, commit, digests, .. }: &Rows<'_>,
) -> Result<(), StoreError> {
    let seq = i64::try_from(commit.seq).unwrap_or(i64::MAX);
    let (uuid, time, hash) = (id.uuid(), commit.time.as_microsecond(), commit.hash.as_slice());
    let digests = digests.as_slice();
    let commit: [&(dyn ToSql + Sync); 5] = [&seq, &uuid, &time, &hash, &digests];
    let head: [&(dyn ToSql + Sync); 3] = [&seq, &time, &hash];
    let (inserted, updated) =
        join(session.write(COMMIT, &commit, 1), session.write(HEAD, &head, 1)).await;
    inserted?;
    updated
}
