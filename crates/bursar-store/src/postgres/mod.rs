//! The books in PostgreSQL: several processes may write, and commits have a total order.
//!
//! A turn is one READ COMMITTED transaction with a constant number of statements. While it loads, it locks the flows that
//! it may step and nothing else. The statements that save check every precondition of the decision, and report a lost race
//! as a conflict. References are read last, so that a turn replays an event which another turn has just posted instead of
//! rejecting it.

pub(crate) mod accounts;
mod browse;
mod closings;
pub(crate) mod connect;
mod control;
pub(crate) mod copy;
pub(crate) mod database;
mod dispatch;
mod feed;
mod flows;
mod identity;
mod keys;
mod lanes;
mod load;
mod lookup;
mod merchants;
mod query;
mod queues;
mod registry;
mod row;
pub(crate) mod rows;
mod save;
pub(crate) mod session;
mod tallies;
mod tls;

use std::time::Duration;

use bursar_core::freezes::Restore;
use bursar_core::ids::{BooksId, CommitId};
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};

use self::connect::{Connected, Use, connect};
use self::database::{Database, parse};
use self::merchants::Merchants;
use self::session::{Session, Statements};
use crate::chart_lines::ChartLines;
use crate::identity::Position;
use crate::schema::{self, SchemaVersion};
use crate::{Store, StoreError, Turn};

mod embedded {
    //! The migrations of the schema.
    refinery::embed_migrations!("migrations/postgres");
}

#[derive(Debug)]
pub struct Postgres {
    database: Database,
    used_for: Use,
    pub(crate) client: Client,
    is_encrypted: bool,
    pub(crate) statements: Statements,
    pub(crate) lines: ChartLines,
    merchants: Merchants,
    /// All reads come from one snapshot, which is lost with the connection.
    is_of_one_moment: bool,
    /// What a process that writes has seen of the books, to notice that they were put back.
    pub(crate) seen: Seen,
}

/// What a process has seen of the books.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) id: Option<BooksId>,
    /// The last commit of this process.
    pub(crate) position: Option<Position>,
    /// Replicas have every commit before it is answered, so another server is no sign of a loss.
    pub(crate) has_all_on_replicas: bool,
    /// Why the books are not trusted: recheck mode must begin first.
    pub(crate) went_back: Option<String>,
    /// The connection is new, and not compared yet.
    is_new_connection: bool,
    /// The database holds other books: nothing more is done with it.
    gone: Option<String>,
    new_server: NewServer,
}

/// After recheck mode has begun, the books name the server that they are on now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum NewServer {
    #[default]
    None,
    /// The turn that begins recheck mode is under way.
    Beginning,
    Begun,
}

pub struct PostgresTurn<'s> {
    transaction: Transaction<'s>,
    statements: &'s Statements,
    lines: &'s mut ChartLines,
    merchants: &'s mut Merchants,
    position: &'s mut Option<Position>,
    /// As of the first load.
    merchants_version: Option<i64>,
}

impl std::fmt::Debug for PostgresTurn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresTurn").finish_non_exhaustive()
    }
}

impl Postgres {
    /// The location of a database for logs, without user name and password.
    pub(crate) fn describe(url: &str) -> String {
        let Ok(config) = parse(url) else { return "PostgreSQL".to_owned() };
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let config = &config.config;
        let hosts: Vec<String> = config.get_hosts().iter().map(host).collect();
        let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
        format!("PostgreSQL at {}, database {database}", hosts.join(","))
    }

    /// Whether a database holds books.
    pub async fn exists(url: &str) -> Result<bool, StoreError> {
        let Connected { client, .. } = connect(&parse(url)?, Use::Reports).await?;
        let found = client.query_one("SELECT to_regclass('head') IS NOT NULL", &[]).await;
        found.and_then(|row| row.try_get(0)).map_err(|error| classify(&error))
    }

