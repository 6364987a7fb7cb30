//! A process of Bursar that a benchmark starts, watches and kills. Its channel takes everything and never answers.

use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bursar_core::effect::Effect;
use bursar_core::payout::Event;
use bursar_core::request::Body;
use bursar_core::rules::Rules;
use bursar_engine::{Channels, SystemClock};
use bursar_node::failure::Failure;
use bursar_node::node::{Node, Outside};
use bursar_node::terminal;
use bursar_server::Submit;
use bursar_store::Location;
use clap::Args;
use jiff::SignedDuration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::http::{all, answered, sender};
use super::payouts::{Merchants, Payouts, registrations_and_openings, rules};

/// How long a call may take, so that what a killed process had sent is soon to be asked about.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(1);
/// A lease is the time that a call may take, and this.
const LEASE: Duration = Duration::from_secs(17);
/// Callers of the engine at once.
const CALLERS: u32 = 256;

/// How many payouts may be at the channel at once: more than are ever asked for.
const IN_FLIGHT: u32 = 10_000_000;

pub(super) fn silent_rules() -> Result<Rules, Failure> {
    let mut rules = rules(IN_FLIGHT)?;
    for channel in rules.channels.values_mut() {
        channel.clocks.submit_timeout = TIMEOUT;
    }
    Ok(rules)
}

pub(super) struct Silent;

impl Channels for Silent {
    fn run(
        &self,
        _: Effect,
        _: tokio::time::Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>> {
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
    /// Open the books for merchants who have money
    #[arg(long)]
    fresh: bool,
    /// How many payouts are asked for before it says that it is there
    #[arg(long)]
    count: u32,
    /// The first of their numbers
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
            let outside = Outside { channels: Arc::new(Silent), sender: sender()?, keys: None };
            let (rules, clock) = (Arc::new(silent_rules()?), Arc::new(SystemClock::default()));
            let node = Node::start_with(&location, rules, outside, clock).await?;
            let submit = node.submit();
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

async fn ask(submit: &Arc<dyn Submit>, count: u32, number: u64) -> Result<(), Failure> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS.min(count) {
        let submit = Arc::clone(submit);
        let share = count.saturating_sub(caller).div_ceil(CALLERS);
        let number = number.saturating_add(u64::from(caller));
        callers.spawn(async move {
            for (key, payout) in Payouts::new(Merchants::Uniform, number).next(share) {
                answered(submit.ask(Body::CreatePayout { key, payout, actor: None }).await)?;
            }
            Ok::<(), Failure>(())
        });
    }
    all(callers).await
}

/// Memory that this process has, in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.unwrap_or_default().trim().trim_end_matches(" kB");
    digits.parse().unwrap_or_default()
}

/// The same from outside.
pub(super) struct Process {
    child: Child,
    /// From its start until it has answered everything that it was asked.
    pub(super) took: Duration,
    /// Memory that it had then, in kilobytes.
    pub(super) resident: u64,
}

impl Process {
    /// Returns when it has answered.
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

/// Until everything that a killed process had sent must be asked about.
pub(super) async fn leases_end() {
    tokio::time::sleep(LEASE).await;
}
