//! One process of Bursar: the engine on a thread of its own, the API and the channels beside it.

use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use bursar_connect::Connections;
use bursar_core::effect::Effect;
use bursar_core::payout::Event;
use bursar_core::request::Body;
use bursar_core::rules::Rules;
use bursar_engine::{Channels, Clock, Handle, Host, Limits, NotAdvanced, SystemClock, TestClock};
use bursar_server::{App, ChannelNumbers, Numbers, Settings, Submit, Submitted, Unanswered};
use bursar_store::{AnyStore, Browse as _, Location};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::commands::ledger::books::fresh_seed;
use crate::failure::Failure;

/// An engine that runs.
pub(crate) struct Node {
    handle: Handle,
    clock: Arc<dyn Clock>,
    thread: JoinHandle<()>,
    /// Ends when the engine has.
    pub(crate) ended: oneshot::Receiver<()>,
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

impl Node {
    /// Opens the books and starts the engine. Must be called inside the runtime that runs the channels.
    pub(crate) async fn start(
        location: &Location,
        rules: Arc<Rules>,
        connections: Connections,
        has_test_clock: bool,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = if has_test_clock {
            Arc::new(TestClock::default())
        } else {
            Arc::new(SystemClock::default())
        };
        Self::start_with(location, rules, Arc::new(Wired(connections)), clock).await
    }

    /// The same with whatever channels and clock there are.
    pub(crate) async fn start_with(
        location: &Location,
        rules: Arc<Rules>,
        channels: Arc<dyn Channels>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
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
            let store: AnyStore = match runtime.block_on(open(&location, &rules)) {
                Ok(store) => store,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            let (host, handle) =
                Host::new(store, rules, channels, engine_clock, (Limits::default(), seed));
            // Whoever waited may have gone; then nobody asks either.
            drop(started.send(Ok(handle)));
            drop(runtime.block_on(host.with_effects_on(effects).run()));
        })?;
        let gone = |_| Failure::new("the engine ended before it began. Nothing was started");
        let handle = is_started.await.map_err(gone)??;
        Ok(Self { handle, clock, thread, ended })
    }

    pub(crate) fn submit(&self) -> Arc<dyn Submit> {
        Arc::new(Engine { handle: self.handle.clone(), clock: Arc::clone(&self.clock) })
    }

    /// Takes nothing new, and comes to rest once everything in flight is back and saved.
    pub(crate) fn stop(&self) {
        self.handle.stop();
    }

    /// Once it has ended.
    pub(crate) fn join(self) -> Result<(), Failure> {
        self.thread.join().map_err(|_| {
            Failure::new(
                "the engine failed. What was answered is saved; start it again, and report this",
            )
        })
    }
}

/// The books, if every payout that is under way has its channel: the others could not come to an end.
async fn open(location: &Location, rules: &Rules) -> Result<AnyStore, Failure> {
    let mut store = location.open().await?;
    let live = store.live_channels().await?;
    let missing: Vec<String> =
        live.into_iter().filter(|name| !rules.channels.contains_key(name)).collect();
    if missing.is_empty() {
        return Ok(store);
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

/// Serves the API until `stopped`, and finishes what is being asked.
pub(crate) async fn serve(
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
