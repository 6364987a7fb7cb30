//! Scheduled payouts: disk space for each, and whether memory grows with their number.

use std::time::Duration;

use bursar_core::ids::Seed;
use bursar_core::rules::Rules;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_store::Location;
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::measure::{Lane, Work, failed};
use super::payouts::{Driver, Merchants, Payouts, in_flight_max, open, rules, runtime};
use super::process::Process;
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{self, Figure, Floor};
use crate::baseline::Baseline;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Number of scheduled payouts
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    pub(super) count: u32,
}

pub(super) const BATCH: u32 = 1_000;
/// Extra bytes that a scheduled payout may take, compared with a paid one.
const BEYOND: u64 = 1_024;
const PURPOSES: [&str; 3] = ["paid", "tenth", "sleeping"];

/// The scheduled time of the payouts.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    Now,
    InAYear,
}

/// Measurements with a tenth of the payouts, then with all.
struct Measured {
    /// Bytes of a paid payout and of a scheduled one.
    each: [u64; 2],
    /// Resident kilobytes of a process with a tenth of the payouts, and with all.
    resident: [u64; 2],
}

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let (runtime, rules) = (runtime()?, rules(in_flight_max(BATCH))?);
        let measured = runtime.block_on(async {
            match self.place.store {
                Kind::Memory => {
                    Err(Failure::new("what is in memory takes no disk. Name a store on disk"))
                }
                Kind::Sqlite => {
                    let directory = Directory::new(self.place.data.as_deref());
                    let mut books = directory.books(PURPOSES)?;
                    let each = self.fill(&mut books, &rules).await?;
                    // Only one process may open a data directory.
                    drop(books);
                    let places = ["tenth", "sleeping"].map(|purpose| directory.location(purpose));
                    Ok(Measured { each, resident: resident(&places).await? })
                }
                Kind::Postgres => {
                    let url = self.place.url();
                    let mut books = store_args::databases(url, PURPOSES).await?;
                    let each = self.fill(&mut books, &rules).await;
                    let [_, tenth, sleeping] = &books;
                    let places = [tenth, sleeping].map(|books| books.location(url));
                    let resident = resident(&places).await;
                    store_args::remove(books).await?;
                    Ok(Measured { each: each?, resident: resident? })
                }
            }
        })?;
        self.report(&measured)
    }

    /// Bytes of a paid payout and of a scheduled one.
    async fn fill<B: Baseline>(
        &self,
        [paid, tenth, all]: &mut [B; 3],
        rules: &Rules,
    ) -> Result<[u64; 2], Failure> {
        let few = self.count.div_ceil(10);
        let awake = fill(paid, rules, few, When::Now, nothing).await?;
        fill(tenth, rules, few, When::InAYear, nothing).await?;
        Ok([awake, fill(all, rules, self.count, When::InAYear, nothing).await?])
    }

    fn report(&self, measured: &Measured) -> Result<Vec<Figure>, Failure> {
        let Measured { each: [paid, sleeping], resident: [tenth, all] } = *measured;
        let store = self.place.store.name();
        terminal::say(&format!(
            "{} payouts sleep on {store}: {sleeping} bytes each in all, where a paid one takes {paid}; \
             a process beside them has {all} kB of memory, beside a tenth of them {tenth} kB",
            self.count
        ))?;
        let most = Some(Floor::AtMost(100));
        let disk = Figure {
            name: format!("sleeping.{store}"),
            value: sleeping.into(),
            unit: "bytes",
            limit: paid.saturating_add(BEYOND).into(),
            floor: most,
        };
        let memory = Figure {
            name: format!("sleeping.{store}.memory"),
            value: all.into(),
            unit: "kB",
            limit: tenth.into(),
            // Tolerance: resident memory varies between runs.
            floor: Some(Floor::AtMost(125)),
        };
        let figures = vec![disk, memory];
        summary::say_each(&figures)?;
        Ok(figures)
    }
}

/// Creates payouts and returns the bytes that each takes. `first` writes what is older than all of them.
pub(super) async fn fill<B: Baseline>(
    books: &mut B,
    rules: &Rules,
    count: u32,
    when: When,
    first: impl AsyncFnOnce(&mut B::Books, &Rules) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    open(books.books(), rules, Merchants::Uniform).await?;
    first(books.books(), rules).await?;
    let before = books.stored_bytes().await.map_err(|error| failed(&error))?;
    let mut driver = Driver::new(rules, BATCH, Seed::from(1));
    let mut payouts = Payouts::new(Merchants::Uniform, 1);
    let progress = terminal::progress(u64::from(count), "payouts");
    let time = &mut Duration::default();
    for size in (Work { count, batch: BATCH }).slices().concat() {
        let mut asked = payouts.next(size);
        if let When::InAYear = when {
            let year = SignedDuration::from_hours(365 * 24);
            let at = Timestamp::now().saturating_add(year).unwrap_or(Timestamp::MAX);
            for (_, payout) in &mut asked {
                payout.scheduled_at = Some(at);
            }
        }
        driver.ask(books.books(), rules, asked, time).await?;
        progress.inc(u64::from(size));
    }
    driver.finish(books.books(), rules, time).await?;
    progress.finish_and_clear();
    let after = books.stored_bytes().await.map_err(|error| failed(&error))?;
    let stored = after.zip(before).map(|(after, before)| after.saturating_sub(before));
    let lane = Lane { done: count, ..Lane::default() };
    lane.each(stored).parse().map_err(|_| Failure::new("this store does not say what it takes"))
}

async fn nothing<B>(_: &mut B, _: &Rules) -> Result<(), Failure> {
    Ok(())
}

/// Resident kilobytes of a process that serves each of these books, after its first reply.
async fn resident(places: &[Location; 2]) -> Result<[u64; 2], Failure> {
    let mut found = [0; 2];
    for (place, resident) in places.iter().zip(&mut found) {
        let process = Process::start(place, false, 1, 1_000_000).await?;
        *resident = process.resident;
        process.kill().await?;
    }
    Ok(found)
}
