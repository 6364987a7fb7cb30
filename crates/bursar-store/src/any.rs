//! Whichever store was named: one type for whoever does not care which.

use std::path::PathBuf;
use std::time::Duration;

use bursar_core::commit::{Commit, SavedCommit};
use bursar_core::control::Control;
use bursar_core::feed::{AuditEntry, Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::{Account, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_core::registry::{Kind, Record, RecordKey};
use bursar_core::verify::{End, Filed};
use jiff::Timestamp;

use crate::browse::{
    AuditPlace, Browse, FlowFilter, FlowPage, LanePage, LanePlace, Live, Overdue, RecordPage,
};
use crate::{Postgres, PostgresTurn, Query, Sqlite, SqliteTurn, Store, StoreError, Turn};

/// Where the books are.
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

    /// For the one who writes. Makes the books if they are not there.
    pub async fn open(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(path) => Ok(AnyStore::Sqlite(Box::new(Sqlite::open(path)?))),
            Self::Database(url) => Ok(AnyStore::Postgres(Box::new(Postgres::open(url).await?))),
        }
    }

    /// For reports: beside the process that writes, if there is one.
    pub async fn read(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(path) if Sqlite::is_in_use(path) => self.reader().await,
            Self::Directory(_) | Self::Database(_) => self.open().await,
        }
    }

    /// For those who only read, beside the one who writes.
    pub async fn reader(&self) -> Result<AnyStore, StoreError> {
        match self {
            Self::Directory(path) => Ok(AnyStore::Sqlite(Box::new(Sqlite::reader(path)?))),
            Self::Database(url) => Ok(AnyStore::Postgres(Box::new(Postgres::reader(url).await?))),
        }
    }
}

/// The same call on whichever store it is.
macro_rules! on {
    ($any:expr, $store:ident => $call:expr) => {
        match $any {
            AnyStore::Sqlite($store) => $call.await,
            AnyStore::Postgres($store) => $call.await,
        }
    };
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
        on!(self, store => store.has_commit(id))
    }

    async fn stand_back(&mut self, pause: Duration) {
        on!(self, store => store.stand_back(pause));
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

/// Each method of a trait, handed on to the store.
macro_rules! hand_on {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $found:ty;)*) => {
        $(async fn $name(&mut self, $($argument: $kind),*) -> Result<$found, StoreError> {
            on!(self, store => store.$name($($argument),*))
        })*
    };
}

impl Query for AnyStore {
    hand_on! {
        accounts() -> Vec<(Name, Account)>;
        holds() -> Vec<(HoldKey, Hold)>;
        flow(id: FlowId) -> Option<Flow>;
        flows(after: Option<FlowId>, limit: u32) -> Vec<Flow>;
        due() -> Vec<(Due, FlowId)>;
        events(after: Cursor, limit: u32) -> Vec<(Cursor, FeedEvent)>;
        control() -> Control;
        history(after: u64, limit: u32) -> Vec<SavedCommit>;
        transactions_of(addresses: &[Name], after: Cursor, limit: u32) -> Vec<(Cursor, Transaction)>;
        end() -> End;
        filed() -> Filed;
        read_at_one_moment() -> ();
    }
}

impl Browse for AnyStore {
    hand_on! {
        accounts_at(addresses: &[Name]) -> Vec<(Name, Account)>;
        flows_back(filter: &FlowFilter, before: Option<FlowId>, limit: u32) -> FlowPage;
        lane_back(lane: &str, filter: &FlowFilter, before: Option<LanePlace>, limit: u32) -> LanePage;
        deliveries_of(event: EventId) -> Vec<Flow>;
        events_of(resource: &str, after: u64, limit: u32) -> Vec<FeedEvent>;
        audit_back(before: Option<AuditPlace>, limit: u32) -> Vec<(AuditPlace, AuditEntry)>;
        record(key: &RecordKey) -> Option<Record>;
        records(kind: Kind, merchant: Option<&str>, before: Option<&str>, limit: u32) -> RecordPage;
        live_channels() -> Vec<String>;
        live() -> Vec<Live>;
        overdue_errands(now: Timestamp) -> Vec<Overdue>;
    }
}