    /// Connects to the books and migrates the schema.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_at(parse(url)?).await
    }

    /// The version of the schema of existing books.
    pub(crate) async fn schema(url: &str) -> Result<SchemaVersion, StoreError> {
        schema(&connect(&parse(url)?, Use::Reports).await?.client).await
    }

    /// Opens the books read-only, for reports that may take long. Fails if their schema is of another version.
    pub async fn reader(url: &str) -> Result<Self, StoreError> {
        Self::open_reader(url, Use::Reports).await
    }

    /// The same for short reads: a statement that takes long, or waits for a lock, fails.
    pub async fn bounded_reader(url: &str) -> Result<Self, StoreError> {
        Self::open_reader(url, Use::Reads).await
    }

    async fn open_reader(url: &str, used_for: Use) -> Result<Self, StoreError> {
        let database = parse(url)?;
        let connected = connect(&database, used_for).await?;
        schema(&connected.client).await?.check()?;
        Self::connected(database, used_for, connected).await
    }

    async fn connected(
        database: Database,
        used_for: Use,
        Connected { client, is_encrypted }: Connected,
    ) -> Result<Self, StoreError> {
        let lines = row::chart_lines(&client).await?;
        Ok(Self {
            database,
            used_for,
            client,
            is_encrypted,
            statements: Statements::default(),
            lines,
            merchants: Merchants::default(),
            is_of_one_moment: false,
            seen: Seen::default(),
        })
    }

    pub(crate) async fn open_at(database: Database) -> Result<Self, StoreError> {
        let mut connected = connect(&database, Use::Turns).await?;
        let client = &mut connected.client;
        // One process at a time migrates the schema. The others wait, however long it takes, and then have nothing to do.
        let lock = "SET lock_timeout = 0; SELECT pg_advisory_lock(7002114)";
        client.batch_execute(lock).await.map_err(|error| classify(&error))?;
        let migrated = embedded::migrations::runner().run_async(client).await;
        migrated.map_err(|error| StoreError::from_migration(&error))?;
        let unlock = format!("SELECT pg_advisory_unlock(7002114); {}", Use::Turns.settings());
        client.batch_execute(&unlock).await.map_err(|error| classify(&error))?;
        Self::connected(database, Use::Turns, connected).await
    }

    /// Whether what is read and written can be overheard on its way to another machine.
    pub(crate) fn is_overheard(&self) -> bool {
        !self.is_encrypted && self.database.is_on_another_machine()
    }

    fn session(&self) -> Session<'_, Client> {
        Session { client: &self.client, statements: &self.statements }
    }

    /// Replaces a lost connection, unless a snapshot was lost with it. A new connection is used once it is known to lead to the
    /// same books.
    async fn reconnect(&mut self) -> Result<(), StoreError> {
        if let Some(reason) = &self.seen.gone {
            return Err(StoreError::Gone(reason.clone()));
        }
        if self.client.is_closed() {
            if self.is_of_one_moment {
                return Err(StoreError::Unavailable(
                    "the connection was lost in the middle of a report, which would mix two moments if it went on"
                        .to_owned(),
                ));
            }
            self.seen.is_new_connection = true;
            let connected = connect(&self.database, self.used_for).await?;
            (self.client, self.is_encrypted) = (connected.client, connected.is_encrypted);
        }
        if self.seen.is_new_connection {
            self.statements = Statements::default();
            // The URL may lead to another server now, whose versions are unrelated.
            self.merchants = Merchants::default();
            self.lines = row::chart_lines(&self.client).await?;
            self.look_again().await?;
            self.seen.is_new_connection = false;
        }
        Ok(())
    }
}

async fn schema(client: &Client) -> Result<SchemaVersion, StoreError> {
    let found = client.query_one(schema::APPLIED, &[]).await;
    let applied = found.and_then(|row| row.try_get(0)).map_err(|error| classify(&error))?;
    Ok(SchemaVersion::new(applied, embedded::migrations::runner().get_migrations()))
}

