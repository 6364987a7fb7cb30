//! Payouts in a store: created under a key, submitted, paid and announced, through the real engine; compared with bare row
//! writes (raw) and a transaction per request with a statement per row (naive). All variants are as durable as real books.

mod driver;
mod naive;
mod race;
mod requests;
#[cfg(feature = "temporal")]
mod temporal;
mod writers;

use bursar_core::rules::Rules;
use bursar_node::cluster_args::ClusterArguments;
use bursar_node::failure::Failure;
use bursar_node::host::EngineName;
use bursar_node::terminal;
use bursar_store::Postgres;
use clap::Args;
use tokio::runtime::{Builder, Runtime};

pub(super) use self::driver::{Driver, LAG, in_flight_max, open, request};
pub(super) use self::race::verify;
use self::race::{Figures, Lanes};
pub(super) use self::requests::{Merchants, Payouts, registrations_and_openings, rules};
use self::writers::Writers;
use super::measure::{Lane, Work, failed};
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{Figure, Floor};
use super::{http, ratio};
use crate::baseline::{MemoryBaseline, PostgresBaseline};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Payouts created in one turn; as many are settled in it
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) batch: u32,
    /// Total number of payouts [default: 100000, or with `--engine temporal` 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: Option<u32>,
    /// temporal: compares workflows on a cluster with the embedded engine, both on the same PostgreSQL
    #[arg(long, value_enum, default_value_t)]
    engine: EngineName,
    #[command(flatten)]
    cluster_args: ClusterArguments,
}

const COUNT: u32 = 100_000;

/// Concurrent writers, where the store supports them.
const WRITERS: usize = 4;

/// Required rates, in hundredths: of raw, of naive, and of the hot merchant compared with uniform.
const OF_RAW: u128 = 60;
const OF_RAW_BY_SEVERAL: u128 = 110;
const OF_UNIFORM: u128 = 90;
const OF_ENGINE: u128 = 50;

impl Arguments {
    /// Arguments for the embedded engine.
    pub(super) fn embedded(place: StoreArgs, batch: u32, count: u32) -> Self {
        let cluster_args = ClusterArguments { address: None, namespace: String::new() };
        Self { place, batch, count: Some(count), engine: EngineName::Embedded, cluster_args }
    }

    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        match self.engine {
            EngineName::Embedded => self.run_embedded(),
            EngineName::Temporal => self.run_beside_temporal(),
        }
    }

    #[cfg(not(feature = "temporal"))]
    fn run_beside_temporal(self) -> Result<Vec<Figure>, Failure> {
        let Self { cluster_args, .. } = self;
        drop(cluster_args);
        Err(bursar_node::host::built_without_temporal())
    }

    #[cfg(feature = "temporal")]
    fn run_beside_temporal(self) -> Result<Vec<Figure>, Failure> {
        /// Half a minute on two cores.
        const COUNT: u32 = 300;
        match self.place.store {
            Kind::Postgres => {
                temporal::run(&self.place, &self.cluster_args, self.count.unwrap_or(COUNT))
            }
            Kind::Memory | Kind::Sqlite => Err(Failure::new(
                "workers on a Temporal cluster share the books: nothing was measured. Use --store postgres and --database-url",
            )),
        }
    }

    fn run_embedded(self) -> Result<Vec<Figure>, Failure> {
        let work = Work { count: self.count.unwrap_or(COUNT), batch: self.batch };
        let rules = rules(in_flight_max(work.batch))?;
        let runtime = runtime()?;
        let store = self.place.store;
        let figures = match store {
            Kind::Memory => in_memory(&runtime, &rules, work)?,
            Kind::Sqlite => in_sqlite(&runtime, &rules, &self.place, work)?,
            Kind::Postgres => in_postgres(&runtime, &rules, self.place.url(), work)?,
        };
        let http = through_http(&runtime, &rules, &self.place, work.count)?;
        report(store, work, &figures, http)
    }
}

/// Payouts over HTTP: fewer suffice, because each is its own request.
const HTTP_SHARE: u32 = 5;

