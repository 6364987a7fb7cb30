//! The ledger in a store: pay-ins through the whole turn, beside the same rows without logic (raw) and a transaction per
//! event with a statement per row (naive). All of it is as durable as real books.

mod payins;
mod race;

use std::path::{Path, PathBuf};

use bursar_store::baseline::{MemoryBaseline, PostgresBaseline, SqliteBaseline};
use clap::{Args, ValueEnum};
use tokio::runtime::Builder;

use self::race::{Figures, Lanes};
use super::measure::{Work, failed};
use super::ratio;
use crate::failure::Failure;
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where the books are kept
    #[arg(long, value_enum)]
    store: Kind,
    /// How many events are decided and saved together
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// How many events there are in all
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: u32,
    /// The PostgreSQL server; databases named `bursar_bench_…` are made on it and dropped, no other is touched
    #[arg(long, value_name = "URL", required_if_eq("store", "postgres"))]
    database_url: Option<String>,
    /// Where the SQLite files are made and left [default: a temporary directory that is removed]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Memory,
    Sqlite,
    Postgres,
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let work = Work { count: self.count, batch: self.batch };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (name, figures) = match self.store {
            Kind::Memory => ("memory", runtime.block_on(in_memory(work))?),
            Kind::Sqlite => ("sqlite", runtime.block_on(in_sqlite(self.data, work))?),
            Kind::Postgres => {
                let url = self.database_url.as_deref().unwrap_or_default();
                ("postgres", runtime.block_on(in_postgres(url, work))?)
            }
        };
        report(name, work, &figures)
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

async fn in_sqlite(data: Option<PathBuf>, work: Work) -> Result<Figures, Failure> {
    let scratch = data.is_none();
    let directory = data.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("bursar-bench-{}", std::process::id()))
    });
    let figures = in_directory(&directory, work).await;
    if scratch {
        drop(std::fs::remove_dir_all(&directory));
    }
    figures
}

async fn in_directory(directory: &Path, work: Work) -> Result<Figures, Failure> {
    let create =
        |name| SqliteBaseline::create(&directory.join(name)).map_err(|error| failed(&error));
    let mut lanes =
        Lanes { engine: create("engine")?, raw: create("raw")?, naive: create("naive")? };
    race::run(&mut lanes, work).await
}

async fn in_postgres(url: &str, work: Work) -> Result<Figures, Failure> {
    let mut made = Vec::new();
    for purpose in ["engine", "raw", "naive"] {
        match PostgresBaseline::create(url, purpose).await {
            Ok(database) => made.push(database),
            Err(error) => {
                remove(made).await?;
                return Err(failed(&error));
            }
        }
    }
    let Ok([engine, raw, naive]) = <[PostgresBaseline; 3]>::try_from(made) else {
        return Err(Failure::new("three databases were asked for"));
    };
    let mut lanes = Lanes { engine, raw, naive };
    let figures = race::run(&mut lanes, work).await;
    let Lanes { engine, raw, naive } = lanes;
    let removed = remove(vec![engine, raw, naive]).await;
    let figures = figures?;
    removed?;
    Ok(figures)
}

async fn remove(databases: Vec<PostgresBaseline>) -> Result<(), Failure> {
    for database in databases {
        database.remove().await.map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn report(store: &str, work: Work, figures: &Figures) -> Result<(), Failure> {
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
    terminal::say(&format!(
        "name=ledger.{store} value={} unit=events/s limit={} ratio={}",
        engine.rate(),
        raw.rate(),
        ratio(engine.rate(), raw.rate())
    ))
}
