//! Where Bursar keeps its books.
//!
//! A store loads what a plan asks for, saves a commit in one transaction, and reads the history back. It decides
//! nothing: the core has decided. The memory store is the oracle that the others are held to.

mod any;
mod browse;
pub mod bulk;
mod chart_lines;
mod error;
mod memory;
mod postgres;
mod postings;
mod sqlite;
mod turn;
mod walk;

use std::future::Future;
use std::time::Duration;

use bursar_core::commit::{Commit, SavedCommit};
use bursar_core::control::Control;
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::{CommitId, FlowId};
use bursar_core::ledger::{Account, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_core::verify::{End, Filed};

pub use any::{AnyStore, AnyTurn, Location};
pub use browse::{
    AuditPlace, Browse, FlowFilter, FlowPage, LanePage, LanePlace, Live, Overdue, RecordPage,
};
pub use error::StoreError;
pub use memory::{Memory, MemoryTurn};
pub use postgres::{Postgres, PostgresTurn};
pub use sqlite::{Sqlite, SqliteTurn};
pub use turn::turn;
pub use walk::Walk;

pub trait Store {
    type Turn<'s>: Turn
    where
        Self: 's;

    /// One transaction that spans load and save.
    fn begin(&mut self) -> impl Future<Output = Result<Self::Turn<'_>, StoreError>>;

    /// Whether a commit of unknown outcome was saved.
    fn has_commit(&mut self, id: CommitId) -> impl Future<Output = Result<bool, StoreError>>;

    /// Lets others go first, where there are others.
    fn stand_back(&mut self, _pause: Duration) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// A transaction under way. Dropped without `save`, it has not happened.
pub trait Turn {
    fn load(&mut self, plan: &ReadPlan) -> impl Future<Output = Result<ReadSet, StoreError>>;

    /// Saves everything or nothing.
    fn save(self, id: CommitId, commit: &Commit) -> impl Future<Output = Result<(), StoreError>>;
}

/// Reading the books, beside the turns.
pub trait Query {
    fn accounts(&mut self) -> impl Future<Output = Result<Vec<(Name, Account)>, StoreError>>;

    fn holds(&mut self) -> impl Future<Output = Result<Vec<(HoldKey, Hold)>, StoreError>>;

    fn flow(&mut self, id: FlowId) -> impl Future<Output = Result<Option<Flow>, StoreError>>;

    /// Flows behind an id, in order; at most `limit` of them.
    fn flows(
        &mut self,
        after: Option<FlowId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Flow>, StoreError>>;

    /// Everything that is waited for, by lane and time.
    fn due(&mut self) -> impl Future<Output = Result<Vec<(Due, FlowId)>, StoreError>>;

    /// The events behind a place in the feed, each with the place behind it. Commits have one order, so whoever goes
    /// on from the last place misses nothing.
    fn events(
        &mut self,
        after: Cursor,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Cursor, FeedEvent)>, StoreError>>;

    /// The switches that people throw.
    fn control(&mut self) -> impl Future<Output = Result<Control, StoreError>>;

    /// Commits behind `after`, in order; at most `limit` of them.
    fn history(
        &mut self,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<SavedCommit>, StoreError>>;

    /// The transactions that touch any of these accounts, behind a place, each with the place behind it.
    fn transactions_of(
        &mut self,
        addresses: &[Name],
        after: Cursor,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Cursor, Transaction)>, StoreError>>;

    /// The end of the chain, and how many rows there are in all.
    fn end(&mut self) -> impl Future<Output = Result<End, StoreError>>;

    /// What is filed under accounts beside the transactions themselves, if statements are read by it.
    fn filed(&mut self) -> impl Future<Output = Result<Filed, StoreError>>;

    /// From here on, all reads see the books as they are now. Without it, a report could mix two moments.
    fn read_at_one_moment(&mut self) -> impl Future<Output = Result<(), StoreError>>;
}
