//! `bursar bench`: every figure is measured beside what it is held against, in the same run.

mod all;
mod baseline;
mod batches;
mod books;
mod core;
mod growth;
mod http;
mod ledger;
mod measure;
mod payouts;
mod place;
mod plot;
mod process;
mod recovery;
mod sleeping;
mod summary;
mod webhooks;

use std::time::{Duration, Instant};

use bursar_node::failure::Failure;
use clap::{Args, Subcommand};

/// Measure speed, as ratios within one run
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The pure core: template runs and postings in memory, on one core
    Core(core::Arguments),
    /// Pay-ins through the whole turn into a durable store, beside the same rows without logic
    Ledger(ledger::Arguments),
    /// Payouts from request to payment through the whole engine into a durable store, beside the same rows without logic
    Payouts(payouts::Arguments),
    /// Throughput, and how long a turn takes, by how much is decided together
    Batches(batches::Arguments),
    /// Whether the last tenth of a million payouts goes as fast as the first
    Growth(growth::Arguments),
    /// What a payout that waits for its time takes on disk and in memory
    Sleeping(sleeping::Arguments),
    /// How soon a process answers after another was killed with many payouts in flight
    Recovery(recovery::Arguments),
    /// From an event to the answer of whoever is told, and whether one who hangs keeps others waiting
    Webhooks(webhooks::Arguments),
    /// All of these on one store, with one table in the end
    All(all::Arguments),
    /// What asks over HTTP, in a process of its own
    #[command(hide = true)]
    HttpClient(http::ClientArguments),
    /// What is told, in a process of its own
    #[command(hide = true)]
    Sink,
    /// What is started, watched and killed
    #[command(hide = true)]
    Process(process::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<(), Failure> {
        self.command.run()
    }
}

impl Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Self::Core(arguments) => arguments.run().map(drop),
            Self::Ledger(arguments) => arguments.run().map(drop),
            Self::Payouts(arguments) => arguments.run().map(drop),
            Self::Batches(arguments) => arguments.run().map(drop),
            Self::Growth(arguments) => arguments.run().map(drop),
            Self::Sleeping(arguments) => arguments.run().map(drop),
            Self::Recovery(arguments) => arguments.run().map(drop),
            Self::Webhooks(arguments) => arguments.run().map(drop),
            Self::Sink => webhooks::sink(),
            Self::All(arguments) => arguments.run(),
            Self::HttpClient(arguments) => arguments.run(),
            Self::Process(arguments) => arguments.run(),
        }
    }
}

/// How often a second `work` can be done. It is called in slices, so that reading the clock costs nothing.
fn rate(
    duration: Duration,
    slice: u32,
    mut work: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<u128, Failure> {
    let started = Instant::now();
    let mut count: u64 = 0;
    while started.elapsed() < duration {
        for _ in 0..slice {
            work(count)?;
            count = count.saturating_add(1);
        }
    }
    let nanoseconds = started.elapsed().as_nanos().max(1);
    Ok(u128::from(count).saturating_mul(1_000_000_000).checked_div(nanoseconds).unwrap_or_default())
}

/// A ratio with two decimals, without floating point.
fn ratio(value: u128, base: u128) -> String {
    let hundredths = value.saturating_mul(100).checked_div(base.max(1)).unwrap_or_default();
    let whole = hundredths.checked_div(100).unwrap_or_default();
    let rest = hundredths.checked_rem(100).unwrap_or_default();
    format!("{whole}.{rest:02}")
}
