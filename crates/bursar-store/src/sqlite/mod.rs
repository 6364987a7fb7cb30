//! The books in one SQLite file: one writer, every commit synced to disk before its answers are sent.

mod account_index;
mod browse;
mod closings;
mod control;
mod dispatch;
pub(crate) mod feed;
pub(crate) mod flows;
mod identity;
mod load;
mod lookup;
mod query;
mod queues;
mod registry;
mod row;
pub(crate) mod rows;
pub(crate) mod save;
mod tallies;

use std::fs::{self, File, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use bursar_core::ids::CommitId;
use bursar_core::turn::{Commit, ReadPlan, ReadSet};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, ffi};

use self::account_index::AccountIndex;
pub use self::identity::Place;
use crate::chart_lines::ChartLines;
use crate::identity::Position;
use crate::schema::{self, SchemaVersion};
use crate::{Store, StoreError, Turn};

mod embedded {
    //! The migrations of the schema.
    refinery::embed_migrations!("migrations/sqlite");
}

/// The name of the database inside the data directory.
const FILE: &str = "bursar.sqlite";
/// The name of the file that a writing process keeps locked.
const LOCK: &str = "bursar.lock";

#[derive(Debug)]
pub struct Sqlite {
    pub(crate) connection: Connection,
    pub(crate) lines: ChartLines,
    account_index: AccountIndex,
    place: Place,
    /// The last commit. No other process writes, so another end of the chain means that the file was overwritten.
    pub(crate) position: Option<Position>,
    /// The end of the chain if the last commit, of unknown outcome, was saved.
    unsure: Option<Position>,
    /// Why the file is not the one that this process has left: nothing more is done with it.
    gone: Option<String>,
    /// Released when the store is dropped, or when the process dies. A reader has none.
    lock: Option<File>,
}

#[derive(Debug)]
pub struct SqliteTurn<'s> {
    transaction: Transaction<'s>,
    lines: &'s mut ChartLines,
    account_index: &'s mut AccountIndex,
    place: &'s Place,
    position: &'s mut Option<Position>,
    unsure: &'s mut Option<Position>,
    gone: &'s mut Option<String>,
}

impl Sqlite {
    /// Whether a data directory holds books.
    pub fn exists(directory: &Path) -> bool {
        directory.join(FILE).exists()
    }

    /// Whether a process holds the data directory now.
    pub fn is_in_use(directory: &Path) -> bool {
        let lock = File::open(directory.join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Opens the books in a data directory and migrates the schema. Creates both if they do not exist.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let failed = |what: &str, error: std::io::Error| {
            StoreError::Unavailable(format!("cannot {what} {}: {error}", directory.display()))
        };
        fs::create_dir_all(directory).map_err(|error| failed("make the directory", error))?;
        let lock = File::create(directory.join(LOCK)).map_err(|error| failed("write in", error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                StoreError::Unavailable(format!("another process uses {}", directory.display()))
            }
            TryLockError::Error(error) => failed("lock", error),
        })?;
        // SQLite gives its log the permissions of the database.
        let mut options = File::options();
        let options = options.create(true).append(true).mode(0o600);
        let file = options.open(directory.join(FILE)).map_err(|error| failed("write in", error))?;
        let place = Place::new(directory, &file).map_err(|error| failed("read", error))?;
        make_private(directory).map_err(|error| failed("keep other users out of", error))?;
        let mut connection =
            Connection::open(directory.join(FILE)).map_err(|error| classify(&error))?;
        configure(&connection).map_err(|error| classify(&error))?;
        embedded::migrations::runner()
            .run(&mut connection)
            .map_err(|error| StoreError::from_migration(&error))?;
        let lines = row::chart_lines(&connection)?;
        let account_index = AccountIndex::default();
        account_index.extend(&mut connection);
        let store = Self::new(connection, lines, account_index, place, Some(lock));
        store.place.check()?;
        Ok(store)
    }

    /// The version of the schema of existing books.
    pub(crate) fn schema(directory: &Path) -> Result<SchemaVersion, StoreError> {
        schema(&open_read_only(directory)?)
    }

    /// Opens the books read-only, beside the process that writes them. Fails if their schema is of another version.
    pub fn reader(directory: &Path) -> Result<Self, StoreError> {
        let file = File::open(directory.join(FILE));
        let place = file.and_then(|file| Place::new(directory, &file)).map_err(|error| {
            StoreError::Unavailable(format!("cannot read {}: {error}", directory.display()))
        })?;
        let connection = open_read_only(directory)?;
        schema(&connection)?.check()?;
        connection.set_prepared_statement_cache_capacity(64);
        let lines = row::chart_lines(&connection)?;
        Ok(Self::new(connection, lines, AccountIndex::default(), place, None))
    }

