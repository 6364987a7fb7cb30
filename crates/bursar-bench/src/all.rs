//! All benchmarks of one store in sequence, with one table at the end.

use std::path::PathBuf;

use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::store_args::{Kind, StoreArgs};
use super::summary::{self, Figure};
use super::{batches, core, growth, ledger, payouts, reads, recovery, sleeping, webhooks};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: StoreArgs,
    /// The amount of work, in thousandths of the defaults of each benchmark
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    thousandths: u32,
    /// The directory for plots
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self { place, thousandths, plots } = self;
        if let Kind::Memory = place.store {
            return Err(Failure::new(
                "some benchmarks need a disk. Name a store on disk, or run those that do not alone",
            ));
        }
        let place = |name: &str| place.within(name);
        let share = |count: u32, least: u32| {
            let part = u64::from(count).saturating_mul(thousandths.into()).div_ceil(1_000);
            u32::try_from(part).unwrap_or(count).max(least)
        };
        let mut figures: Vec<Figure> = core::Arguments { seconds: 1 }.run()?;
        let ledger = ledger::Arguments {
            place: place("ledger"),
            batch: 1_000,
            count: share(200_000, 1_000),
        };
        figures.extend(ledger.run()?);
        let payouts = payouts::Arguments::embedded(place("payouts"), 1_000, share(100_000, 1_000));
        figures.extend(payouts.run()?);
        let (count, folder) = (share(20_000, 100), plots.clone());
        figures.extend(batches::Arguments { place: place("batches"), count, plots: folder }.run()?);
        let count = share(1_000_000, 1_000);
        figures.extend(growth::Arguments { place: place("growth"), count, plots }.run()?);
        figures.extend(sleeping::Arguments { place: place("sleeping"), count }.run()?);
        figures.extend(
            reads::Arguments { place: place("reads"), count: share(1_000_000, 1_000) }.run()?,
        );
        let count = share(100_000, 100);
        figures.extend(recovery::Arguments { place: place("recovery"), count }.run()?);
        let count = share(30_000, 1_000);
        figures.extend(webhooks::Arguments { place: place("webhooks"), count }.run()?);
        terminal::say("")?;
        summary::say(&figures)
    }
}