fn through_http(
    runtime: &Runtime,
    rules: &Rules,
    place: &StoreArgs,
    count: u32,
) -> Result<Option<http::Figures>, Failure> {
    let count = count.div_ceil(HTTP_SHARE);
    match place.store {
        Kind::Memory => Ok(None),
        Kind::Sqlite => {
            let directory = Directory::new(place.data.as_deref());
            http::run(&directory.location("http"), rules, count).map(Some)
        }
        Kind::Postgres => {
            let [database] = runtime.block_on(store_args::databases(place.url(), ["http"]))?;
            let figures = http::run(&database.location(place.url()), rules, count);
            runtime.block_on(store_args::remove([database]))?;
            figures.map(Some)
        }
    }
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn in_memory(runtime: &Runtime, rules: &Rules, work: Work) -> Result<Figures, Failure> {
    let [uniform, hot, raw, naive] = <[MemoryBaseline; 4]>::default();
    let mut lanes = Lanes { uniform, hot, raw, naive, several: None };
    race::run(runtime, rules, &mut lanes, work)
}

fn in_sqlite(
    runtime: &Runtime,
    rules: &Rules,
    place: &StoreArgs,
    work: Work,
) -> Result<Figures, Failure> {
    let directory = Directory::new(place.data.as_deref());
    let [uniform, hot, raw, naive] = directory.books(["engine", "hot", "raw", "naive"])?;
    let mut lanes = Lanes { uniform, hot, raw, naive, several: None };
    race::run(runtime, rules, &mut lanes, work)
}

fn in_postgres(
    runtime: &Runtime,
    rules: &Rules,
    url: &str,
    work: Work,
) -> Result<Figures, Failure> {
    let purposes = ["engine", "hot", "raw", "naive", "four"];
    let [uniform, hot, raw, naive, four] =
        runtime.block_on(store_args::databases(url, purposes))?;
    let mut lanes = Lanes { uniform, hot, raw, naive, several: None };
    let figures = match connect(&four) {
        Ok(stores) => {
            lanes.several = Some((four, Writers::new(stores, rules, work.batch)));
            race::run(runtime, rules, &mut lanes, work)
        }
        Err(failure) => {
            runtime.block_on(store_args::remove([four]))?;
            Err(failure)
        }
    };
    let Lanes { uniform, hot, raw, naive, several } = lanes;
    let databases = [uniform, hot, raw, naive].into_iter().chain(several.map(|(books, _)| books));
    let removed = runtime.block_on(store_args::remove(databases));
    let figures = figures?;
    removed?;
    Ok(figures)
}

/// Connections to the same books, each in its own runtime.
fn connect(books: &PostgresBaseline) -> Result<Vec<(Runtime, Postgres)>, Failure> {
    (0..WRITERS)
        .map(|_| {
            let runtime = runtime()?;
            let store = runtime.block_on(books.another()).map_err(|error| failed(&error))?;
            Ok((runtime, store))
        })
        .collect()
}

fn report(
    store: Kind,
    work: Work,
    figures: &Figures,
    http: Option<http::Figures>,
) -> Result<Vec<Figure>, Failure> {
    let Figures { uniform, hot, several, raw, naive } = figures;
    let mut lanes = vec![("engine: one writer, 1,000 merchants", uniform)];
    lanes.push(("engine: one writer, one hot merchant", hot));
    lanes.extend(several.iter().map(|lane| ("engine: four writers, 1,000 merchants", lane)));
    lanes.push(("raw: the same rows in bulk, no logic", raw));
    lanes.push(("naive: a transaction per request, a statement per row", naive));
    let row = |(name, lane): (&str, &Lane)| {
        vec![
            name.to_owned(),
            lane.rate().to_string(),
            ratio(lane.rate(), raw.rate()),
            ratio(lane.rate(), naive.rate()),
            lane.each(lane.written),
            lane.each(lane.stored),
        ]
    };
    let Work { count, batch } = work;
    let title = format!("{count} payouts, {batch} at a time, {}", store.name());
    let header = [&title, "per second", "× raw", "× naive", "bytes written", "bytes stored"];
    let done: Vec<String> = lanes.iter().map(|(_, lane)| lane.done.to_string()).collect();
    let rows = lanes.into_iter().map(row).collect();
    terminal::say(&terminal::table(&header, 1, rows).to_string())?;
    terminal::say(&format!(
        "the books of all are right: {} payouts, every balance, hold and event and the chain of hashes",
        done.join(" + ")
    ))?;
    let found = floors(store, figures, http);
    for figure in &found {
        let verdict = figure.verdict().map(|verdict| format!(", {verdict}"));
        let (name, ratio) = (&figure.name, figure.ratio());
        terminal::say(&format!("{name}: {ratio}{}", verdict.unwrap_or_default()))?;
    }
    if let Some(http::Figures { own, http }) = http {
        terminal::say(&format!(
            "256 callers, each payout asked for alone: {own} a second from the engine, {http} a second through HTTP from another process"
        ))?;
    }
    terminal::say(&format!(
        "name=payouts value={} unit=payouts/s limit={} ratio={}",
        uniform.rate(),
        raw.rate(),
        ratio(uniform.rate(), raw.rate())
    ))?;
    Ok(found)
}

/// The required rates, and whether they were reached.
fn floors(store: Kind, figures: &Figures, http: Option<http::Figures>) -> Vec<Figure> {
    let Figures { uniform, hot, several, raw, naive } = figures;
    let of_naive = match store {
        Kind::Memory => return Vec::new(),
        Kind::Sqlite => 500,
        Kind::Postgres => 3_000,
    };
    let figure = |name: &str, value, limit, floor| Figure {
        name: format!("payouts.{}: {name}", store.name()),
        value,
        unit: "payouts/s",
        limit,
        floor: Some(Floor::AtLeast(floor)),
    };
    let mut found = vec![
        figure("one writer × raw", uniform.rate(), raw.rate(), OF_RAW),
        figure("one writer × naive", uniform.rate(), naive.rate(), of_naive),
        figure("hot merchant × uniform", hot.rate(), uniform.rate(), OF_UNIFORM),
    ];
    found.extend(several.iter().map(|several| {
        figure("four writers × raw", several.rate(), raw.rate(), OF_RAW_BY_SEVERAL)
    }));
    found.extend(http.map(|http::Figures { own, http }| {
        figure("through HTTP × engine", http.into(), own.into(), OF_ENGINE)
    }));
    found
}