    const fn new(
        connection: Connection,
        lines: ChartLines,
        account_index: AccountIndex,
        place: Place,
        lock: Option<File>,
    ) -> Self {
        let (position, unsure, gone) = (None, None, None);
        Self { connection, lines, account_index, place, position, unsure, gone, lock }
    }

    /// Sets the number of transactions in a slice of the account index: a small one lets a short test write slices.
    #[must_use]
    pub fn with_index_slice(mut self, transactions: usize) -> Self {
        self.account_index = AccountIndex::with_slice(transactions);
        self.account_index.extend(&mut self.connection);
        self
    }
}

/// The files of the books, and of the keys beside them.
const FILES: [&str; 5] = [FILE, "bursar.sqlite-wal", "bursar.sqlite-shm", LOCK, "secret-keys"];

/// Only the user that runs the process may read the books, whatever permissions they had. A directory of another user stays
/// as that user has set it.
fn make_private(directory: &Path) -> std::io::Result<()> {
    let is_fine = |error: &std::io::Error, fine: ErrorKind| error.kind() == fine;
    fs::set_permissions(directory, Permissions::from_mode(0o700)).or_else(|error| {
        if is_fine(&error, ErrorKind::PermissionDenied) { Ok(()) } else { Err(error) }
    })?;
    for file in FILES {
        fs::set_permissions(directory.join(file), Permissions::from_mode(0o600)).or_else(
            |error| if is_fine(&error, ErrorKind::NotFound) { Ok(()) } else { Err(error) },
        )?;
    }
    Ok(())
}

fn open_read_only(directory: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(directory.join(FILE), flags).map_err(|error| classify(&error))
}

fn schema(connection: &Connection) -> Result<SchemaVersion, StoreError> {
    let applied = connection.query_row(schema::APPLIED, [], |row| row.get(0));
    let applied = applied.map_err(|error| classify(&error))?;
    Ok(SchemaVersion::new(applied, embedded::migrations::runner().get_migrations()))
}

impl Store for Sqlite {
    type Turn<'s> = SqliteTurn<'s>;

    async fn begin(&mut self) -> Result<SqliteTurn<'_>, StoreError> {
        if let Some(reason) = &self.gone {
            return Err(StoreError::Gone(reason.clone()));
        }
        self.place.check()?;
        if self.position.is_none() {
            self.position = Some(identity::position(&self.connection)?);
        }
        self.account_index.extend_if_full(&mut self.connection);
        let behavior = TransactionBehavior::Immediate;
        let transaction = self
            .connection
            .transaction_with_behavior(behavior)
            .map_err(|error| classify(&error))?;
        Ok(SqliteTurn {
            transaction,
            lines: &mut self.lines,
            account_index: &mut self.account_index,
            place: &self.place,
            position: &mut self.position,
            unsure: &mut self.unsure,
            gone: &mut self.gone,
        })
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT 1 FROM commits WHERE id = ?1")
            .map_err(|error| classify(&error))?;
        statement.exists([id.uuid().as_bytes().as_slice()]).map_err(|error| classify(&error))
    }
}

impl Turn for SqliteTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        load::load(&self.transaction, self.lines, plan)
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let known = [*self.position, *self.unsure];
        let saved = save::save(&self.transaction, self.lines, (id, commit), known);
        if let Err(StoreError::Gone(reason)) = &saved {
            *self.gone = Some(reason.clone());
        }
        let (new_lines, end) = saved?;
        self.place.check()?;
        // Until the outcome of the commit is known, the chain may end before it or behind it.
        *self.unsure = end;
        self.transaction.commit().map_err(|error| match classify(&error) {
            // The log may hold the whole commit in spite of a disk error: the turn looks it up before it answers.
            StoreError::Unavailable(reason) => StoreError::Unknown(reason),
            known @ (StoreError::Conflict
            | StoreError::Unknown(_)
            | StoreError::Missing(_)
            | StoreError::Gone(_)
            | StoreError::WentBack(_)
            | StoreError::Corrupt(_)) => known,
        })?;
        (*self.position, *self.unsure) = (end, None);
        // After the commit: SQLite reuses the row ids of a transaction that was rolled back.
        self.lines.remember(new_lines);
        self.account_index.add(commit.transactions.len());
        Ok(())
    }
}

/// Write-ahead log, synced at every commit: an answered commit survives a power failure.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -262_144)?;
    connection.pragma_update(None, "wal_autocheckpoint", 16_000)?;
    // Plans do not depend on values, so SQLite does not plan again when a value is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Classifies an error of SQLite by what the caller does next.
pub fn classify(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) if is_unique_violation(error) => StoreError::Conflict,
        Some(ErrorCode::ConstraintViolation) => {
            StoreError::Corrupt(format!("a row breaks a rule of the schema: {error}"))
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt(format!("the database file is damaged: {error}"))
        }
        _ => StoreError::Unavailable(error.to_string()),
    }
}

fn is_unique_violation(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY))
}
