//! The ledger in a store: pay-ins through the whole turn, beside the same rows without logic (raw) and a transaction per
//! event with a statement per row (naive). All variants are as durable as real books.

mod payins;
mod race;

use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;
use tokio::runtime::Builder;

use self::race::{Figures, Lanes};
use super::measure::Work;
use super::ratio;
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{Figure, Floor};
use crate::baseline::MemoryBaseline;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Events per commit
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) batch: u32,
    /// Total number of events
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(super) count: u32,
}

/// The required rate, in hundredths of raw.
const OF_RAW: u128 = 60;

/// Each variant has its own books.
const PURPOSES: [&str; 3] = ["engine", "raw", "naive"];

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let work = Work { count: self.count, batch: self.batch };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let figures = match self.place.store {
            Kind::Memory => runtime.block_on(in_memory(work))?,
            Kind::Sqlite => runtime.block_on(in_sqlite(&self.place, work))?,
            Kind::Postgres => runtime.block_on(in_postgres(self.place.url(), work))?,
        };
        report(self.place.store.name(), work, &figures)
    }
}

async fn in_memory(work: Work) -> Result<Figures, Failure> {
    let mut lanes = Lanes {
        engine: MemoryBaseline::default(),
        raw: MemoryBaseline::default(),
        naive: MemoryBaseline::default(),
    };
    race::run(&mut lanes, work).await
}

async fn in_sqlite(place: &StoreArgs, work: Work) -> Result<Figures, Failure> {
    let directory = Directory::new(place.data.as_deref());
    let [engine, raw, naive] = directory.books(PURPOSES)?;
    race::run(&mut Lanes { engine, raw, naive }, work).await
}

async fn in_postgres(url: &str, work: Work) -> Result<Figures, Failure> {
    let [engine, raw, naive] = store_args::databases(url, PURPOSES).await?;
    let mut lanes = Lanes { engine, raw, naive };
    let figures = race::run(&mut lanes, work).await;
    let Lanes { engine, raw, naive } = lanes;
    let removed = store_args::remove([engine, raw, naive]).await;
    let figures = figures?;
    removed?;
    Ok(figures)
}

fn report(store: &str, work: Work, figures: &Figures) -> Result<Vec<Figure>, Failure> {
    let Figures { engine, raw, naive } = figures;
    let rows = [
        ("engine: bind, load, decide, save", engine),
        ("raw: the same rows in bulk, no logic", raw),
        ("naive: a transaction per event, a statement per row", naive),
    ]
    .into_iter()
    .map(|(name, lane)| {
        vec![
            name.to_owned(),
            lane.rate().to_string(),
            ratio(lane.rate(), raw.rate()),
            ratio(lane.rate(), naive.rate()),
            lane.each(lane.written),
            lane.each(lane.stored),
        ]
    })
    .collect();
    let Work { count, batch } = work;
    let title = format!("{count} events of 4 postings, {batch} at a time, {store}");
    let header = [&title, "per second", "× raw", "× naive", "bytes written", "bytes stored"];
    terminal::say(&terminal::table(&header, 1, rows).to_string())?;
    terminal::say(&format!(
        "the books of all three are right: {} + {} + {} transactions, every balance and the chain of hashes",
        engine.done, raw.done, naive.done
    ))?;
    let floor = (store != Kind::Memory.name()).then_some(Floor::AtLeast(OF_RAW));
    let (name, value, limit) = (format!("ledger.{store}"), engine.rate(), raw.rate());
    let figure = Figure { name, value, unit: "events/s", limit, floor };
    terminal::say(&figure.line())?;
    Ok(vec![figure])
}
