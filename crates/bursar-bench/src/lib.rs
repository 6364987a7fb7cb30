//! `bursar bench`: every figure is measured together with its baseline, in the same run.

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
mod plot;
mod process;
mod profile;
mod reads;
mod recovery;
mod sleeping;
mod store_args;
mod summary;
mod webhooks;

use std::time::{Duration, Instant};

use bursar_node::failure::Failure;
use clap::{Args, Subcommand};

/// Run benchmarks, as ratios to baselines in the same run
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Benchmark the core: template runs and postings in memory, on one CPU core
    Core(core::Arguments),
    /// Benchmark pay-ins from request to durable store, compared with bare row writes
    Ledger(ledger::Arguments),
    /// Benchmark payouts from request to payment through the engine, compared with bare row writes
    Payouts(payouts::Arguments),
    /// Measure throughput and turn latency by batch size
    Batches(batches::Arguments),
    /// Measure whether throughput stays constant over a million payouts
    Growth(growth::Arguments),
    /// Measure disk and memory of scheduled payouts
    Sleeping(sleeping::Arguments),
    /// Measure the reads of operators beside a million live payouts
    Reads(reads::Arguments),
    /// Measure recovery time after a process was killed with many payouts in flight
    Recovery(recovery::Arguments),
    /// Benchmark webhook delivery, and the effect of a hanging endpoint on others
    Webhooks(webhooks::Arguments),
    /// Run all benchmarks on one store, with one table at the end
    All(all::Arguments),
    /// The HTTP client process
    #[command(hide = true)]
    HttpClient(http::ClientArguments),
    /// The webhook receiver process
    #[command(hide = true)]
    Sink,
    /// The server process that is measured and killed
    #[command(hide = true)]
    Process(process::Arguments),
}

impl Arguments {
    pub fn run(self) -> Result<(), Failure> {
        if !self.command.is_hidden() {
            profile::say()?;
        }
        self.command.run()
    }
}

impl Command {
    /// Whether a benchmark starts it and reads its output.
    const fn is_hidden(&self) -> bool {
        match self {
            Self::HttpClient(_) | Self::Sink | Self::Process(_) => true,
            Self::Core(_)
            | Self::Ledger(_)
            | Self::Payouts(_)
            | Self::Batches(_)
            | Self::Growth(_)
            | Self::Sleeping(_)
            | Self::Reads(_)
            | Self::Recovery(_)
            | Self::Webhooks(_)
            | Self::All(_) => false,
        }
    }

    fn run(self) -> Result<(), Failure> {
        match self {
            Self::Core(arguments) => arguments.run().map(drop),
            Self::Ledger(arguments) => arguments.run().map(drop),
            Self::Payouts(arguments) => arguments.run().map(drop),
            Self::Batches(arguments) => arguments.run().map(drop),
            Self::Growth(arguments) => arguments.run().map(drop),
            Self::Sleeping(arguments) => arguments.run().map(drop),
            Self::Reads(arguments) => arguments.run().map(drop),
            Self::Recovery(arguments) => arguments.run().map(drop),
            Self::Webhooks(arguments) => arguments.run().map(drop),
            Self::Sink => webhooks::sink(),
            Self::All(arguments) => arguments.run(),
            Self::HttpClient(arguments) => arguments.run(),
            Self::Process(arguments) => arguments.run(),
        }
    }
}

/// Calls of `work` per second. It is called in slices, so that the cost of reading the clock is negligible.
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
