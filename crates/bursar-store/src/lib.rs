//! Persistence of the books.
//!
//! A store loads the records of a read plan, saves a commit in one transaction, and reads the history. The core makes
//! all decisions; a store makes none. The memory store is the oracle for the other stores.

mod any;
mod browse;
pub mod bulk;
mod chain_row;
mod chart_lines;
mod error;
mod identity;
mod lookup;
mod memory;
mod postgres;
mod postings;
mod review_row;
mod schema;
mod sqlite;
mod turn;
mod verify;
mod walk;

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use bursar_core::dispatch::{CycleFilter, CycleRow, Queue, QueueKey};
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Flow, Review};
use bursar_core::freezes::Control;
use bursar_core::ids::{CommitId, FlowId, TransactionId};
use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::ledger::verify::{End, Head, IndexedEntries, LabelDigest};
use bursar_core::ledger::{Account, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{Commit, ReadPlan, ReadSet, SavedCommit, Tally};

pub use any::{AnyStore, AnyTurn, Location};
pub use browse::{
    AuditCursor, Browse, FlowFilter, FlowPage, LaneCursor, LanePage, Live, Overdue, RecordPage,
    ReviewCursor, ReviewFilter, ReviewPage, Scan, WaitingReviews, waiting,
};
pub use error::StoreError;
pub use identity::{ClockKind, Identity, Position};
pub use lookup::Lookup;
pub use memory::{Memory, MemoryTurn};
pub use postgres::{Postgres, PostgresTurn};
pub use schema::SchemaVersion;
pub use sqlite::{Place, Sqlite, SqliteTurn};
pub use turn::turn;
pub use walk::{Walk, page_size};

pub trait Store {
    type Turn<'s>: Turn
    where
        Self: 's;

    /// One transaction that spans load and save.
    fn begin(&mut self) -> impl Future<Output = Result<Self::Turn<'_>, StoreError>>;

    /// Whether a commit of unknown outcome was saved.
    fn has_commit(&mut self, id: CommitId) -> impl Future<Output = Result<bool, StoreError>>;

    /// Called behind every commit, before its answers are sent.
    fn saved(&mut self) {}

    /// After `WentBack`: the next turn begins the recheck, and may pass.
    fn trust_again(&mut self) {}

    /// The turn that should begin the recheck was not saved.
    fn distrust(&mut self, _reason: &str) {}

    /// Waits before a retry, in a store that has concurrent writers.
    fn back_off(&mut self, _pause: Duration) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// An open transaction. Dropping it without `save` rolls it back.
pub trait Turn {
    fn load(&mut self, plan: &ReadPlan) -> impl Future<Output = Result<ReadSet, StoreError>>;

    /// Saves everything or nothing.
    fn save(self, id: CommitId, commit: &Commit) -> impl Future<Output = Result<(), StoreError>>;
}

/// Reads of the books outside turns.
pub trait Query: Lookup {
    fn accounts(&mut self) -> impl Future<Output = Result<Vec<(Name, Account)>, StoreError>>;

    fn flow(&mut self, id: FlowId) -> impl Future<Output = Result<Option<Flow>, StoreError>>;

    /// At most `limit` flows after an id, in the order of their ids.
    fn flows(
        &mut self,
        after: Option<FlowId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Flow>, StoreError>>;

    /// All rows of the list of reviews, in the order of their flows.
    fn all_reviews(&mut self) -> impl Future<Output = Result<Vec<Review>, StoreError>>;

    /// The tallies whose names begin with a prefix.
    fn tallies(
        &mut self,
        prefix: &str,
    ) -> impl Future<Output = Result<BTreeMap<String, Tally>, StoreError>>;

    /// All queues of flows that wait to be sent, in the order of their keys.
    fn queues(&mut self) -> impl Future<Output = Result<Vec<(QueueKey, Queue)>, StoreError>>;

    /// Cycles of dispatch that are over, latest first.
    fn cycles(
        &mut self,
        filter: &CycleFilter,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<CycleRow>, StoreError>>;

    /// All closings, in order.
    fn closings(&mut self) -> impl Future<Output = Result<Vec<Closing>, StoreError>>;

    /// All accounts as of a closing, in the order of their addresses and currencies.
    fn closed_accounts(
        &mut self,
        seq: u64,
    ) -> impl Future<Output = Result<Vec<ClosedAccount>, StoreError>>;

    /// The rows of closings as of these commits, first and last, each with its commit.
    fn closed_rows(
        &mut self,
        commits: (u64, u64),
    ) -> impl Future<Output = Result<Vec<(u64, ClosedAccount)>, StoreError>>;

    /// All labels of flows.
    fn labels(&mut self) -> impl Future<Output = Result<LabelDigest, StoreError>>;

    /// The events after a cursor, each with its own cursor. Commits have a total order, so a reader that continues
    /// from the last cursor misses no event.
    fn events(
        &mut self,
        after: Cursor,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Cursor, FeedEvent)>, StoreError>>;

    /// The freezes in force, and their version.
    fn control(&mut self) -> impl Future<Output = Result<Control, StoreError>>;

    /// At most `limit` commits after `after`, in order.
    fn history(
        &mut self,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<SavedCommit>, StoreError>>;

    /// The transactions after a cursor that touch any of these accounts, each with its own cursor.
    fn transactions_of(
        &mut self,
        addresses: &[Name],
        after: Cursor,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Cursor, Transaction)>, StoreError>>;

    /// The last commit: its number, hash and time.
    fn head(&mut self) -> impl Future<Output = Result<Head, StoreError>>;

    /// A transaction by its id.
    fn transaction(
        &mut self,
        id: TransactionId,
    ) -> impl Future<Output = Result<Option<Transaction>, StoreError>>;

    /// The head of the hash chain, and the row counts of the append-only tables.
    fn end(&mut self) -> impl Future<Output = Result<End, StoreError>>;

    /// The account index, if this store reads statements by one.
    fn indexed_entries(&mut self) -> impl Future<Output = Result<IndexedEntries, StoreError>>;

    /// Pins all later reads to one snapshot. Without it, a report could mix two states of the books.
    fn read_at_one_moment(&mut self) -> impl Future<Output = Result<(), StoreError>>;
}
