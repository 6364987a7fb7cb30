//! An open store with its rulebook, and the clock and chance that requests are admitted with.

use std::path::Path;

use bursar_core::commit::SavedCommit;
use bursar_core::feed::Cursor;
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::{FlowId, Seed};
use bursar_core::ledger::{Account, Admission, Event, Hold, HoldKey, Posted, Transaction};
use bursar_core::numscript::Name;
use bursar_core::rejection::Rejection;
use bursar_core::request::{Answer, Batch, Body, Reply, Request};
use bursar_core::rules::Rules;
use bursar_core::verify::End;
use bursar_store::{Postgres, Query as _, Sqlite, StoreError, turn};
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};

use super::Place;
use crate::commands::check::load_rulebook;
use crate::config::Config;
use crate::failure::Failure;

/// Transactions that are read at once, if the commits are like those before them.
const PAGE: u64 = 5_000;
/// Commits that are read at once at most: bounds the memory of reports when they are not.
const COMMITS: u64 = 64;
/// Flows, or transactions of one merchant, that are read at once.
const ROWS: u32 = 5_000;

pub(super) struct Books {
    pub(super) rules: Rules,
    store: AnyStore,
    runtime: Runtime,
    seed: Seed,
    admitted: u64,
}

/// Whichever store was named.
enum AnyStore {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

/// Runs the same call on whichever store it is.
macro_rules! on_store {
    ($books:ident, $store:ident => $call:expr) => {
        match &mut $books.store {
            AnyStore::Sqlite($store) => $books.runtime.block_on($call),
            AnyStore::Postgres($store) => $books.runtime.block_on($call),
        }
    };
}

impl Books {
    /// Opens books that are there; reading must not make new ones.
    pub(super) fn existing(place: &Place, config: Option<&Path>) -> Result<Self, Failure> {
        if let Some(data) = place.data.as_deref().filter(|data| !Sqlite::exists(data)) {
            return Err(Failure::new(format!(
                "there are no books in {}: nothing was read. Check the directory, or make them with `bursar migrate`",
                data.display()
            )));
        }
        if let Some(url) = &place.database_url {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let exists = runtime.block_on(Postgres::exists(url)).map_err(|error| failed(&error))?;
            if !exists {
                return Err(Failure::new(
                    "there are no books in this database: nothing was read. Check the URL, or make them with `bursar migrate`",
                ));
            }
        }
        let mut books = Self::open(place, config)?;
        let frozen = on_store!(books, store => store.read_at_one_moment());
        frozen.map_err(|error| failed(&error))?;
        Ok(books)
    }

    /// Opens the books, and makes them if they are not there.
    pub(super) fn open(place: &Place, config: Option<&Path>) -> Result<Self, Failure> {
        let config = Config::load(config)?;
        let rulebook = load_rulebook(config.chart_path().as_deref())?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let store = match (&place.data, &place.database_url) {
            (Some(data), _) => Sqlite::open(data).map(|store| AnyStore::Sqlite(Box::new(store))),
            (None, Some(url)) => runtime
                .block_on(Postgres::open(url))
                .map(|store| AnyStore::Postgres(Box::new(store))),
            (None, None) => {
                return Err(Failure::new("say where the books are: --data or --database-url"));
            }
        };
        let store = store.map_err(|error| failed(&error))?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::new(format!("this machine gives no randomness: {error}")))?;
        Ok(Self {
            rules: Rules::from(rulebook),
            store,
            runtime,
            seed: Seed::new(bytes),
            admitted: 0,
        })
    }

    /// Decides and saves events together. When it returns, the answers hold.
    pub(super) fn post(
        &mut self,
        events: Vec<Event>,
    ) -> Result<Vec<Result<Posted, Rejection>>, Failure> {
        let requests: Vec<Request> = events
            .into_iter()
            .map(|event| Request { admission: self.admit(), body: Body::Post(event) })
            .collect();
        let batch = Batch::new(&self.rules, &requests);
        let commit = on_store!(self, store => turn(&mut **store, &batch));
        let commit = commit.map_err(|error| failed(&error))?;
        commit.answers.into_iter().map(posted).collect()
    }

    pub(super) fn accounts(&mut self) -> Result<Vec<(Name, Account)>, Failure> {
        let found = on_store!(self, store => store.accounts());
        found.map_err(|error| failed(&error))
    }

    pub(super) fn holds(&mut self) -> Result<Vec<(HoldKey, Hold)>, Failure> {
        let found = on_store!(self, store => store.holds());
        found.map_err(|error| failed(&error))
    }

    pub(super) fn due(&mut self) -> Result<Vec<(Due, FlowId)>, Failure> {
        let found = on_store!(self, store => store.due());
        found.map_err(|error| failed(&error))
    }

    /// Every flow in order, a page at a time.
    pub(super) fn each_flow(&mut self, mut visit: impl FnMut(&Flow)) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let page = on_store!(self, store => store.flows(after, ROWS));
            let page = page.map_err(|error| failed(&error))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            page.iter().for_each(&mut visit);
        }
    }

    pub(super) fn end(&mut self) -> Result<End, Failure> {
        let found = on_store!(self, store => store.end());
        found.map_err(|error| failed(&error))
    }

    /// Every commit in order, a page at a time.
    pub(super) fn each_commit(
        &mut self,
        mut visit: impl FnMut(&SavedCommit) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut after = 0;
        let mut commits = 1;
        loop {
            let page = on_store!(self, store => store.history(after, commits));
            let page = page.map_err(|error| failed(&error))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            commits = next_page(&page);
            page.iter().try_for_each(&mut visit)?;
        }
    }

    /// Every transaction that touches any of these accounts, in the order they were saved.
    pub(super) fn each_transaction_of(
        &mut self,
        addresses: &[Name],
        mut visit: impl FnMut(&Transaction) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut after = Cursor::default();
        loop {
            let page = on_store!(self, store => store.transactions_of(addresses, after, ROWS));
            let page = page.map_err(|error| failed(&error))?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            page.iter().try_for_each(|(_, transaction)| visit(transaction))?;
        }
    }

    fn admit(&mut self) -> Admission {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Admission::new(Timestamp::now(), seed)
    }
}

/// How many commits the next page may have, if they are like these.
fn next_page(page: &[SavedCommit]) -> u32 {
    let transactions: usize = page.iter().map(|commit| commit.transactions.len()).sum();
    let (transactions, commits) =
        (u64::try_from(transactions).unwrap_or(u64::MAX), u64::try_from(page.len()).unwrap_or(1));
    let next = PAGE.saturating_mul(commits).checked_div(transactions).unwrap_or(PAGE);
    u32::try_from(next.clamp(1, COMMITS)).unwrap_or(1)
}

/// An event is answered with what became of its posting.
fn posted(answer: Answer) -> Result<Result<Posted, Rejection>, Failure> {
    match answer {
        Ok(Reply::Posted(posted)) => Ok(Ok(posted)),
        Ok(
            reply @ (Reply::Flow { .. }
            | Reply::Woken(_)
            | Reply::Noted { .. }
            | Reply::Registered { .. }),
        ) => Err(Failure::new(format!(
            "an event was answered with {reply:?}. Look at the books before you post it again"
        ))),
        Err(rejection) => Ok(Err(rejection)),
    }
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(error.to_string())
}
