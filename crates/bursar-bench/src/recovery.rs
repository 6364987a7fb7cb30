//! Recovery: a process is killed with many payouts in flight. When does the next process answer a new request?

use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_store::Location;
use clap::Args;
use tokio::runtime::Builder;

use super::process::{Process, leases_end};
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{Figure, Floor};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Payouts in flight when the process is killed
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(super) count: u32,
}

/// Required time to the first answer, in milliseconds.
const LIMIT: u128 = 5_000;

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let figure = match self.place.store {
            Kind::Memory => {
                return Err(Failure::new("what is in memory is gone. Name a store on disk"));
            }
            Kind::Sqlite => {
                let directory = Directory::new(self.place.data.as_deref());
                runtime.block_on(self.measure(&directory.location("recovery")))?
            }
            Kind::Postgres => runtime.block_on(async {
                let url = self.place.url();
                let [books] = store_args::databases(url, ["recovery"]).await?;
                let figure = self.measure(&books.location(url)).await;
                store_args::remove([books]).await?;
                figure
            })?,
        };
        let verdict = figure.verdict().unwrap_or_default();
        terminal::say(&format!("answered {} ms after the start: {verdict}", figure.value))?;
        terminal::say(&figure.line())?;
        Ok(vec![figure])
    }

    async fn measure(&self, location: &Location) -> Result<Figure, Failure> {
        let killed = Process::start(location, true, self.count, 1).await?;
        let (count, took) = (self.count, killed.took);
        killed.kill().await?;
        terminal::say(&format!("killed with {count} payouts in flight, made in {took:.1?}"))?;
        leases_end().await;
        let next = Process::start(location, false, 1, 1_000_000).await?;
        let value = next.took.as_millis();
        next.kill().await?;
        let floor = Some(Floor::AtMost(100));
        let name = format!("recovery.{}", self.place.store.name());
        Ok(Figure { name, value, unit: "ms", limit: LIMIT, floor })
    }
}
