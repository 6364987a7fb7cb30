//! Effect of batching: throughput and turn latency by batch size.

use std::path::PathBuf;
use std::time::Duration;

use bursar_core::ids::Seed;
use bursar_core::rules::Rules;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::payouts::{
    Driver, LAG, Merchants, Payouts, in_flight_max, open, rules, runtime, verify,
};
use super::plot::{Plot, Series};
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::Figure;
use crate::baseline::{Baseline, MemoryBaseline};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Payouts for each batch size, within 20 to 200 turns; larger sizes are skipped
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(super) count: u32,
    /// The directory for plots
    #[arg(long, value_name = "DIR")]
    pub(super) plots: Option<PathBuf>,
}

const SIZES: [u32; 7] = [1, 10, 50, 200, 500, 1_000, 4_000];
/// Turns for a stable latency.
const TURNS_MIN: u32 = 20;
const TURNS_MAX: u32 = 200;

/// Measurements of one batch size.
struct Turns {
    size: u32,
    done: u32,
    times: Vec<Duration>,
}

impl Turns {
    fn rate(&self) -> u128 {
        let time: Duration = self.times.iter().sum();
        let done = u128::from(self.done).saturating_mul(1_000_000_000);
        done.checked_div(time.as_nanos().max(1)).unwrap_or_default()
    }

    /// A percentile of the turn latency, in microseconds.
    fn all_but(&self, hundredths: usize) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let beyond = times.len().saturating_mul(hundredths).div_ceil(100).max(1);
        let time = times.get(times.len().saturating_sub(beyond)).copied().unwrap_or_default();
        u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
    }
}

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let rules = rules(in_flight_max(SIZES.into_iter().max().unwrap_or(1)))?;
        let runtime = runtime()?;
        let turns = match self.place.store {
            Kind::Memory => {
                runtime.block_on(all(&mut MemoryBaseline::default(), &rules, self.count))?
            }
            Kind::Sqlite => {
                let directory = Directory::new(self.place.data.as_deref());
                let [mut books] = directory.books(["batches"])?;
                runtime.block_on(all(&mut books, &rules, self.count))?
            }
            Kind::Postgres => {
                let [mut books] =
                    runtime.block_on(store_args::databases(self.place.url(), ["batches"]))?;
                let turns = runtime.block_on(all(&mut books, &rules, self.count));
                runtime.block_on(store_args::remove([books]))?;
                turns?
            }
        };
        self.report(&turns)
    }

    fn report(&self, all: &[Turns]) -> Result<Vec<Figure>, Failure> {
        let store = self.place.store.name();
        let alone = all.first().map(Turns::rate).unwrap_or_default();
        let row = |turns: &Turns| {
            vec![
                turns.size.to_string(),
                turns.rate().to_string(),
                super::ratio(turns.rate(), alone),
                turns.all_but(50).to_string(),
                turns.all_but(1).to_string(),
            ]
        };
        let title = format!("payouts in a turn, {store}");
        let header = [title.as_str(), "per second", "× alone", "turn p50, µs", "turn p99, µs"];
        let rows = all.iter().map(row).collect();
        terminal::say(&terminal::table(&header, 0, rows).to_string())?;
        if let Some(folder) = &self.plots {
            let points = |value: &dyn Fn(&Turns) -> u64| {
                all.iter().map(|turns| (u64::from(turns.size), value(turns))).collect()
            };
            let rate = |turns: &Turns| u64::try_from(turns.rate()).unwrap_or(u64::MAX);
            let series = |name: &str, points| Series { name: name.to_owned(), points };
            Plot {
                title: format!("Payouts a second by the size of a turn, {store}"),
                x: "payouts in a turn",
                y: "a second",
                is_even: true,
                series: vec![series("engine", points(&rate))],
            }
            .write(folder, &format!("throughput-{store}"))?;
            let half = points(&|turns| turns.all_but(50));
            let most = points(&|turns| turns.all_but(1));
            Plot {
                title: format!("How long a turn takes, {store}"),
                x: "payouts in a turn",
                y: "microseconds",
                is_even: true,
                series: vec![series("p50", half), series("p99", most)],
            }
            .write(folder, &format!("latency-{store}"))?;
        }
        let best = all.iter().map(Turns::rate).max().unwrap_or_default();
        let name = format!("batches.{store}");
        let figure = Figure { name, value: best, unit: "payouts/s", limit: alone, floor: None };
        terminal::say(&figure.line())?;
        Ok(vec![figure])
    }
}

async fn all<B: Baseline>(books: &mut B, rules: &Rules, count: u32) -> Result<Vec<Turns>, Failure> {
    open(books.books(), rules, Merchants::Uniform).await?;
    let (mut found, mut made) = (Vec::new(), 0_u32);
    for (size, number) in SIZES.into_iter().filter(|size| *size <= count).zip(1_u64..) {
        let mut driver = Driver::new(rules, size, Seed::from(number));
        let mut payouts = Payouts::new(Merchants::Uniform, number);
        // Warm up until as many payouts settle as are created.
        for _ in 0..=LAG {
            let time = &mut Duration::default();
            driver.ask(books.books(), rules, payouts.next(size), time).await?;
        }
        let turns = count.div_ceil(size).clamp(TURNS_MIN, TURNS_MAX);
        let mut times = Vec::new();
        for _ in 0..turns {
            let mut time = Duration::default();
            driver.ask(books.books(), rules, payouts.next(size), &mut time).await?;
            times.push(time);
        }
        driver.finish(books.books(), rules, &mut Duration::default()).await?;
        made = made.saturating_add(size.saturating_mul(turns.saturating_add(LAG + 1)));
        found.push(Turns { size, done: size.saturating_mul(turns), times });
    }
    verify(books, rules, made, Merchants::Uniform).await?;
    Ok(found)
}
