//! Where Bursar keeps its books.
//!
//! A store loads what a plan asks for, saves a commit in one transaction, and reads the history back. It decides
//! nothing: the core has decided. The memory store is the oracle that the others are held to.

mod chart_lines;
mod error;
mod memory;
mod postgres;
mod sqlite;
mod turn;

use std::future::Future;

use bursar_core::commit::{Commit, SavedCommit};
use bursar_core::ids::CommitId;
use bursar_core::ledger::{Account, Hold, HoldKey};
use bursar_core::numscript::Name;
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_core::verify::End;

pub use error::StoreError;
pub use memory::{Memory, MemoryTurn};
pub use postgres::{Postgres, PostgresTurn};
pub use sqlite::{Sqlite, SqliteTurn};
pub use turn::turn;

pub trait Store {
    type Turn<'s>: Turn
    where
        Self: 's;

    /// One transaction that spans load and save.
    fn begin(&mut self) -> impl Future<Output = Result<Self::Turn<'_>, StoreError>>;

    /// Whether a commit of unknown outcome was saved.
    fn has_commit(&mut self, id: CommitId) -> impl Future<Output = Result<bool, StoreError>>;
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

    /// Commits behind `after`, in order; at most `limit` of them.
    fn history(
        &mut self,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<SavedCommit>, StoreError>>;

    /// The end of the chain, and how many rows there are in all.
    fn end(&mut self) -> impl Future<Output = Result<End, StoreError>>;

    /// From here on, all reads see the books as they are now. Without it, a report could mix two moments.
    fn read_at_one_moment(&mut self) -> impl Future<Output = Result<(), StoreError>>;
}
