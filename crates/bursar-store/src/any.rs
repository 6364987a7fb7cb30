//! One type for all persistent stores, for callers that choose the store at run time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bursar_core::dispatch::{CycleFilter, CycleRow, Queue, QueueKey};
use bursar_core::feed::{AuditEntry, Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow, Review};
use bursar_core::freezes::Control;
use bursar_core::ids::{CommitId, EventId, FlowId, TransactionId};
use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::ledger::verify::{End, Head, IndexedEntries, LabelDigest};
use bursar_core::ledger::{Account, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use bursar_core::turn::{Commit, ReadPlan, ReadSet, SavedCommit, Tally};
use jiff::Timestamp;

use crate::browse::{
    AuditCursor, Browse, FlowFilter, LaneCursor, Overdue, RecordPage, ReviewCursor, ReviewFilter,
    Scan,
};
use crate::postgres::connect::is_needed_by_writers;
use crate::{
    ClockKind, Identity, Lookup, Place, Position, Postgres, PostgresTurn, Query, SchemaVersion,
    Sqlite, SqliteTurn, Store, StoreError, Turn,
};

/// The location of the books.
#[derive(Debug, Clone)]
pub enum Location {
    /// A directory with a SQLite file in it.
    Directory(PathBuf),
    /// The URL of a PostgreSQL database.
    Database(String),
}

#[derive(Debug)]
pub enum AnyStore {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

#[derive(Debug)]
pub enum AnyTurn<'s> {
    Sqlite(SqliteTurn<'s>),
    Postgres(PostgresTurn<'s>),
}

impl Location {
    pub async fn exists(&self) -> Result<bool, StoreError> {
        match self {
            Self::Directory(path) => Ok(Sqlite::exists(path)),
            Self::Database(url) => Postgres::exists(url).await,
        }
    }

    /// Opens existing books for writing, and migrates their schema.
    pub async fn open(&self) -> Result<AnyStore, StoreError> {
        if !self.exists().await? {
            return Err(StoreError::Missing(self.to_string()));
        }
        let mut store = self.open_or_make().await?;
        match store.identity().await? {
            Some(_) => Ok(store),
            None => Err(StoreError::Missing(self.to_string())),
        }
    }

    /// Makes new books. An interrupted `init` may be repeated; books that exist stay as they are.
    pub async fn init(&self, books: &Identity) -> Result<AnyStore, StoreError> {
        let mut store = self.open_or_make().await?;
        if let Some(Identity { id, .. }) = store.identity().await? {
            return Err(StoreError::Unavailable(format!(
                "there are books in {self} already, {id}: they stay as they are"
            )));
        }
        store.identify(books).await?;
        Ok(store)
    }

    async fn open_or_make(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(path) => Ok(AnyStore::Sqlite(Box::new(Sqlite::open(path)?))),
            Self::Database(url) => Ok(AnyStore::Postgres(Box::new(Postgres::open(url).await?))),
        }
    }

    /// The version of the schema of existing books.
    pub async fn schema(&self) -> Result<SchemaVersion, StoreError> {
        match self {
            Self::Directory(path) => Sqlite::schema(path),
            Self::Database(url) => Postgres::schema(url).await,
        }
    }

    /// Opens the books for a report: read-only if other processes may use them.
    pub async fn read(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(path) if !Sqlite::is_in_use(path) => self.open().await,
            Self::Directory(_) | Self::Database(_) => self.reader().await,
        }
    }

    /// Opens the books read-only, beside the process that writes them.
    pub async fn reader(&self) -> Result<AnyStore, StoreError> {
        if !self.exists().await? {
            return Err(StoreError::Missing(self.to_string()));
        }
        match self {
            Self::Directory(path) => Ok(AnyStore::Sqlite(Box::new(Sqlite::reader(path)?))),
            Self::Database(url) => Ok(AnyStore::Postgres(Box::new(Postgres::reader(url).await?))),
        }
    }

    /// The same for short reads that a caller waits for: on PostgreSQL they are bounded.
    pub async fn bounded_reader(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(_) => self.reader().await,
            Self::Database(url) => {
                Ok(AnyStore::Postgres(Box::new(Postgres::bounded_reader(url).await?)))
            }
        }
    }
}

/// For logs: contains neither user name nor password.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "SQLite in {}", path.display()),
            Self::Database(url) => f.write_str(&Postgres::describe(url)),
        }
    }
}

