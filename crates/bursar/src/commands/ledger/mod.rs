//! `bursar ledger` and `bursar migrate`: the books in a data directory.

mod accounts;
mod alm;
mod books;
mod cash;
mod fees;
mod import;
mod moments;
mod post;
mod statement;
mod trial_balance;
mod verify;

use std::path::{Path, PathBuf};

use bursar_core::journal::JournalError;
use bursar_core::ledger::Transaction;
use bursar_node::failure::Failure;
use bursar_node::report::Format;
use bursar_node::terminal;
use bursar_store::Location;
use clap::{Args, Subcommand};

use books::Books;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Post a file of events, one JSON object a line; what was posted before is not posted again
    Import(import::Arguments),
    /// Post one event
    Post(post::Arguments),
    /// List the accounts with their balances
    Accounts(ReportArguments),
    /// Turnover and balance of every GL code; the two sides must be equal
    TrialBalance(trial_balance::Arguments),
    /// Assets against liabilities, by when they are due
    Alm(alm::Arguments),
    /// Every movement of a merchant's money, with running balances
    Statement(statement::Arguments),
    /// Fees and VAT of a period, by GL code and event
    Fees(fees::Arguments),
    /// Every movement at our banks, with running balances, to be compared with their statements
    Cash(cash::Arguments),
    /// Recompute every balance, every hold and the chain of hashes from the postings
    Verify(verify::Arguments),
}

/// Where the books are.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Place {
    /// The data directory; the SQLite file is inside
    #[arg(long, value_name = "DIR", env = "BURSAR_DATA")]
    data: Option<PathBuf>,
    /// PostgreSQL, as a URL or as `host=… user=… dbname=…`
    #[arg(long, value_name = "URL", env = "BURSAR_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
}

impl Place {
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        match (&self.data, &self.database_url) {
            (Some(data), _) => Ok(Location::Directory(data.clone())),
            (None, Some(url)) => Ok(Location::Database(url.clone())),
            (None, None) => Err(Failure::new("say where the books are: --data or --database-url")),
        }
    }
}

/// What every report needs to know: where the books are, and how it is printed.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    place: Place,
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

/// Every transaction in the order it was saved.
fn each_transaction(
    books: &mut Books,
    mut visit: impl FnMut(&Transaction) -> Result<(), Failure>,
) -> Result<(), Failure> {
    books.each_commit(|commit| commit.transactions.iter().try_for_each(&mut visit))
}

/// The same for a fold that reads debits and credits.
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

/// `bursar migrate`: opening the books brings their schema up to date.
#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    #[command(flatten)]
    place: Place,
}

impl MigrateArguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        Books::open(&self.place, config)?;
        terminal::say("the schema is up to date")
    }
}