impl Store for Postgres {
    type Turn<'s> = PostgresTurn<'s>;

    async fn begin(&mut self) -> Result<PostgresTurn<'_>, StoreError> {
        self.reconnect().await?;
        if let Some(reason) = &self.seen.went_back {
            return Err(StoreError::WentBack(reason.clone()));
        }
        if self.seen.new_server == NewServer::Begun {
            self.name_server().await?;
            self.seen.new_server = NewServer::None;
        }
        let transaction = self.client.transaction().await.map_err(|error| classify(&error))?;
        // A process that stalls in a COPY holds locks too, but is not idle for the server.
        let limit = "SET LOCAL statement_timeout = '10s'";
        transaction.batch_execute(limit).await.map_err(|error| classify(&error))?;
        let (statements, lines) = (&self.statements, &mut self.lines);
        Ok(PostgresTurn {
            transaction,
            statements,
            lines,
            merchants: &mut self.merchants,
            position: &mut self.seen.position,
            merchants_version: None,
        })
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        self.reconnect().await?;
        let sql = "SELECT 1 FROM commits WHERE id = $1";
        let found = self.client.query_opt(sql, &[&id.uuid()]).await;
        Ok(found.map_err(|error| classify(&error))?.is_some())
    }

    fn saved(&mut self) {
        if self.seen.new_server == NewServer::Beginning {
            self.seen.new_server = NewServer::Begun;
        }
    }

    fn trust_again(&mut self) {
        self.seen.went_back = None;
        self.seen.new_server = NewServer::Beginning;
    }

    fn distrust(&mut self, reason: &str) {
        self.seen.went_back = Some(reason.to_owned());
        self.seen.new_server = NewServer::None;
    }

    async fn back_off(&mut self, pause: Duration) {
        tokio::time::sleep(pause).await;
    }
}

impl Turn for PostgresTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        let session = Session { client: &self.transaction, statements: self.statements };
        let (records, merchants_version) =
            load::load(&session, self.lines, self.merchants, plan).await?;
        self.merchants_version.get_or_insert(merchants_version);
        // Another process may have begun a recheck.
        if let (Some(control), Some(known)) = (&records.control, self.position.as_mut()) {
            known.epoch = control.restore.as_ref().map_or(0, Restore::epoch);
        }
        Ok(records)
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let session = Session { client: &self.transaction, statements: self.statements };
        let read = self.merchants_version;
        let (new_lines, end) = save::save(&session, self.lines, (id, commit), read).await?;
        self.transaction.commit().await.map_err(|error| match classify(&error) {
            StoreError::Conflict => StoreError::Conflict,
            // After any error but a conflict the outcome of the commit is unknown.
            StoreError::Unavailable(reason)
            | StoreError::Unknown(reason)
            | StoreError::Missing(reason)
            | StoreError::Gone(reason)
            | StoreError::WentBack(reason)
            | StoreError::Corrupt(reason) => StoreError::Unknown(reason),
        })?;
        if let (Some(known), Some(end)) = (self.position.as_mut(), end) {
            *known = known.after(commit, end);
        }
        self.lines.remember(new_lines);
        Ok(())
    }
}

/// Classifies an error of PostgreSQL by what the caller does next.
pub fn classify(error: &tokio_postgres::Error) -> StoreError {
    let conflicts = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
    ];
    let damages = [
        SqlState::DATA_CORRUPTED,
        SqlState::INDEX_CORRUPTED,
        // Postings that are not a JSON array.
        SqlState::INVALID_TEXT_REPRESENTATION,
    ];
    match error.code() {
        Some(code) if conflicts.contains(code) => StoreError::Conflict,
        Some(code) if damages.contains(code) => StoreError::Corrupt(describe(error)),
        Some(_) | None => StoreError::Unavailable(describe(error)),
    }
}

/// The message of the server, which the driver's error text omits.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => db.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