/// Calls the same method on every variant.
macro_rules! dispatch {
    ($any:expr, $store:ident => $call:expr) => {
        match $any {
            AnyStore::Sqlite($store) => $call.await,
            AnyStore::Postgres($store) => $call.await,
        }
    };
}

impl AnyStore {
    /// What the books are; none in a database that `init` has not finished.
    pub async fn identity(&mut self) -> Result<Option<Identity>, StoreError> {
        match self {
            Self::Sqlite(store) => store.identity(),
            Self::Postgres(store) => store.identity().await,
        }
    }

    async fn identify(&mut self, books: &Identity) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.identify(books),
            Self::Postgres(store) => store.identify(books).await,
        }
    }

    /// Marks the books with the clock of their first start.
    pub async fn set_clock(&mut self, clock: ClockKind) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.set_clock(clock),
            Self::Postgres(store) => store.set_clock(clock).await,
        }
    }

    /// The file that the books are in, if they are in one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Sqlite(store) => Some(store.place().clone()),
            Self::Postgres(_) => None,
        }
    }

    /// Whether what is read and written can be overheard on its way to another machine.
    pub fn is_overheard(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(store) => store.is_overheard(),
        }
    }

    /// Whether a reader is to give its connection up, because a writer of this process has none.
    pub fn is_needed_by_writers(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(_) => is_needed_by_writers(),
        }
    }

    /// The last commit in the books.
    pub async fn position(&mut self) -> Result<Position, StoreError> {
        match self {
            Self::Sqlite(store) => store.read_position(),
            Self::Postgres(store) => store.read_position().await,
        }
    }

    /// The last commit of this process, if its outcome is known.
    pub fn last_saved(&self) -> Option<Position> {
        match self {
            Self::Sqlite(store) => store.position,
            Self::Postgres(store) => store.seen.position,
        }
    }

    /// Why the books do not continue what a process has seen, if so.
    pub async fn misses(&mut self, seen: Position) -> Result<Option<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.misses(seen),
            Self::Postgres(store) => store.misses(seen).await,
        }
    }

    /// From now on the store notices that the books were exchanged or put back. Returns why they are not what they were,
    /// if so: then recheck mode must begin before `name_server`.
    pub async fn watch(
        &mut self,
        books: &Identity,
        has_synchronous_replicas: bool,
    ) -> Result<Option<String>, StoreError> {
        match self {
            // The file is checked at every turn.
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(store) => store.watch(books.id, has_synchronous_replicas).await,
        }
    }

    /// The books name the server that writes them. Returns whether it can be recognised.
    pub async fn name_server(&mut self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(true),
            Self::Postgres(store) => store.name_server().await,
        }
    }

    /// Writes a copy of the books as of one moment into a directory.
    pub fn back_up(&self, directory: &Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.back_up(directory),
            Self::Postgres(_) => Err(StoreError::Unavailable(
                "PostgreSQL is backed up with its own tools: a base backup and the write-ahead log (docs/operations/backup.md)".to_owned(),
            )),
        }
    }
}

impl Store for AnyStore {
    type Turn<'s> = AnyTurn<'s>;

    async fn begin(&mut self) -> Result<AnyTurn<'_>, StoreError> {
        match self {
            Self::Sqlite(store) => Ok(AnyTurn::Sqlite(store.begin().await?)),
            Self::Postgres(store) => Ok(AnyTurn::Postgres(store.begin().await?)),
        }
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        dispatch!(self, store => store.has_commit(id))
    }

    fn saved(&mut self) {
        match self {
            Self::Sqlite(store) => store.saved(),
            Self::Postgres(store) => store.saved(),
        }
    }

    fn trust_again(&mut self) {
        match self {
            Self::Sqlite(store) => store.trust_again(),
            Self::Postgres(store) => store.trust_again(),
        }
    }

    fn distrust(&mut self, reason: &str) {
        match self {
            Self::Sqlite(store) => store.distrust(reason),
            Self::Postgres(store) => store.distrust(reason),
        }
    }

    async fn back_off(&mut self, pause: Duration) {
        dispatch!(self, store => store.back_off(pause));
    }
}

impl Turn for AnyTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        match self {
            Self::Sqlite(turn) => turn.load(plan).await,
            Self::Postgres(turn) => turn.load(plan).await,
        }
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(turn) => turn.save(id, commit).await,
            Self::Postgres(turn) => turn.save(id, commit).await,
        }
    }
}

