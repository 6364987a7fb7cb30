//! `bursar bench webhooks`: events per second from commit to the recorded 2xx, and whether a hanging endpoint delays a healthy
//! one.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use bursar_connect::Guard;
use bursar_connect::webhook::{Policy, Sender, Settings, SigningSecret, Vault};
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::registry::{Change, Registration};
use bursar_core::webhooks::{EndpointChange, PAYLOAD_VERSION, Settings as EndpointSettings};
use bursar_engine::SystemClock;
use bursar_node::failure::Failure;
use bursar_node::node::Calls;
use bursar_node::{terminal, vault};
use bursar_server::Host;
use bursar_store::{Browse as _, FlowFilter, Location};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::http::{all, answered};
use super::measure::failed;
use super::process::Silent;
use super::process::start_node;
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{self, Figure, Floor};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Number of events
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    pub(super) count: u32,
}

/// Merchants with an endpoint each.
const MERCHANTS: u32 = 64;
/// Concurrent callers that record pay-ins.
const CALLERS: u32 = 1_000;
/// The rate of a leading server on such a machine, and the required rate: see docs/benchmarks.md.
const LIMIT: u128 = 3_000;
/// Events of the healthy endpoint, at a steady rate, with and without the hanging endpoint.
const PACED: u32 = 1_000;
const PACE: Duration = Duration::from_millis(5);
/// Backlog of the hanging endpoint.
const HANGING: u32 = 2_000;
const HANGS_FOR: Duration = Duration::from_secs(10);

/// All measurements, on initially empty books.
struct Measured {
    rate: u128,
    /// Latency from the event to the recorded delivery, in microseconds: alone, and beside the hanging endpoint.
    p99: [u64; 2],
    p50: [u64; 2],
}

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let measured = runtime.block_on(async {
            match self.place.store {
                Kind::Memory => {
                    Err(Failure::new("an event must outlive the process. Name a store on disk"))
                }
                Kind::Sqlite => {
                    let directory = Directory::new(self.place.data.as_deref());
                    race(&directory.location("webhooks"), self.count).await
                }
                Kind::Postgres => {
                    let url = self.place.url();
                    let [books] = store_args::databases(url, ["webhooks"]).await?;
                    let measured = race(&books.location(url), self.count).await;
                    store_args::remove([books]).await?;
                    measured
                }
            }
        })?;
        // Hanging requests are not waited for.
        runtime.shutdown_background();
        self.report(&measured)
    }

    fn report(&self, measured: &Measured) -> Result<Vec<Figure>, Failure> {
        let store = self.place.store.name();
        let Measured { rate, p99: [alone, beside], p50 } = *measured;
        terminal::say(&format!(
            "{} events, each delivered to one of {MERCHANTS} endpoints on {store}: {rate} a second from commit to the recorded 2xx",
            self.count
        ))?;
        terminal::say(&format!(
            "a healthy endpoint, {PACED} events at a steady pace: p50 {} µs, p99 {alone} µs; while {HANGING} deliveries wait for one that hangs {} s each: p50 {} µs, p99 {beside} µs",
            p50[0],
            HANGS_FOR.as_secs(),
            p50[1]
        ))?;
        let rate = Figure {
            name: format!("webhooks.{store}"),
            value: rate,
            unit: "deliveries/s",
            limit: LIMIT,
            floor: Some(Floor::AtLeast(100)),
        };
        let isolation = Figure {
            name: format!("webhooks.{store}.p99"),
            value: beside.into(),
            unit: "µs",
            limit: alone.into(),
            floor: Some(Floor::AtMost(200)),
        };
        let figures = vec![rate, isolation];
        summary::say_each(&figures)?;
        Ok(figures)
    }
}

async fn race(location: &Location, count: u32) -> Result<Measured, Failure> {
    let sink = Sink::start().await?;
    let policy = Policy::new(&["127.0.0.1".to_owned()], &[]);
    let settings = Settings {
        policy: policy.map_err(|error| Failure::new(error.to_string()))?,
        ..Settings::default()
    };
    let sender = Sender::new(settings).map_err(|error| Failure::new(error.to_string()))?;
    let calls = Calls {
        channels: Arc::new(Silent),
        sender: Arc::new(sender),
        keys: Some(vault::fresh()?),
        guard: Guard::default(),
    };
    let rules = Arc::new(super::process::silent_rules()?);
    let node = start_node(location, rules, calls, Arc::new(SystemClock::default())).await?;
    let submit = node.host();
    let merchants = (0..MERCHANTS).map(|number| (format!("m{number}"), "fast"));
    let others = [("healthy".to_owned(), "fast"), ("hanging".to_owned(), "slow")];
    for (merchant, path) in merchants.chain(others) {
        let url = format!("http://{}/{path}", sink.address);
        register(submit.as_ref(), node.vault.as_deref(), &merchant, url).await?;
    }
    let started = Instant::now();
    tell_all(&submit, count).await?;
    settled(location).await?;
    let micros = started.elapsed().as_micros().max(1);
    let rate = u128::from(count).saturating_mul(1_000_000).checked_div(micros).unwrap_or_default();
    let alone = paced(&submit, location, 0).await?;
    let mut callers = JoinSet::new();
    for number in 0..HANGING {
        let submit = Arc::clone(&submit);
        callers.spawn(async move { record_payin(submit.as_ref(), "hanging", number).await });
    }
    all(callers).await?;
    let beside = paced(&submit, location, 1).await?;
    node.stop();
    Ok(Measured { rate, p50: [alone[0], beside[0]], p99: [alone[1], beside[1]] })
}

