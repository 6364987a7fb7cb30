//! Growth: compares the throughput of the last tenth of many payouts with the first, to find index costs that grow.

use std::path::PathBuf;
use std::time::Duration;

use bursar_core::ids::Seed;
use bursar_core::rules::Rules;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::measure::{Lane, Work};
use super::payouts::{Driver, Merchants, Payouts, in_flight_max, open, rules, runtime, verify};
use super::plot::{Plot, Series};
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::Figure;
use crate::baseline::Baseline;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Total number of payouts
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    pub(super) count: u32,
    /// The directory for the plot
    #[arg(long, value_name = "DIR")]
    pub(super) plots: Option<PathBuf>,
}

/// Payouts created in one turn.
const BATCH: u32 = 1_000;

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let rules = rules(in_flight_max(BATCH))?;
        let runtime = runtime()?;
        let tenths = match self.place.store {
            Kind::Memory => {
                return Err(Failure::new("what is in memory does not grow. Name a store on disk"));
            }
            Kind::Sqlite => {
                let directory = Directory::new(self.place.data.as_deref());
                let [mut books] = directory.books(["growth"])?;
                runtime.block_on(grow(&mut books, &rules, self.count))?
            }
            Kind::Postgres => {
                let [mut books] =
                    runtime.block_on(store_args::databases(self.place.url(), ["growth"]))?;
                let tenths = runtime.block_on(grow(&mut books, &rules, self.count));
                runtime.block_on(store_args::remove([books]))?;
                tenths?
            }
        };
        self.report(&tenths)
    }

    fn report(&self, tenths: &[Lane]) -> Result<Vec<Figure>, Failure> {
        let store = self.place.store.name();
        let rate = |lane: Option<&Lane>| lane.map(Lane::rate).unwrap_or_default();
        let (first, last) = (rate(tenths.first()), rate(tenths.last()));
        let mut done: u64 = 0;
        let mut points = Vec::new();
        let mut rows = Vec::new();
        for lane in tenths {
            done = done.saturating_add(u64::from(lane.done));
            points.push((done, u64::try_from(lane.rate()).unwrap_or(u64::MAX)));
            rows.push(vec![
                done.to_string(),
                lane.rate().to_string(),
                super::ratio(lane.rate(), first),
                lane.each(lane.written),
            ]);
        }
        let title = format!("payouts so far, {store}");
        let header = [title.as_str(), "per second", "× first tenth", "bytes written"];
        terminal::say(&terminal::table(&header, 0, rows).to_string())?;
        if let Some(folder) = &self.plots {
            let plot = Plot {
                title: format!("Payouts a second as the books grow, {store}"),
                x: "payouts so far",
                y: "a second",
                is_even: false,
                series: vec![Series { name: "engine".to_owned(), points }],
            };
            plot.write(folder, &format!("growth-{store}"))?;
        }
        let name = format!("growth.{store}");
        let figure = Figure { name, value: last, unit: "payouts/s", limit: first, floor: None };
        terminal::say(&figure.line())?;
        Ok(vec![figure])
    }
}

/// Measures each tenth separately.
async fn grow<B: Baseline>(books: &mut B, rules: &Rules, count: u32) -> Result<Vec<Lane>, Failure> {
    open(books.books(), rules, Merchants::Uniform).await?;
    let mut driver = Driver::new(rules, BATCH, Seed::from(1));
    let mut payouts = Payouts::new(Merchants::Uniform, 1);
    let progress = terminal::progress(u64::from(count), "payouts");
    let mut tenths = Vec::new();
    for slice in (Work { count, batch: BATCH }).slices() {
        let mut lane = Lane::default();
        lane.measure(books, async |books, time| {
            for size in &slice {
                driver.ask(books.books(), rules, payouts.next(*size), time).await?;
                progress.inc(u64::from(*size));
            }
            Ok(())
        })
        .await?;
        lane.done = slice.iter().sum();
        tenths.push(lane);
    }
    progress.finish_and_clear();
    driver.finish(books.books(), rules, &mut Duration::default()).await?;
    verify(books, rules, count, Merchants::Uniform).await?;
    Ok(tenths)
}