/// Implements trait methods by forwarding them to the variant.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $found:ty;)*) => {
        $(async fn $name(&mut self, $($argument: $kind),*) -> Result<$found, StoreError> {
            dispatch!(self, store => store.$name($($argument),*))
        })*
    };
}

impl Lookup for AnyStore {
    forward! {
        planned(plan: &ReadPlan) -> ReadSet;
        bookings(references: &BTreeSet<(Name, String)>) -> Vec<(Cursor, Transaction)>;
        repeated_references(limit: u32) -> Vec<(Name, String)>;
        last_events(resources: &[String]) -> Vec<(u64, FeedEvent)>;
        hold_rows(after: Option<&HoldKey>, limit: u32) -> Vec<(HoldKey, Hold)>;
        due_rows(after: Option<&(Due, FlowId)>, limit: u32) -> Vec<(Due, FlowId)>;
        missing_due(rows: &[(Due, FlowId)]) -> Vec<(Due, FlowId)>;
        missing_flows(ids: &[FlowId]) -> Vec<FlowId>;
        flows_by_id(ids: &[FlowId]) -> Vec<Option<Flow>>;
    }
}

impl Query for AnyStore {
    forward! {
        accounts() -> Vec<(Name, Account)>;
        flow(id: FlowId) -> Option<Flow>;
        flows(after: Option<FlowId>, limit: u32) -> Vec<Flow>;
        all_reviews() -> Vec<Review>;
        tallies(prefix: &str) -> BTreeMap<String, Tally>;
        queues() -> Vec<(QueueKey, Queue)>;
        cycles(filter: &CycleFilter, limit: u32) -> Vec<CycleRow>;
        closings() -> Vec<Closing>;
        closed_accounts(seq: u64) -> Vec<ClosedAccount>;
        closed_rows(commits: (u64, u64)) -> Vec<(u64, ClosedAccount)>;
        labels() -> LabelDigest;
        events(after: Cursor, limit: u32) -> Vec<(Cursor, FeedEvent)>;
        control() -> Control;
        history(after: u64, limit: u32) -> Vec<SavedCommit>;
        transactions_of(addresses: &[Name], after: Cursor, limit: u32) -> Vec<(Cursor, Transaction)>;
        head() -> Head;
        transaction(id: TransactionId) -> Option<Transaction>;
        end() -> End;
        indexed_entries() -> IndexedEntries;
        read_at_one_moment() -> ();
    }
}

impl Scan for AnyStore {
    forward! {
        flow_keys(filter: &FlowFilter, range: (FlowId, FlowId), limit: usize) -> Vec<(FlowId, String)>;
        lane_keys(lane: &str, before: LaneCursor, limit: usize) -> Vec<LaneCursor>;
        review_rows(filter: &ReviewFilter, after: ReviewCursor, limit: usize) -> Vec<Review>;
    }
}

impl Browse for AnyStore {
    forward! {
        accounts_at(addresses: &[Name]) -> Vec<(Name, Account)>;
        flows_known_as(text: &str, below: FlowId, limit: u32) -> Vec<FlowId>;
        deliveries_of(event: EventId) -> Vec<Flow>;
        events_of(resource: &str, after: u64, limit: u32) -> Vec<FeedEvent>;
        audit_back(before: Option<AuditCursor>, limit: u32) -> Vec<(AuditCursor, AuditEntry)>;
        record(key: &RecordKey) -> Option<Record>;
        records(kind: Kind, merchant: Option<&str>, before: Option<&str>, limit: u32) -> RecordPage;
        overdue_outbox(now: Timestamp) -> Vec<Overdue>;
    }
}

#[cfg(test)]
mod tests {
    use super::Location;

    #[test]
    fn a_location_is_shown_without_credentials() {
        let shown = |url: &str| Location::Database(url.to_owned()).to_string();
        let expected = "PostgreSQL at db.example, database books";
        assert!(!shown("postgres://teller:s3cr?t@db.example/books").contains("s3cr"));
        assert_eq!(shown("postgres://teller:s3cret%40x@db.example:6432/books"), expected);
        assert_eq!(shown("host=db.example user=teller password=s3cret dbname=books"), expected);
        let directory = Location::Directory("books".into());
        assert_eq!(directory.to_string(), "SQLite in books");
    }
}
