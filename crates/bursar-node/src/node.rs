//! One process of Bursar: the engine on a thread of its own, the API and the channels beside it.

use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use bursar_connect::Connections;
use bursar_connect::webhook::{Post, Sender, Vault};
use bursar_core::delivery::{self, Parcel};
use bursar_core::effect::Effect;
use bursar_core::ids::Seed;
use bursar_core::payout::Event;
use bursar_core::request::Body;
use bursar_core::rules::Rules;
use bursar_engine::{
    Channels, Clock, Courier, Handle, Host, Limits, NotAdvanced, SystemClock, TestClock,
};
use bursar_server::{
    App, ChannelNumbers, DeliveryNumbers, Numbers, Settings, Submit, Submitted, Unanswered,
};
use bursar_store::{AnyStore, Browse as _, Location};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::failure::Failure;
#[cfg(feature = "temporal")]
use crate::temporal::{NodeOffice, Reader};
use crate::vault;

/// An engine that runs.
pub struct Node {
    handle: Handle,
    clock: Arc<dyn Clock>,
    thread: JoinHandle<()>,
    /// Everybody whom effects go to, for another host that runs them.
    #[cfg_attr(not(feature = "temporal"), expect(dead_code, reason = "only that host asks"))]
    outside: (Arc<dyn Channels>, Arc<dyn Courier>),
    /// What secrets are sealed with here.
    pub vault: Option<Arc<Vault>>,
    /// Ends when the engine has.
    pub ended: oneshot::Receiver<()>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

/// Everybody whom the engine sends to.
pub struct Outside {
    pub channels: Arc<dyn Channels>,
    pub sender: Arc<Sender>,
    /// What secrets are sealed with, if somebody has named it.
    pub keys: Option<String>,
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}

/// The channels, as the engine wants them.
struct Wired(Connections);

impl Channels for Wired {
    fn run(
        &self,
        effect: Effect,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        self.0.run(effect, deadline)
    }
}

/// Whoever brings what merchants are told, as the engine wants it.
struct Carrier(Post);

impl Courier for Carrier {
    fn send(
        &self,
        parcel: Parcel,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = delivery::Event> + Send>> {
        let post = self.0.clone();
        Box::pin(async move { post.send(parcel, deadline).await })
    }
}

impl Node {
    /// Opens the books and starts the engine. Must be called inside the runtime that runs the channels.
    pub async fn start(
        location: &Location,
        rules: Arc<Rules>,
        (connections, sender): (Connections, Arc<Sender>),
        has_test_clock: bool,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = if has_test_clock {
            Arc::new(TestClock::default())
        } else {
            Arc::new(SystemClock::default())
        };
        let keys = vault::named();
        let outside = Outside { channels: Arc::new(Wired(connections)), sender, keys };
        Self::start_with(location, rules, outside, clock).await
    }

    /// The same with whatever channels and clock there are.
    pub async fn start_with(
        location: &Location,
        rules: Arc<Rules>,
        outside: Outside,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        let Outside { channels, sender, keys } = outside;
        let seed = fresh_seed()?;
        let effects = tokio::runtime::Handle::current();
        let (started, is_started) = oneshot::channel();
        let (over, ended) = oneshot::channel();
        let (location, engine_clock) = (location.clone(), Arc::clone(&clock));
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            let _over = over;
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(Failure::from(error)))),
            };
            let (store, vault) = match runtime.block_on(open(&location, &rules, keys)) {
                Ok(opened) => opened,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            let courier: Arc<dyn Courier> = Arc::new(Carrier(Post::new(sender, vault.clone())));
            let for_engine = Arc::clone(&channels);
            let (host, handle) =
                Host::new(store, rules, for_engine, engine_clock, (limits(), seed));
            let outside = (channels, Arc::clone(&courier));
            // Whoever waited may have gone; then nobody asks either.
            drop(started.send(Ok((handle, vault, outside))));
            let host = host.with_courier(courier).with_effects_on(effects);
            drop(runtime.block_on(host.run()));
        })?;
        let gone = |_| Failure::new("the engine ended before it began. Nothing was started");
        let (handle, vault, outside) = is_started.await.map_err(gone)??;
        Ok(Self { handle, clock, thread, outside, vault, ended })
    }

    pub fn submit(&self) -> Arc<dyn Submit> {
        Arc::new(Engine { handle: self.handle.clone(), clock: Arc::clone(&self.clock) })
    }

    /// For the Temporal host, which runs effects itself.
    #[cfg(feature = "temporal")]
    pub fn office(&self, location: Location, rules: Arc<Rules>) -> NodeOffice {
        NodeOffice {
            handle: self.handle.clone(),
            clock: Arc::clone(&self.clock),
            channels: Arc::clone(&self.outside.0),
            courier: Arc::clone(&self.outside.1),
            rules,
            runtime: tokio::runtime::Handle::current(),
            reader: Reader::new(location),
        }
    }

    /// Takes nothing new, and comes to rest once everything in flight is back and saved.
    pub fn stop(&self) {
        self.handle.stop();
    }

    /// Once it has ended.
    pub fn join(self) -> Result<(), Failure> {
        self.thread.join().map_err(|_| {
            Failure::new(
                "the engine failed. What was answered is saved; start it again, and report this",
            )
        })
    }
}

