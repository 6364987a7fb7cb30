//! `bursar ledger` and `bursar migrate`: the books in a data directory or database.

mod accounts;
mod alm;
mod books;
mod cash;
mod fees;
mod import;
mod period;
mod post;
mod statement;
mod trial_balance;
mod verify;

use std::path::{Path, PathBuf};

use bursar_core::ledger::Transaction;
use bursar_core::ledger::journal::JournalError;
use bursar_node::failure::Failure;
use bursar_node::report::Format;
use bursar_node::terminal;
use bursar_store::{Location, SchemaVersion};
use clap::{Args, Subcommand};

use books::Books;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Post a file of events, one JSON object per line; events that were posted before are skipped
    Import(import::Arguments),
    /// Post one event
    Post(post::Arguments),
    /// List the accounts with their balances
    Accounts(ReportArguments),
    /// Turnover and balance of every GL code; debits and credits must be equal
    TrialBalance(trial_balance::Arguments),
    /// Assets and liabilities by due date
    Alm(alm::Arguments),
    /// The statement of a merchant: every posting, with running balances
    Statement(statement::Arguments),
    /// Fees and VAT of a period, by GL code and event
    Fees(fees::Arguments),
    /// Every movement on bank accounts, with running balances, for reconciliation
    Cash(cash::Arguments),
    /// Recompute every balance, every hold and the hash chain from the postings
    Verify(verify::Arguments),
}

/// The location of the books.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct StoreArguments {
    /// The data directory with the SQLite file
    #[arg(long, value_name = "DIR", env = "BURSAR_DATA")]
    data: Option<PathBuf>,
    /// PostgreSQL, as a URL or as `host=… user=… dbname=…`
    #[arg(long, value_name = "URL", env = "BURSAR_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
}

impl StoreArguments {
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        match (&self.data, &self.database_url) {
            (Some(data), _) => Ok(Location::Directory(data.clone())),
            (None, Some(url)) => Ok(Location::Database(url.clone())),
            (None, None) => Err(Failure::new("say where the books are: --data or --database-url")),
        }
    }
}

/// Arguments of every report: the location of the books and the output format.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    format: Format,
}

impl Command {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        match self {
            Self::Import(arguments) => import::run(&arguments, config),
            Self::Post(arguments) => post::run(&arguments, config),
            Self::Accounts(arguments) => accounts::run(&arguments, config),
            Self::TrialBalance(arguments) => trial_balance::run(&arguments, config),
            Self::Alm(arguments) => alm::run(&arguments, config),
            Self::Statement(arguments) => statement::run(&arguments, config),
            Self::Fees(arguments) => fees::run(&arguments, config),
            Self::Cash(arguments) => cash::run(&arguments, config),
            Self::Verify(arguments) => verify::run(&arguments, config),
        }
    }
}

/// Visits every transaction in commit order.
fn each_transaction(
    books: &mut Books,
    mut visit: impl FnMut(&Transaction) -> Result<(), Failure>,
) -> Result<(), Failure> {
    books.each_commit(|commit| commit.transactions.iter().try_for_each(&mut visit))
}

/// The same for a fold over debits and credits, which can fail.
fn each_journal(
    books: &mut Books,
    mut add: impl FnMut(&Transaction) -> Result<(), JournalError>,
) -> Result<(), Failure> {
    books.each_commit(|commit| {
        commit.transactions.iter().try_for_each(&mut add).map_err(|error| {
            Failure::new(format!(
                "commit {} is not double entry: {error}. Run `bursar ledger verify`",
                commit.seq
            ))
        })
    })
}

/// `bursar migrate`: opening the books migrates their schema.
#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    #[command(flatten)]
    store: StoreArguments,
}

impl MigrateArguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        if let Some(SchemaVersion { applied, known }) = Books::schema(&self.store)?
            && applied < known
        {
            terminal::say(&format!(
                "migrating the schema from version {applied} to {known}: all postings may be read once, and the books are locked meanwhile"
            ))?;
        }
        Books::open(&self.store, config)?;
        terminal::say("the schema is up to date")
    }
}
