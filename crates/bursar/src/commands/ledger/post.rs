//! `bursar ledger post`: posts one event.

use std::path::Path;

use bursar_core::ledger::{LedgerEvent, Posted};
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::StoreArguments;
use super::books::Books;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The event as JSON: {"event","reference","vars":{…},"effectiveAt"?}
    #[arg(value_name = "EVENT")]
    event: String,
    #[command(flatten)]
    store: StoreArguments,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let event = LedgerEvent::from_line(&arguments.event)
        .map_err(|reason| Failure::new(format!("{reason}. Nothing was posted")))?;
    let answers = Books::open(&arguments.store, config)?.post(vec![event])?;
    match answers.into_iter().next() {
        Some(Ok(Posted::New(id))) => terminal::say(&format!("posted as {id}")),
        Some(Ok(Posted::Replayed(id))) => terminal::say(&format!("had been posted before as {id}")),
        Some(Err(rejection)) => Err(Failure::new(rejection.to_string())),
        None => Err(Failure::new(
            "the event was not answered. Look at the books before you post it again",
        )),
    }
}
