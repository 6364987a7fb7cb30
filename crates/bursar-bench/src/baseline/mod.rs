//! Baselines for benchmarks: write decided commits without deciding.
//!
//! *Raw* is the limit that a store is measured against: rows that were decided elsewhere, by the fastest bulk path. *Naive* is the obvious first implementation: a transaction per event, a statement per row, a
//! balance update per posting. Neither checks anything, so they make books of their own and refuse books that are there.
//! Both follow a fixed recipe, so that figures of different versions can be compared: a row for each posting, indexed by
//! account in place, whatever the engine does to keep and to find them; and for raw a timer for each flow.

mod memory;
mod postgres;
mod sqlite;

use std::future::Future;

use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::Account;
use bursar_core::ledger::journal::{Posting, WORLD};
use bursar_core::numscript::Name;
use bursar_core::payouts;
use bursar_core::turn::{FlowWrite, HoldWrite, SavedCommit};
use bursar_store::{Query, Store, StoreError};
use uuid::Uuid;

pub(crate) use memory::MemoryBaseline;
pub(crate) use postgres::PostgresBaseline;
pub(crate) use sqlite::SqliteBaseline;

/// The rows of a commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'r> {
    pub(crate) id: CommitId,
    pub(crate) commit: &'r SavedCommit,
    /// The digests of its sections, as they are stored.
    pub(crate) digests: &'r [u8; 96],
    /// Each changed account with its new balance.
    pub(crate) accounts: &'r [(Name, Account)],
    pub(crate) holds: &'r [HoldWrite],
    pub(crate) flows: &'r [FlowWrite],
    /// The serialised states of these flows: serialisation is not part of the measurement.
    pub(crate) states: &'r [String],
    pub(crate) keys: &'r [KnownKey],
}

/// Empty books for a benchmark.
pub(crate) trait Baseline {
    type Books: Store + Query;

    /// The books as the engine uses them; the verification reads them at the end.
    fn books(&mut self) -> &mut Self::Books;

    /// Creates the tables and indexes of raw and naive where they differ from the engine's.
    fn follow_recipe(&mut self) -> impl Future<Output = Result<(), StoreError>>;

    /// Converts the tables back to the engine's schema, without the timers of raw.
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

    /// Total bytes written so far; only differences are meaningful. None for memory.
    fn written_bytes(&mut self) -> impl Future<Output = Result<Option<u64>, StoreError>>;

    /// Bytes of tables and indexes. None for memory.
    fn stored_bytes(&mut self) -> impl Future<Output = Result<Option<u64>, StoreError>>;
}

/// The recipe gives raw a timer for each finished flow: the engine had to write and delete it.
fn timers(flows: &[FlowWrite]) -> impl Iterator<Item = (&'static str, i64, Uuid)> {
    let flows = flows.iter().map(|change| &change.after);
    flows.map(|flow| (payouts::LANE, flow.created_at.as_microsecond(), flow.id.uuid()))
}

/// Deletes the timers before the verification.
const NO_TIMERS: &str = "DELETE FROM due";

/// The balance changes of a posting. The account `world` has no balance.
fn ends(posting: &Posting) -> impl Iterator<Item = (&Name, i64)> {
    let minor = posting.money.minor();
    [(&posting.source, minor.saturating_neg()), (&posting.destination, minor)]
        .into_iter()
        .filter(|(address, _)| &***address != WORLD)
}
