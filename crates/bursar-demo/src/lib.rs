//! `bursar demo`: a complete system in one process, over real sockets. Merchants create payouts through hostile providers,
//! and a report shows whether every invariant held.

mod api_clients;
mod audit;
mod data_directory;
mod delivery_audit;
mod dice;
mod feed;
mod operators;
mod plan;
mod receivers;
mod report;
mod setup;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bursar_node::cluster_args::{ClusterArguments, TempCluster};
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::host::EngineName;
use bursar_node::signals::stop;
use bursar_node::terminal;
use clap::Args;
use serde_json::Value;
use tokio::runtime::Builder;

use api_clients::ApiClients;
use audit::Evidence;
use data_directory::DataDirectory;
use delivery_audit::DeliveryAudit;
use feed::{Feed, PayoutHistory};
use operators::{Operators, closed_books};
use plan::Plan;
use receivers::Receivers;
use report::Report;
use setup::{CHANNEL_NAMES, Setup};

/// Run payouts in five markets through hostile providers, over real sockets, and check every invariant
///
/// One process runs the engine and its API on SQLite, and two hostile providers with their own books. Merchants receive
/// pay-ins, then create payouts over HTTP, some of them twice under the same key. Some merchants have webhook receivers
/// that are slow, flaky or down. At the end the providers become calm, operators resolve the stuck payouts, and an audit
/// compares all records with each other. Nothing leaves this machine.
///
/// With `--engine temporal`, workflows on a cluster drive payouts and webhooks, and the worker runs in this process.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Number of payouts [default: 3000, or with `--engine temporal` 150]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    payouts: Option<u64>,
    /// The seed of the requests and of the providers' behaviour
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The host that drives payouts and webhooks
    #[arg(long, value_enum, default_value_t)]
    engine: EngineName,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Keep the API running afterwards, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// Keep the books in this new directory, for `bursar ledger`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// How long providers stay hostile after the last request, and how long each later step may take.
const HOSTILE_TIME: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_mins(2);
/// A dev server is slow.
const TIMEOUT_ON_A_CLUSTER: Duration = Duration::from_mins(10);
/// Half a minute on two cores.
const PAYOUTS: u64 = 3_000;
/// Throughput on two cores, for the estimate that is printed.
const PAYOUTS_A_MINUTE: u64 = 10_000;
const PAYOUTS_ON_A_CLUSTER: u64 = 150;
/// Longer than all requests take.
const NO_TIMEOUT: Duration = Duration::from_hours(24);