/// As many deliveries at once as half of the files that may be open.
fn limits() -> Limits {
    let known = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = known.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = files.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok());
    let limits = Limits::default();
    let most = files.map_or(limits.deliveries_max, |files| (files >> 1).max(1));
    Limits { deliveries_max: limits.deliveries_max.min(most), ..limits }
}

/// The books, if every payout that is under way has its channel: the others could not come to an end.
async fn open(
    location: &Location,
    rules: &Rules,
    keys: Option<String>,
) -> Result<(AnyStore, Option<Arc<Vault>>), Failure> {
    let mut store = location.open().await?;
    let vault = vault::open(location, &mut store, keys).await?;
    let live = store.live_channels().await?;
    let missing: Vec<String> =
        live.into_iter().filter(|name| !rules.channels.contains_key(name)).collect();
    if missing.is_empty() {
        return Ok((store, vault));
    }
    Err(Failure::new(format!(
        "payouts are under way through {}, which the configuration does not have: nothing was started. Keep a channel configured until its payouts are final",
        missing.join(", ")
    )))
}

/// The embedded engine, as the server wants it.
struct Engine {
    handle: Handle,
    clock: Arc<dyn Clock>,
}

impl Submit for Engine {
    fn ask(&self, body: Body) -> Submitted<'_, bursar_core::request::Answer> {
        Box::pin(async move {
            self.handle.ask(body).await.map_err(|error| match error {
                bursar_engine::Unanswered::Busy => Unanswered::Busy,
                bursar_engine::Unanswered::Stopping => Unanswered::Stopping,
                bursar_engine::Unanswered::NotSaved(reason) => Unanswered::NotSaved(reason),
                failed @ bursar_engine::Unanswered::Failed => {
                    Unanswered::Failed(failed.to_string())
                }
            })
        })
    }

    fn numbers(&self) -> Numbers {
        let stats = self.handle.stats();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let channel = |stats: &bursar_engine::ChannelStats| ChannelNumbers {
            submissions: stats.submissions,
            unknown: stats.unknown,
            unmapped: stats.unmapped,
        };
        Numbers {
            turns: stats.turns,
            requests: stats.requests,
            not_saved: stats.not_saved,
            panics: stats.panics,
            quarantined: stats.set_aside,
            dropped_reports: stats.dropped_reports,
            in_flight: count(stats.in_flight),
            inbox: count(stats.inbox),
            last_turn: stats.last_turn_at,
            not_saved_at: stats.not_saved_at,
            latest_alert: stats.latest_alerts.back().map(|(at, alert)| (*at, alert.to_string())),
            channels: stats
                .channels
                .iter()
                .map(|(name, stats)| (name.clone(), channel(stats)))
                .collect(),
            deliveries: DeliveryNumbers {
                taken: stats.deliveries.taken,
                failed: stats.deliveries.failed,
                unsendable: stats.deliveries.unsendable,
                unsent: stats.deliveries.unsent,
                in_flight: stats.deliveries.in_flight,
                milliseconds: stats.deliveries.milliseconds,
            },
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn advance(&self, seconds: u64) -> Submitted<'_, Timestamp> {
        Box::pin(async move {
            let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            self.handle.advance(seconds).await.map_err(|error| match error {
                NotAdvanced::Stopping => Unanswered::Stopping,
                NotAdvanced::RealTime | NotAdvanced::Unreadable(_) => {
                    Unanswered::Failed(error.to_string())
                }
            })
        })
    }
}

/// Watches for what somebody must look at, and shows how it goes to whoever asks there; for ever.
#[cfg(feature = "temporal")]
pub async fn watch(app: App, listener: Option<TcpListener>) {
    let watching = bursar_server::watch(app.clone());
    let Some(listener) = listener else { return watching.await };
    let shown = axum::serve(listener, bursar_server::probes(&app)).into_future();
    tokio::join!(watching, async { drop(shown.await) });
}

/// Serves the API until `stopped`, and finishes what is being asked.
pub async fn serve(
    listener: TcpListener,
    submit: Arc<dyn Submit>,
    location: Location,
    rules: Arc<Rules>,
    settings: Settings,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let app = App::new(submit, location, rules, settings);
    let watching = tokio::spawn(bursar_server::watch(app.clone()));
    let router = bursar_server::router(&app);
    let served = axum::serve(listener, router).with_graceful_shutdown(stopped).await;
    watching.abort();
    served.map_err(|error| Failure::new(format!("the API has ended: {error}")))
}

/// Chance, for the ids of what this process makes.
pub fn fresh_seed() -> Result<Seed, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("this machine gives no randomness: {error}")))?;
    Ok(Seed::new(bytes))
}
