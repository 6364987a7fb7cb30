//! An open store with its rulebook, and the clock and seed for admitting requests.

use std::path::Path;

use bursar_core::ids::Seed;
use bursar_core::ledger::closing::Closing;
use bursar_core::ledger::verify::Report;
use bursar_core::ledger::views::{AsOf, BalanceFold, TrialBalance};
use bursar_core::ledger::{Account, Admission, LedgerEvent, Post, Posted, Transaction};
use bursar_core::numscript::Name;
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Ask as _, Request, SavedCommit, TurnInput};
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::node::fresh_seed;
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use bursar_store::{AnyStore, Query as _, SchemaVersion, StoreError, Walk as _, turn};
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};

use super::StoreArguments;

pub(super) struct Books {
    pub(super) rules: Rules,
    store: AnyStore,
    runtime: Runtime,
    seed: Seed,
    admitted: u64,
}

impl Books {
    /// Opens the books for a report, beside the processes that use them.
    pub(super) fn existing(
        arguments: &StoreArguments,
        config: Option<&Path>,
    ) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let location = arguments.location()?;
        let mut books = Self::with(config, runtime, async || location.read().await)?;
        books.runtime.block_on(books.store.read_at_one_moment())?;
        Ok(books)
    }

    /// The version of their schema, if they exist.
    pub(super) fn schema(arguments: &StoreArguments) -> Result<Option<SchemaVersion>, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let location = arguments.location()?;
        let schema = async {
            let exists = location.exists().await?;
            Ok(if exists { Some(location.schema().await?) } else { None })
        };
        runtime.block_on(schema).map_err(|error: StoreError| error.into())
    }

    /// Opens the books for writing.
    pub(super) fn open(arguments: &StoreArguments, config: Option<&Path>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let location = arguments.location()?;
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

    /// Decides and saves events in one commit. The answers are durable when it returns.
    pub(super) fn post(
        &mut self,
        events: Vec<LedgerEvent>,
    ) -> Result<Vec<Result<Posted, Rejection>>, Failure> {
        let requests: Vec<Request> = events
            .into_iter()
            .map(|event| Request {
                admission: self.admit(),
                body: Post { event, actor: None }.into(),
            })
            .collect();
        let batch = TurnInput::new(&self.rules, &requests);
        let commit = self.runtime.block_on(turn(&mut self.store, &batch));
        let commit = commit?;
        commit.answers.into_iter().map(posted).collect()
    }

    pub(super) fn accounts(&mut self) -> Result<Vec<(Name, Account)>, Failure> {
        self.runtime.block_on(self.store.accounts()).map_err(Failure::from)
    }

    pub(super) fn trial_balance(&mut self, as_of: Option<AsOf>) -> Result<TrialBalance, Failure> {
        self.runtime.block_on(self.store.trial_balance(as_of)).map_err(Failure::from)
    }

    pub(super) fn balances(&mut self, as_of: AsOf) -> Result<BalanceFold, Failure> {
        self.runtime.block_on(self.store.balances(as_of)).map_err(Failure::from)
    }

    pub(super) fn verify(&mut self) -> Result<Report, Failure> {
        let bar = terminal::progress(0, "transactions, flows and holds");
        let verified = self.store.verify_with_progress(&self.rules.rulebook, |report| {
            let rows = report.transactions.saturating_add(report.flows);
            bar.set_position(rows.saturating_add(report.holds));
        });
        let verified = self.runtime.block_on(verified);
        bar.finish_and_clear();
        verified.map_err(Failure::from)
    }

    /// Only what came since the last closing, if there is one.
    pub(super) fn verify_since_closing(&mut self) -> Result<Option<(Closing, Report)>, Failure> {
        self.runtime.block_on(self.store.verify_since_closing()).map_err(Failure::from)
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

/// The reply of a posting request.
fn posted(answer: Answer) -> Result<Result<Posted, Rejection>, Failure> {
    let reply = match answer {
        Ok(reply) => reply,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let failed = Failure::new(format!(
        "an event was answered with {reply:?}. Look at the books before you post it again"
    ));
    Post::reply(reply).map(Ok).ok_or(failed)
}
