//! `bursar bench`: every figure is measured beside a raw limit and a naive variant in the same run.

mod books;
mod core;
mod http;
mod ledger;
mod measure;

use std::time::{Duration, Instant};

use bursar_core::rulebook::Rulebook;
use bursar_core::rules::Rules;
use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The pure core: template runs and postings in memory, on one core
    Core(core::Arguments),
    /// Pay-ins through the whole turn into a durable store, beside the same rows without logic
    Ledger(ledger::Arguments),
    /// What asks over HTTP, in a process of its own
    #[command(hide = true)]
    HttpClient(http::ClientArguments),
    /// temporary
    Http { data: std::path::PathBuf, count: u32 },
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Core(arguments) => arguments.run(),
            Self::Ledger(arguments) => arguments.run(),
            Self::HttpClient(arguments) => arguments.run(),
            Self::Http { data, count } => {
                let mut rules = Rules::from(Rulebook::bundled().unwrap());
                let channel = bursar_core::channel::Channel {
                    name: "wallet".into(),
                    currencies: ["PKR".parse().unwrap()].into(),
                    bank: "main".into(),
                    submit_is_idempotent: false,
                    not_found_is_final: false,
                    visibility_window: jiff::SignedDuration::from_secs(60),
                    failed_is_final: true,
                    concurrency: 10_000,
                    clocks: bursar_core::channel::Clocks::of("wallet"),
                };
                rules.channels.insert("wallet".into(), channel);
                let f = http::run(&bursar_store::Location::Directory(data), &rules, count)?;
                crate::terminal::say(&format!("{f:?}"))
            }
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
