//! A Bursar process that a benchmark starts, measures and kills. Its channel accepts submissions and never answers.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bursar_connect::Guard;
use bursar_core::flow::Effect;
use bursar_core::payouts::Create;
use bursar_core::rules::Rules;
use bursar_engine::{Outside, Running, SystemClock};
use bursar_node::books::{BooksOptions, make};
use bursar_node::failure::Failure;
use bursar_node::node::{Calls, Node};
use bursar_node::terminal;
use bursar_server::Host;
use bursar_store::{ClockKind, Location};
use clap::Args;
use jiff::SignedDuration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::http::{all, answered, sender};
use super::payouts::{Merchants, Payouts, registrations_and_openings, rules};

/// Timeout of a call; short, so that the calls of a killed process are soon queried.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(1);
/// Added to the timeout of a call for its lease.
const LEASE: Duration = Duration::from_secs(17);
/// Concurrent callers of the engine.
const CALLERS: u32 = 256;

/// Concurrency of the channel: above the number of payouts.
const IN_FLIGHT: u32 = 10_000_000;

pub(super) fn silent_rules() -> Result<Rules, Failure> {
    let mut rules = rules(IN_FLIGHT)?;
    for channel in rules.channels.values_mut() {
        channel.clocks.submit_timeout = TIMEOUT;
    }
    Ok(rules)
}

pub(super) struct Silent;

impl Outside for Silent {
    fn run(&self, _: Effect, _: tokio::time::Instant) -> Running {
        Box::pin(std::future::pending())
    }
}

/// `bench process`: serves books until it is killed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    data: Option<std::path::PathBuf>,
    #[arg(long)]
    database_url: Option<String>,
    /// Create funded merchants first
    #[arg(long)]
    fresh: bool,
    /// Payouts to create before the process reports ready
    #[arg(long)]
    count: u32,
    /// The number of the first payout
    #[arg(long)]
    number: u64,
}

impl Arguments {
    pub(super) fn run(self) -> Result<(), Failure> {
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let location = match (self.data, self.database_url) {
                (Some(data), _) => Location::Directory(data),
                (None, Some(url)) => Location::Database(url),
                (None, None) => return Err(Failure::new("name the books")),
            };
            let calls = Calls {
                channels: Arc::new(Silent),
                sender: sender()?,
                keys: None,
                guard: Guard::default(),
            };
            let (rules, clock) = (Arc::new(silent_rules()?), Arc::new(SystemClock::default()));
            let node = start_node(&location, rules, calls, clock).await?;
            let submit = node.host();
            if self.fresh {
                for body in registrations_and_openings() {
                    answered(submit.ask(body).await)?;
                }
            }
            ask(&submit, self.count, self.number).await?;
            terminal::say(&format!("{}", resident()))?;
            std::future::pending().await
        })
    }
}

async fn ask(submit: &Arc<dyn Host>, count: u32, number: u64) -> Result<(), Failure> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS.min(count) {
        let submit = Arc::clone(submit);
        let share = count.saturating_sub(caller).div_ceil(CALLERS);
        let number = number.saturating_add(u64::from(caller));
        callers.spawn(async move {
            for (key, payout) in Payouts::new(Merchants::Uniform, number).next(share) {
                answered(
                    submit.ask(Create { key, payout, actor: None, workflow: None }.into()).await,
                )?;
            }
            Ok::<(), Failure>(())
        });
    }
    all(callers).await
}

/// Resident memory of this process, in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.unwrap_or_default().trim().trim_end_matches(" kB");
    digits.parse().unwrap_or_default()
}

/// A started process.
pub(super) struct Process {
    child: Child,
    /// From the start until every request was answered.
    pub(super) took: Duration,
    /// Resident memory at that time, in kilobytes.
    pub(super) resident: u64,
}

impl Process {
    /// Returns when the process is ready.
    pub(super) async fn start(
        location: &Location,
        is_fresh: bool,
        count: u32,
        number: u64,
    ) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "process", "--count", &count.to_string()]);
        command.args(["--number", &number.to_string()]);
        match location {
            Location::Directory(path) => command.arg("--data").arg(path),
            Location::Database(url) => command.arg("--database-url").arg(url),
        };
        if is_fresh {
            command.arg("--fresh");
        }
        let started = Instant::now();
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut said = String::new();
        if let Some(output) = &mut child.stdout {
            BufReader::new(output).read_line(&mut said).await?;
        }
        let took = started.elapsed();
        match said.trim().parse() {
            Ok(resident) => Ok(Self { child, took, resident }),
            Err(_) => Err(Failure::new("the other process has failed. Nothing was measured")),
        }
    }

    /// `kill -9`.
    pub(super) async fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        Ok(())
    }
}

/// Time until every lease of a killed process has expired.
pub(super) async fn leases_end() {
    tokio::time::sleep(LEASE).await;
}

/// Starts a node on books of a benchmark, and makes them if they are not finished.
pub(super) async fn start_node(
    location: &Location,
    rules: Arc<Rules>,
    calls: Calls,
    clock: Arc<SystemClock>,
) -> Result<Node, Failure> {
    if location.open().await.is_err() {
        make(location, Some(ClockKind::Real)).await?;
    }
    let books = BooksOptions::unwatched(ClockKind::Real);
    Node::start_with(location, rules, calls, clock, books).await
}
