//! Baselines for benchmarks: what was decided, written without a decision.
//!
//! *Raw* is the limit that a store is measured against: rows that were decided elsewhere, by the fastest bulk path. *Naive* is what one writes first: a transaction per event, a statement per row, a
//! balance update per posting. Neither checks anything, so they make books of their own and refuse books that are there.
//! Both follow a fixed recipe, so that figures of different versions can be compared: a row for each posting, indexed by
//! account in place, whatever the engine does to keep and to find them; and for raw a timer for each flow.

mod memory;
mod postgres;
mod sqlite;

use std::future::Future;

use bursar_core::commit::{FlowWrite, HoldWrite, SavedCommit};
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::journal::{Posting, WORLD};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::payout;
use bursar_store::{Query, Store, StoreError};
use uuid::Uuid;

pub(crate) use memory::MemoryBaseline;
pub(crate) use postgres::PostgresBaseline;
pub(crate) use sqlite::SqliteBaseline;

/// What a turn has saved, as rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'r> {
    pub(crate) id: CommitId,
    pub(crate) commit: &'r SavedCommit,
    /// Each account that was changed, as it is now.
    pub(crate) accounts: &'r [(Name, Account)],
    pub(crate) holds: &'r [HoldWrite],
    pub(crate) flows: &'r [FlowWrite],
    /// The states of these flows as text, one for each: making text is no part of writing it.
    pub(crate) states: &'r [String],
    pub(crate) keys: &'r [KnownKey],
}

/// Empty books for a benchmark.
pub(crate) trait Baseline {
    type Books: Store + Query;

    /// The books as the engine uses them, and as they are read when the run is over.
    fn books(&mut self) -> &mut Self::Books;

    /// Tables and indexes that raw and naive have, if the engine has something else instead.
    fn follow_recipe(&mut self) -> impl Future<Output = Result<(), StoreError>>;

    /// Back to tables that the engine can read, with all rows but raw's timers. Nothing, if they are such tables.
    fn leave_recipe(&mut self) -> impl Future<Output = Result<(), StoreError>>;

    /// Raw: the transactions, postings and events of a commit, the accounts as it leaves them, holds, flows and keys that
    /// are new, on disk also a timer for each flow, the commit and the head, in one transaction.
    fn write(&mut self, rows: &Rows<'_>) -> impl Future<Output = Result<(), StoreError>>;

    /// The accounts that naive events change.
    fn open_accounts(
        &mut self,
        accounts: &[(Name, Account)],
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Naive: one event with a commit of its own. Holds and flows that were there are changed.
    fn write_naively(&mut self, rows: &Rows<'_>) -> impl Future<Output = Result<(), StoreError>>;

    /// Bytes that were written so far by everybody: only differences mean something. None if nothing is written.
    fn written_bytes(&mut self) -> impl Future<Output = Result<Option<u64>, StoreError>>;

    /// Bytes that the tables and indexes take. None if nothing is stored.
    fn stored_bytes(&mut self) -> impl Future<Output = Result<Option<u64>, StoreError>>;
}

/// The recipe gives raw a timer for each flow, although the flow is over: the engine had to write it, and to delete it.
fn timers(flows: &[FlowWrite]) -> impl Iterator<Item = (&'static str, i64, Uuid)> {
    let flows = flows.iter().map(|change| &change.after);
    flows.map(|flow| (payout::LANE, flow.created_at.as_microsecond(), flow.id.uuid()))
}

/// They go before the books are verified.
const NO_TIMERS: &str = "DELETE FROM due";

/// The accounts that a posting changes, and by how much. The world has no balance.
fn ends(posting: &Posting) -> impl Iterator<Item = (&Name, i64)> {
    let minor = posting.money.minor();
    [(&posting.source, minor.saturating_neg()), (&posting.destination, minor)]
        .into_iter()
        .filter(|(address, _)| &***address != WORLD)
}
