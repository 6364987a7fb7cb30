//! `bursar demo`: the whole of it in one process, over real sockets: merchants pay people out through providers that
//! misbehave, and a report says whether every promise was kept.

mod audit;
mod crowd;
mod dice;
mod feed;
mod letters;
mod people;
mod place;
mod plan;
mod receivers;
mod report;
mod stage;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::host::EngineName;
use bursar_node::signals::stop;
use bursar_node::terminal;
use bursar_node::visit::{Venue, VisitArguments};
use clap::Args;
use serde_json::Value;
use tokio::runtime::Builder;

use audit::Evidence;
use crowd::Crowd;
use feed::{Feed, Story};
use letters::Letters;
use people::{People, closed_books};
use place::Place;
use plan::Plan;
use receivers::Receivers;
use report::Report;
use stage::{CHANNEL_NAMES, Stage};

/// Payouts in five markets through providers that misbehave, over real sockets, with every promise checked
///
/// Books in SQLite, the engine and its API, and two hostile providers with books of their own run in this one process.
/// Merchants are paid in, then pay out over HTTP, some of it twice under the same key, and some are told by webhooks to servers
/// that are slow, moody or down. In the end the providers calm down,
/// people decide what is still stuck, and everything is held against everything else. Nothing leaves this machine.
///
/// With `--engine temporal` payouts and webhooks are driven by workflows on a cluster, and the worker runs in this process.
#[derive(Debug, Args)]
pub struct Arguments {
    /// How many payouts [default: 3000, or with `--engine temporal` 150]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    payouts: Option<u64>,
    /// What is asked for, and how the providers throw their dice
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Who drives payouts and webhooks
    #[arg(long, value_enum, default_value_t)]
    engine: EngineName,
    #[command(flatten)]
    visit: VisitArguments,
    /// Leave the API up afterwards, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// Keep the books in this new directory, to look at them with `bursar ledger`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// How long providers may misbehave once everything was asked for, and how long the rest may take.
const HOSTILITY: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_mins(2);
/// A dev server is slow, and everything that happens is a workflow there or a part of one.
const PATIENCE_WITH_A_CLUSTER: Duration = Duration::from_mins(10);
/// About a minute on two cores.
const PAYOUTS: u64 = 3_000;
const PAYOUTS_ON_A_CLUSTER: u64 = 150;
/// Longer than anybody waits for all payouts to be asked for.
const FOR_EVER: Duration = Duration::from_hours(24);

impl Arguments {
    pub fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let config = Config::load(config)?;
        let place = Place::new(self.data.clone())?;
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(self.play(config, &place));
        runtime.shutdown_background();
        done
    }

    async fn play(&self, config: Config, place: &Place) -> Result<(), Failure> {
        let mut stopped = std::pin::pin!(stop()?);
        let plan = Plan::new(&config.markets()?, &CHANNEL_NAMES, self.payouts(), self.seed)?;
        let mut venue = tokio::select! {
            venue = self.find() => venue?,
            () = &mut stopped => return Err(was_stopped()),
        };
        let opened = tokio::select! {
            opened = Stage::open(config, &place.path, self.seed, venue.as_mut()) => opened,
            () = &mut stopped => Err(was_stopped()),
        };
        let stage = match opened {
            Ok(stage) => stage,
            Err(failure) => {
                if let Some(venue) = venue {
                    venue.close().await;
                }
                return Err(failure);
            }
        };
        let kept = tokio::select! {
            kept = self.act(&stage, plan) => kept,
            () = &mut stopped => Err(was_stopped()),
        };
        if self.serve && kept.is_ok() {
            terminal::say(&format!("\nBURSAR_URL={} BURSAR_KEY={}", stage.url, stage.admin_key))?;
            terminal::say(
                "The API stays up until Ctrl-C; try `bursar payout list`, `bursar webhook dead-letters`, or /docs.",
            )?;
            stopped.await;
        }
        stage.close(venue).await?;
        kept
    }

    fn payouts(&self) -> u64 {
        self.payouts.unwrap_or(match self.engine {
            EngineName::Embedded => PAYOUTS,
            EngineName::Temporal => PAYOUTS_ON_A_CLUSTER,
        })
    }

    const fn patience(&self) -> Duration {
        match self.engine {
            EngineName::Embedded => PATIENCE,
            EngineName::Temporal => PATIENCE_WITH_A_CLUSTER,
        }
    }

    /// Where workflows are to drive the flows, if they are.
    async fn find(&self) -> Result<Option<Venue>, Failure> {
        if self.engine == EngineName::Embedded {
            return Ok(None);
        }
        let venue = Venue::find(&self.visit).await?;
        let (payouts, name) = (self.payouts(), venue.name());
        terminal::say(&format!("{payouts} payouts, driven by workflows on {name}\n"))?;
        Ok(Some(venue))
    }

    /// From the first pay-in to the last promise.
    async fn act(&self, stage: &Stage, plan: Plan) -> Result<(), Failure> {
        let Plan { merchants, payins, orders, greedy } = plan;
        let patience = self.patience();
        let crowd = Crowd::open(stage, &merchants).await?;
        let people = People::hire(stage, &crowd).await?;
        let receivers = Receivers::open(stage, &crowd, &merchants, self.seed).await?;
        let collected = crowd.collect(payins).await?;
        let overdrawn = crowd.overdraw(&greedy).await?;

        let mut feed = Feed::new(&crowd.house, terminal::status_progress(self.payouts()));
        let count = orders.len();
        let is_asked = Cell::new(false);
        let asking = async {
            let made = crowd.pay(orders).await;
            is_asked.set(true);
            made
        };
        let following = feed.until(FOR_EVER, |feed| is_asked.get() && feed.all(count, |_| true));
        let rotating = receivers.rotate(&crowd);
        let (made, _, ()) = tokio::try_join!(asking, following, rotating)?;
        feed.until(HOSTILITY, |feed| feed.all(count, Story::is_at_rest)).await?;
        for provider in &stage.providers {
            provider.calm().await?;
        }
        feed.until(patience, |feed| feed.all(count, Story::is_at_rest)).await?;
        let books = closed_books(stage).await?;
        let rulings = people.decide(&feed, &books).await?;
        feed.until(patience, |feed| feed.all(count, |story| story.is_final)).await?;
        let letters = Letters::read(&crowd.house, patience).await?;
        feed.finish();

        let books = closed_books(stage).await?;
        let evidence = Evidence {
            collected: &collected,
            made: &made,
            overdrawn: &overdrawn,
            merchants: merchants.len(),
            feed: &feed,
            books: &books,
            rulings: &rulings,
        };
        let (mut findings, cash) = evidence.check(&crowd).await?;
        findings.extend(letters.check(&receivers, &feed.told));
        let report = Report {
            evidence: &evidence,
            findings: &findings,
            cash: &cash,
            letters: &letters,
            receivers: &receivers,
            seed: self.seed,
        };
        report.print()
    }
}

fn was_stopped() -> Failure {
    Failure::new("the demo was stopped. No real money was touched")
}

/// A text of an answer.
fn word<'v>(value: &'v Value, name: &str) -> Result<&'v str, Failure> {
    value.get(name).and_then(Value::as_str).ok_or_else(|| {
        Failure::new(format!("an answer has no `{name}`: {value}. No real money was touched"))
    })
}
