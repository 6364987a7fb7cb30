//! Payouts driven by workflows on a Temporal cluster, compared with the embedded engine on the same PostgreSQL: rate, and cost
//! of each payout for the cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bursar_connect::Guard;
use bursar_core::flow::host::{Hosting, Naming};
use bursar_core::rules::Rules;
use bursar_engine::SystemClock;
use bursar_node::cluster_args::{ClusterArguments, TempCluster};
use bursar_node::failure::Failure;
use bursar_node::node::{Calls, Node};
use bursar_node::signals::stop;
use bursar_node::terminal;
use bursar_store::Location;
use bursar_temporal::{Counts, count_events};
use tokio::runtime::Builder;

use super::rules;
use crate::baseline::{Baseline as _, PostgresBaseline};
use crate::books::verify;
use crate::http::{Pays, ask_directly, merchant, prepare, sender, until_final};
use crate::process::start_node;
use crate::ratio;
use crate::store_args::{self, StoreArgs};
use crate::summary::{Figure, Floor};

/// Factor for the number of payouts of the embedded engine, which is faster.
const TIMES: u32 = 10;
/// Payouts in flight at the channel.
const IN_FLIGHT: u32 = 1_000;
/// Maximum cost of a payout without faults, for the cluster.
const EVENTS_MAX: u64 = 25;
const ACTIVITIES_MAX: u64 = 2;

/// A number of payouts, and the time until the last one was final.
#[derive(Clone, Copy)]
struct Measured {
    done: u32,
    time: Duration,
}

impl Measured {
    /// Payouts per minute: a dev server completes few per second.
    fn rate(self) -> u128 {
        let done = u128::from(self.done).saturating_mul(60_000);
        done.checked_div(self.time.as_millis().max(1)).unwrap_or_default()
    }

    fn per_second(self) -> String {
        ratio(self.rate(), 60)
    }
}

pub(super) fn run(
    place: &StoreArgs,
    cluster_args: &ClusterArguments,
    count: u32,
) -> Result<Vec<Figure>, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let stopped = stop()?;
        let url = place.url();
        let mut books = store_args::databases(url, ["embedded", "temporal"]).await?;
        let measured = tokio::select! {
            measured = race(&mut books, url, cluster_args, count) => measured,
            () = stopped => Err(Failure::new("the benchmark was stopped. Nothing was measured")),
        };
        let removed = store_args::remove(books).await;
        measured.and_then(|measured| removed.map(|()| measured))
    });
    runtime.shutdown_background();
    let (name, lanes, counts) = done?;
    report(&name, count, lanes, counts)
}

async fn race(
    [embedded, temporal]: &mut [PostgresBaseline; 2],
    url: &str,
    cluster_args: &ClusterArguments,
    count: u32,
) -> Result<(String, [Measured; 2], Counts), Failure> {
    let rules = rules(IN_FLIGHT)?;
    let mut cluster = TempCluster::find(cluster_args).await?;
    let times = count.saturating_mul(TIMES);
    let (own, node) = lane(&embedded.location(url), &rules, times, None).await?;
    node.stop();
    let hosted = Rules { hosting: Hosting::Temporal(Naming::ByMerchant), ..rules.clone() };
    let (theirs, node) = lane(&temporal.location(url), &hosted, count, Some(&mut cluster)).await?;
    let workflows = (0..count).map(|number| format!("disbursement-{}-{number}", merchant(number)));
    let counts = count_events(cluster.cluster(), workflows).await.map_err(|error| {
        Failure::new(format!("the histories cannot be read: {error}. Nothing was measured"))
    })?;
    let name = cluster.name().to_owned();
    cluster.close().await;
    node.stop();
    for books in [embedded, temporal] {
        verify(books.books(), &rules).await?;
    }
    Ok((name, [own, theirs], counts))
}

/// From the first request until every payout is final, with a channel that pays at once.
async fn lane(
    location: &Location,
    rules: &Rules,
    count: u32,
    cluster: Option<&mut TempCluster>,
) -> Result<(Measured, Node), Failure> {
    let (rules, clock) = (Arc::new(rules.clone()), Arc::new(SystemClock::default()));
    let calls =
        Calls { channels: Arc::new(Pays), sender: sender()?, keys: None, guard: Guard::default() };
    let node = start_node(location, Arc::clone(&rules), calls, clock).await?;
    if let Some(cluster) = cluster {
        cluster.start_worker(&node, location, &rules).await?;
    }
    let submit = node.host();
    prepare(submit.as_ref(), count).await?;
    let started = Instant::now();
    ask_directly(&submit, count).await?;
    until_final(location).await?;
    Ok((Measured { done: count, time: started.elapsed() }, node))
}

fn report(
    name: &str,
    count: u32,
    [own, theirs]: [Measured; 2],
    counts: Counts,
) -> Result<Vec<Figure>, Failure> {
    let Counts { workflows, events, tasks, activities, late } = counts;
    let each = |total: u64| ratio(total.into(), workflows.into());
    let none = || "–".to_owned();
    let rows = vec![
        vec!["embedded engine".to_owned(), own.per_second(), none(), none(), none()],
        vec![
            format!("workflows on {name}"),
            theirs.per_second(),
            each(events),
            each(tasks),
            each(activities),
        ],
    ];
    let title = format!("{} and {count} payouts, postgres", own.done);
    let header = [&title, "per second", "history events", "workflow tasks", "regular activities"];
    terminal::say(&terminal::table(&header, 1, rows).to_string())?;
    terminal::say("the books of both are right")?;
    if late > 0 {
        terminal::say(&format!(
            "the machine was too busy for {late} workflow tasks: each was given again, for two or three events more"
        ))?;
    }
    let most = |name: &str, value: u64, each: u64, unit| Figure {
        name: format!("payouts.temporal: {name}"),
        value: value.into(),
        unit,
        limit: workflows.saturating_mul(each).into(),
        floor: Some(Floor::AtMost(100)),
    };
    let figures = vec![
        most("events × 25 for each payout", events, EVENTS_MAX, "events"),
        most("activities × 2 for each payout", activities, ACTIVITIES_MAX, "activities"),
        Figure {
            name: "payouts.embedded".to_owned(),
            value: own.rate(),
            unit: "payouts/min",
            limit: theirs.rate(),
            floor: None,
        },
    ];
    for figure in &figures {
        let verdict = figure.verdict().map(|verdict| format!(", {verdict}"));
        let (name, ratio) = (&figure.name, figure.ratio());
        terminal::say(&format!("{name}: {ratio}{}", verdict.unwrap_or_default()))?;
    }
    let last = figures.last().map(Figure::line).unwrap_or_default();
    terminal::say(&last)?;
    Ok(figures)
}
