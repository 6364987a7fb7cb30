//! `bursar init`: makes new books.

use std::path::Path;

use bursar_core::ids::BooksId;
use bursar_node::books::{check_absent, make};
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::{terminal, witness};
use bursar_store::{ClockKind, Location, StoreError};
use clap::Args;
use tokio::runtime::{Builder, Runtime};

use super::ledger::StoreArguments;

/// Make new books in a data directory or database, once
///
/// No other command makes books: where they are missing, something has happened to them, and empty books would pay again
/// what was paid. Books that exist stay as they are.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    /// For a test clock, never for real money: a server with a real clock refuses these books
    #[arg(long)]
    test_clock: bool,
    /// Give up the books that this machine knows at this place, and that are gone
    #[arg(long, value_name = "BOOKS")]
    abandon: Option<BooksId>,
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let (config, location) = (Config::load(config)?, self.store.location()?);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let directory = witness::directory(&config.store.witness);
        if let Some(directory) = &directory
            && let Some(known) = witness::known_at(directory, &location)?
            && self.abandon == Some(known)
            && is_without_books(&runtime, &location)?
        {
            witness::forget(directory, known)?;
        }
        // A file may be there that holds no books.
        if is_without_books(&runtime, &location)? {
            check_absent(&location, directory.as_deref())?;
        }
        let books =
            runtime.block_on(make(&location, self.test_clock.then_some(ClockKind::Test)))?;
        terminal::say(&format!("made the books {} in {location}", books.id))
    }
}

fn is_without_books(runtime: &Runtime, location: &Location) -> Result<bool, Failure> {
    match runtime.block_on(location.open()) {
        Ok(_) => Ok(false),
        Err(StoreError::Missing(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
