//! One event into the books.

use std::path::Path;

use bursar_core::ledger::{Event, Posted};
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::Place;
use super::books::Books;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The event as JSON: {"event","reference","vars":{…},"effectiveAt"?}
    #[arg(value_name = "EVENT")]
    event: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let event = Event::from_line(&arguments.event)
        .map_err(|reason| Failure::new(format!("{reason}. Nothing was posted")))?;
    let answers = Books::open(&arguments.place, config)?.post(vec![event])?;
    match answers.into_iter().next() {
        Some(Ok(Posted::New(id))) => terminal::say(&format!("posted as {id}")),
        Some(Ok(Posted::Replayed(id))) => terminal::say(&format!("had been posted before as {id}")),
        Some(Err(rejection)) => Err(Failure::new(rejection.to_string())),
        None => Err(Failure::new(
            "the event was not answered. Look at the books before you post it again",
        )),
    }
}
