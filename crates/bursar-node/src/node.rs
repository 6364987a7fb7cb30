//! One Bursar process: the engine on its own thread, the API and the channels on another runtime.

use std::sync::Arc;
use std::thread::JoinHandle;

use bursar_connect::webhook::{Sender, Vault, WebhookClient};
use bursar_connect::{Connections, Guard};
use bursar_core::ids::Seed;
use bursar_core::rules::Rules;
use bursar_core::turn::Body;
use bursar_engine::{Clock, Handle, Host, NotAdvanced, Outside, SystemClock, TestClock};
use bursar_server::{App, ChannelStats, DeliveryStats, HostStats, Settings, Submitted, Unanswered};
use bursar_store::{Browse as _, ClockKind, Location};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::books::{self, BooksOptions, Watched};
use crate::failure::Failure;
use crate::files::engine_limits;
use crate::outside::{Channels, Connectors};
#[cfg(feature = "temporal")]
use crate::temporal::{NodePort, Reader};
use crate::vault;

/// A running engine.
pub struct Node {
    handle: Handle,
    clock: Arc<dyn Clock>,
    thread: JoinHandle<()>,
    /// For a host that runs effects itself.
    #[cfg_attr(
        not(feature = "temporal"),
        expect(dead_code, reason = "used by the Temporal host only")
    )]
    outside: Arc<dyn Outside>,
    /// The keys that encrypt endpoint secrets.
    pub vault: Option<Arc<Vault>>,
    /// Completes when the engine ends.
    pub ended: oneshot::Receiver<()>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

/// The connectors that run effects.
pub struct Calls {
    /// Runs every effect except webhook calls.
    pub channels: Arc<dyn Outside>,
    pub sender: Arc<Sender>,
    /// The keys that encrypt endpoint secrets, if configured.
    pub keys: Option<String>,
    /// What the channels ask before their first byte.
    pub guard: Guard,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Node {
    /// Opens the books and starts the engine. Must be called inside the runtime that runs the channels.
    pub async fn start(
        location: &Location,
        rules: Arc<Rules>,
        (connections, sender): (Connections, Arc<Sender>),
        books: BooksOptions,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = match books.clock {
            ClockKind::Test => Arc::new(TestClock::default()),
            ClockKind::Real => Arc::new(SystemClock::default()),
        };
        let keys = vault::from_environment();
        let guard = connections.guard();
        let calls = Calls { channels: Arc::new(Channels(connections)), sender, keys, guard };
        Self::start_with(location, rules, calls, clock, books).await
    }

    /// The same with given connectors and a given clock.
    pub async fn start_with(
        location: &Location,
        rules: Arc<Rules>,
        calls: Calls,
        clock: Arc<dyn Clock>,
        options: BooksOptions,
    ) -> Result<Self, Failure> {
        let Calls { channels, sender, keys, guard } = calls;
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
            let opened = runtime.block_on(open(&location, rules, keys, &options));
            let (store, rules, vault) = match opened {
                Ok(opened) => opened,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            if let Some(place) = store.store.place() {
                guard.set(move || place.check().is_ok());
            }
            let webhooks = WebhookClient::new(sender, vault.clone());
            let outside: Arc<dyn Outside> = Arc::new(Connectors { channels, webhooks });
            let for_engine = Arc::clone(&outside);
            let (host, handle) =
                Host::new(store, rules, for_engine, engine_clock, (engine_limits(), seed));
            // The caller may have stopped waiting.
            drop(started.send(Ok((handle, vault, outside))));
            let host = host.with_effects_on(effects);
            drop(runtime.block_on(host.run()));
        })?;
        let gone = |_| Failure::new("the engine ended before it began. Nothing was started");
        let (handle, vault, outside) = is_started.await.map_err(gone)??;
        Ok(Self { handle, clock, thread, outside, vault, ended })
    }

    pub fn host(&self) -> Arc<dyn bursar_server::Host> {
        Arc::new(Engine { handle: self.handle.clone(), clock: Arc::clone(&self.clock) })
    }