async fn register(
    submit: &dyn Host,
    vault: Option<&Vault>,
    merchant: &str,
    url: String,
) -> Result<(), Failure> {
    let ask = async |change| {
        let registration = Registration { actor: "bench".to_owned(), change };
        answered(submit.ask(registration.into()).await)
    };
    let (name, owner) = (merchant.to_owned(), merchant.to_owned());
    ask(Change::OpenMerchant { id: merchant.to_owned(), name }).await?;
    let id = EndpointId::new(Timestamp::now(), &Seed::join([]).child(["endpoint", merchant]), 0);
    let secret = SigningSecret::from_random([7; 32]);
    let sealed = vault.map(|vault| vault.seal_secret(id, &secret, [7; 12]));
    let sealed = sealed.ok_or_else(|| Failure::new("there are no keys to seal with"))?;
    let settings = EndpointSettings {
        url,
        event_types: ["*".to_owned()].into(),
        version: PAYLOAD_VERSION.to_owned(),
        header_names: Vec::new(),
        headers: None,
        concurrency: 32,
        rate_limit: None,
    };
    let secret = sealed.map_err(|error| Failure::new(error.to_string()))?;
    let change = EndpointChange::Add { settings, secret };
    ask(Change::Endpoint { id, merchant: owner, change }).await?;
    Ok(())
}

/// Records a pay-in, which emits one event for its merchant.
async fn record_payin(submit: &dyn Host, merchant: &str, number: u32) -> Result<(), Failure> {
    let reference = format!("{merchant}-{number}");
    let payin = NewPayIn {
        key: None,
        actor: None,
        merchant: merchant.to_owned(),
        provider: "bench".to_owned(),
        reference: reference.clone(),
        currency: "PKR".to_owned(),
        amount: "10.00".to_owned(),
        said: ProviderStatus::Completed,
        event: reference,
    };
    answered(submit.ask(payin.into()).await).map(drop)
}

async fn tell_all(submit: &Arc<dyn Host>, count: u32) -> Result<(), Failure> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let submit = Arc::clone(submit);
        let step = usize::try_from(CALLERS).unwrap_or(usize::MAX);
        callers.spawn(async move {
            for number in (caller..count).step_by(step) {
                let merchant = number.checked_rem(MERCHANTS).unwrap_or_default();
                record_payin(submit.as_ref(), &format!("m{merchant}"), number).await?;
            }
            Ok(())
        });
    }
    all(callers).await
}

/// Waits until nothing is in flight.
async fn settled(location: &Location) -> Result<(), Failure> {
    let mut reader = location.reader().await?;
    while !reader.live().await?.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The median and the 99th percentile of the healthy endpoint's delivery latency.
async fn paced(
    submit: &Arc<dyn Host>,
    location: &Location,
    round: u32,
) -> Result<[u64; 2], Failure> {
    let first = round.saturating_mul(PACED);
    let mut ticks = tokio::time::interval(PACE);
    let mut callers = JoinSet::new();
    for number in first..first.saturating_add(PACED) {
        ticks.tick().await;
        let submit = Arc::clone(submit);
        callers.spawn(async move { record_payin(submit.as_ref(), "healthy", number).await });
    }
    all(callers).await?;
    let filter = FlowFilter {
        kind: "delivery",
        merchant: Some("healthy".to_owned()),
        ..FlowFilter::default()
    };
    let mut reader = location.reader().await?;
    loop {
        let (mut took, mut place) = (Vec::new(), None);
        loop {
            let page = reader
                .list_flows_desc(&filter, place, 500)
                .await
                .map_err(|error| failed(&error))?;
            let taken = page.flows.iter().filter(|flow| flow.state.status() == "DELIVERED");
            took.extend(taken.map(|flow| flow.updated_at.duration_since(flow.created_at)));
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        let all = usize::try_from(first.saturating_add(PACED)).unwrap_or(usize::MAX);
        if took.len() < all {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        }
        // Newest first: deliveries of this round.
        took.truncate(usize::try_from(PACED).unwrap_or(usize::MAX));
        took.sort_unstable();
        let at = |percent: usize| {
            let place = took.len().saturating_mul(percent).div_ceil(100).saturating_sub(1);
            let took = took.get(place).map_or(0, SignedDuration::as_micros);
            u64::try_from(took).unwrap_or_default()
        };
        return Ok([at(50), at(99)]);
    }
}

/// The receiver, in its own process.
struct Sink {
    address: SocketAddr,
    _child: Child,
}

impl Sink {
    async fn start() -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "sink"]).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut said = String::new();
        if let Some(output) = &mut child.stdout {
            BufReader::new(output).read_line(&mut said).await?;
        }
        let address = said.trim().parse();
        let address = address.map_err(|_| Failure::new("the receiver did not start"))?;
        Ok(Self { address, _child: child })
    }
}

/// `bench sink`: accepts every webhook, at once or after a long time.
pub(super) fn sink() -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        terminal::say(&listener.local_addr()?.to_string())?;
        let slow = async || tokio::time::sleep(HANGS_FOR).await;
        let router = Router::new().route("/fast", post(async || ())).route("/slow", post(slow));
        axum::serve(listener, router).await?;
        Ok(())
    })
}