impl Arguments {
    pub fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let config = Config::load(config)?;
        let place = DataDirectory::new(self.data.clone())?;
        self.announce();
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(self.run_in(config, &place));
        runtime.shutdown_background();
        done
    }

    async fn run_in(&self, config: Config, place: &DataDirectory) -> Result<(), Failure> {
        let mut stopped = std::pin::pin!(stop()?);
        let plan = Plan::new(&config.markets()?, &CHANNEL_NAMES, self.payouts(), self.seed)?;
        let mut cluster = tokio::select! {
            cluster = self.find() => cluster?,
            () = &mut stopped => return Err(was_stopped()),
        };
        let opened = tokio::select! {
            opened = Setup::open(config, &place.path, self.seed, cluster.as_mut()) => opened,
            () = &mut stopped => Err(was_stopped()),
        };
        let setup = match opened {
            Ok(setup) => setup,
            Err(failure) => {
                if let Some(cluster) = cluster {
                    cluster.close().await;
                }
                return Err(failure);
            }
        };
        let kept = tokio::select! {
            kept = self.run_scenario(&setup, plan) => kept,
            () = &mut stopped => Err(was_stopped()),
        };
        if self.serve && kept.is_ok() {
            terminal::say(&format!("\nBURSAR_URL={} BURSAR_KEY={}", setup.url, setup.admin_key))?;
            terminal::say(
                "The API stays up until Ctrl-C; try `bursar payout list`, `bursar webhook dead-letters`, or /docs.",
            )?;
            stopped.await;
        }
        setup.close(cluster).await?;
        kept
    }

    /// Prints what the demo does and how long it takes, to standard error; standard output is the report.
    fn announce(&self) {
        let payouts = self.payouts();
        let (driver, duration) = match (self.engine, payouts.div_ceil(PAYOUTS_A_MINUTE)) {
            (EngineName::Temporal, _) => (" on a Temporal cluster", "a few minutes".to_owned()),
            (EngineName::Embedded, _) if payouts <= PAYOUTS => {
                ("", "about half a minute".to_owned())
            }
            (EngineName::Embedded, 1) => ("", "about a minute".to_owned()),
            (EngineName::Embedded, minutes) => ("", format!("about {minutes} minutes")),
        };
        terminal::note(&format!(
            "{payouts} payouts{driver} through two hostile providers, over real sockets: {duration} on two cores. Nothing leaves this machine; Ctrl-C stops it"
        ));
    }

    fn payouts(&self) -> u64 {
        self.payouts.unwrap_or(match self.engine {
            EngineName::Embedded => PAYOUTS,
            EngineName::Temporal => PAYOUTS_ON_A_CLUSTER,
        })
    }

    const fn timeout(&self) -> Duration {
        match self.engine {
            EngineName::Embedded => TIMEOUT,
            EngineName::Temporal => TIMEOUT_ON_A_CLUSTER,
        }
    }

    /// The cluster, with `--engine temporal`.
    async fn find(&self) -> Result<Option<TempCluster>, Failure> {
        if self.engine == EngineName::Embedded {
            return Ok(None);
        }
        let cluster = TempCluster::find(&self.cluster).await?;
        let (payouts, name) = (self.payouts(), cluster.name());
        terminal::say(&format!("{payouts} payouts, driven by workflows on {name}\n"))?;
        Ok(Some(cluster))
    }

    /// From the first pay-in to the report.
    async fn run_scenario(&self, setup: &Setup, plan: Plan) -> Result<(), Failure> {
        let Plan { merchants, payins, orders, overdrafts } = plan;
        let timeout = self.timeout();
        let clients = ApiClients::open(setup, &merchants).await?;
        let operators = Operators::open(setup, &clients).await?;
        let receivers = Receivers::open(setup, &clients, &merchants, self.seed).await?;
        let payins = clients.record_payins(payins).await?;
        let overdrawn = clients.overdraw(&overdrafts).await?;

        let mut feed = Feed::new(&clients.admin, terminal::status_progress(self.payouts()));
        let count = orders.len();
        let is_asked = Cell::new(false);
        let asking = async {
            let created = clients.pay(orders).await;
            is_asked.set(true);
            created
        };
        let following = feed.until(NO_TIMEOUT, |feed| is_asked.get() && feed.all(count, |_| true));
        let rotating = receivers.rotate(&clients);
        let (created, _, ()) = tokio::try_join!(asking, following, rotating)?;
        feed.until(HOSTILE_TIME, |feed| feed.all(count, PayoutHistory::is_settled_or_stuck))
            .await?;
        for provider in &setup.providers {
            provider.calm().await?;
        }
        feed.until(timeout, |feed| feed.all(count, PayoutHistory::is_settled_or_stuck)).await?;
        let books = closed_books(setup).await?;
        let decisions = operators.decide(&feed, &books).await?;
        feed.until(timeout, |feed| feed.all(count, |history| history.is_final)).await?;
        let delivery_audit = DeliveryAudit::read(&clients.admin, timeout).await?;
        feed.finish();

        let books = closed_books(setup).await?;
        let evidence = Evidence {
            payins: &payins,
            created: &created,
            overdrawn: &overdrawn,
            merchants: merchants.len(),
            feed: &feed,
            books: &books,
            decisions: &decisions,
        };
        let (mut findings, cash) = evidence.check(&clients).await?;
        findings.extend(delivery_audit.check(&receivers, &feed.merchant_events));
        let report = Report {
            evidence: &evidence,
            findings: &findings,
            cash: &cash,
            delivery_audit: &delivery_audit,
            receivers: &receivers,
            seed: self.seed,
        };
        report.print()
    }
}

fn was_stopped() -> Failure {
    Failure::new("the demo was stopped. No real money was touched")
}

/// A text field of a response.
fn text_field<'v>(value: &'v Value, name: &str) -> Result<&'v str, Failure> {
    value.get(name).and_then(Value::as_str).ok_or_else(|| {
        Failure::new(format!("an answer has no `{name}`: {value}. No real money was touched"))
    })
}