    /// The port for the Temporal host, which runs effects itself.
    #[cfg(feature = "temporal")]
    pub fn port(&self, location: Location, rules: Arc<Rules>) -> NodePort {
        NodePort {
            handle: self.handle.clone(),
            clock: Arc::clone(&self.clock),
            outside: Arc::clone(&self.outside),
            rules,
            runtime: tokio::runtime::Handle::current(),
            reader: Reader::new(location),
        }
    }

    /// Stops accepting requests and drains.
    pub fn stop(&self) {
        self.handle.stop();
    }

    /// Returns the result of the engine; call it after `ended`.
    pub fn join(self) -> Result<(), Failure> {
        self.thread.join().map_err(|_| {
            Failure::new(
                "the engine failed. What was answered is saved; start it again, and report this",
            )
        })
    }
}

/// Opens the books; fails if a payout in progress uses a channel that is not configured, because it could not end.
async fn open(
    location: &Location,
    rules: Arc<Rules>,
    keys: Option<String>,
    options: &BooksOptions,
) -> Result<(Watched, Arc<Rules>, Option<Arc<Vault>>), Failure> {
    let (mut books, rules) = books::open(location, rules, options).await?;
    let vault = vault::open(location, &mut books.store, keys).await?;
    let live = books.store.live_channels().await?;
    let missing: Vec<String> =
        live.into_iter().filter(|name| !rules.channels.contains_key(name)).collect();
    if missing.is_empty() {
        return Ok((books, rules, vault));
    }
    Err(Failure::new(format!(
        "payouts are under way through {}, which the configuration does not have: nothing was started. Keep a channel configured until its payouts are final",
        missing.join(", ")
    )))
}

/// The embedded engine as the host port of the server.
struct Engine {
    handle: Handle,
    clock: Arc<dyn Clock>,
}

impl bursar_server::Host for Engine {
    fn ask(&self, body: Body) -> Submitted<'_, bursar_core::turn::Answer> {
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

    fn stats(&self) -> HostStats {
        let stats = self.handle.stats();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let channel = |stats: &bursar_engine::ChannelStats| ChannelStats {
            submissions: stats.submissions,
            unknown: stats.unknown,
            unmapped: stats.unmapped,
        };
        HostStats {
            turns: stats.turns,
            requests: stats.requests,
            not_saved: stats.not_saved,
            panics: stats.panics,
            quarantined: stats.quarantined,
            dropped_reports: stats.dropped_outcomes,
            in_flight: count(stats.in_flight),
            inbox: count(stats.inbox),
            last_turn: stats.last_turn_at,
            not_saved_at: stats.not_saved_at,
            not_saved_because: stats.not_saved_because,
            latest_alert: stats.latest_alerts.back().map(|(at, alert)| (*at, alert.to_string())),
            channels: stats
                .channels
                .iter()
                .map(|(name, stats)| (name.clone(), channel(stats)))
                .collect(),
            deliveries: DeliveryStats {
                taken: stats.deliveries.accepted,
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

/// Raises alerts, and serves the probes if there is a listener. Never ends.
#[cfg(feature = "temporal")]
pub async fn watch(app: App, listener: Option<TcpListener>) {
    let watching = async {
        tokio::join!(bursar_server::watch(app.clone()), bursar_server::audit(app.clone()));
    };
    let Some(listener) = listener else { return watching.await };
    let probes = bursar_server::probes(&app);
    tokio::join!(watching, bursar_server::serve(listener, probes, &app, std::future::pending()));
}

/// Serves the API until `stopped`, then finishes open requests.
pub async fn serve(
    listener: TcpListener,
    host: Arc<dyn bursar_server::Host>,
    location: Location,
    rules: Arc<Rules>,
    settings: Settings,
    stopped: impl Future<Output = ()> + Send + 'static,
) {
    let app = App::new(host, location, rules, settings);
    let watching = tokio::spawn(bursar_server::watch(app.clone()));
    let auditing = tokio::spawn(bursar_server::audit(app.clone()));
    let router = bursar_server::router(&app);
    bursar_server::serve(listener, router, &app, stopped).await;
    watching.abort();
    auditing.abort();
}

/// A random seed for the ids that this process creates.
pub fn fresh_seed() -> Result<Seed, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("this machine gives no randomness: {error}")))?;
    Ok(Seed::new(bytes))
}
