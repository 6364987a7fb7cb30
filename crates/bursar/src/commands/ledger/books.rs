//! An open store with its rulebook, and the clock and chance that requests are admitted with.

use std::path::Path;

use bursar_core::commit::SavedCommit;
use bursar_core::ids::Seed;
use bursar_core::ledger::{Account, Admission, Event, Posted, Transaction};
use bursar_core::numscript::Name;
use bursar_core::rejection::Rejection;
use bursar_core::request::{Answer, Batch, Body, Reply, Request};
use bursar_core::rules::Rules;
use bursar_core::verify::Report;
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::node::fresh_seed;
use bursar_node::rulebook::load_rulebook;
use bursar_store::{AnyStore, Location, Query as _, StoreError, Walk as _, turn};
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};

use super::Place;

pub(super) struct Books {
    pub(super) rules: Rules,
    store: AnyStore,
    runtime: Runtime,
    seed: Seed,
    admitted: u64,
}

impl Books {
    /// Opens books that are there; reading must not make new ones.
    pub(super) fn existing(place: &Place, config: Option<&Path>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let location = place.location()?;
        let exists = runtime.block_on(location.exists())?;
        if !exists {
            let place = match &location {
                Location::Directory(path) => format!("{}", path.display()),
                Location::Database(_) => "this database".to_owned(),
            };
            let what = if matches!(location, Location::Database(_)) { "URL" } else { "directory" };
            return Err(Failure::new(format!(
                "there are no books in {place}: nothing was read. Check the {what}, or make them with `bursar migrate`"
            )));
        }
        let mut books = Self::with(config, runtime, async || location.read().await)?;
        books.runtime.block_on(books.store.read_at_one_moment())?;
        Ok(books)
    }

    /// Opens the books, and makes them if they are not there.
    pub(super) fn open(place: &Place, config: Option<&Path>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let location = place.location()?;
        Self::with(config, runtime, async || location.open().await)
    }

    fn with(
        config: Option<&Path>,
        runtime: Runtime,
        open: impl AsyncFnOnce() -> Result<AnyStore, StoreError>,
    ) -> Result<Self, Failure> {
        let config = Config::load(config)?;
        let rulebook = load_rulebook(config.chart_path().as_deref())?;
        let store = runtime.block_on(open())?;
        Ok(Self { rules: Rules::from(rulebook), store, runtime, seed: fresh_seed()?, admitted: 0 })
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
        let commit = self.runtime.block_on(turn(&mut self.store, &batch));
        let commit = commit?;
        commit.answers.into_iter().map(posted).collect()
    }

    pub(super) fn accounts(&mut self) -> Result<Vec<(Name, Account)>, Failure> {
        self.runtime.block_on(self.store.accounts()).map_err(Failure::from)
    }

    pub(super) fn verify(&mut self) -> Result<Report, Failure> {
        let verified = self.store.verify(&self.rules.rulebook);
        self.runtime.block_on(verified).map_err(Failure::from)
    }

    /// Every commit in order.
    pub(super) fn each_commit(
        &mut self,
        visit: impl FnMut(&SavedCommit) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.runtime.block_on(self.store.each_commit(visit))
    }

    /// Every transaction that touches any of these accounts, in the order they were saved.
    pub(super) fn each_transaction_of(
        &mut self,
        addresses: &[Name],
        visit: impl FnMut(&Transaction) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.runtime.block_on(self.store.each_transaction_of(addresses, visit))
    }

    fn admit(&mut self) -> Admission {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Admission::new(Timestamp::now(), seed)
    }
}

/// An event is answered with what became of its posting.
fn posted(answer: Answer) -> Result<Result<Posted, Rejection>, Failure> {
    match answer {
        Ok(Reply::Posted(posted)) => Ok(Ok(posted)),
        Ok(
            reply @ (Reply::Flow { .. }
            | Reply::Woken(_)
            | Reply::Delivering(_)
            | Reply::Driven(_)
            | Reply::Carried(_)
            | Reply::Replayed(_)
            | Reply::Noted { .. }
            | Reply::Registered { .. }),
        ) => Err(Failure::new(format!(
            "an event was answered with {reply:?}. Look at the books before you post it again"
        ))),
        Err(rejection) => Ok(Err(rejection)),
    }
}
