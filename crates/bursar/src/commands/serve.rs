//! `bursar serve`: the API and the engine in one process.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bursar_connect::webhook::Sender;
use bursar_core::flow::host::Hosting;
use bursar_core::money::Currency;
use bursar_core::payouts::channel::Channel;
use bursar_core::rules::Rules;
use bursar_node::books::{check_absent, make_unless_there};
use bursar_node::config::{Config, admin_key};
use bursar_node::failure::Failure;
use bursar_node::host::{ClusterArguments, EngineName, relay};
use bursar_node::node::{Node, serve};
use bursar_node::rulebook::load_rulebook;
use bursar_node::signals::stop;
use bursar_node::terminal;
use bursar_server::{Settings, WebhookSettings};
use bursar_store::{ClockKind, Location};
use clap::Args;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;
use tokio::sync::watch;

use super::ledger::StoreArguments;

/// Run the API and the engine in one process
///
/// Several processes may share one PostgreSQL database; a data directory is for one process alone. The variable
/// `BURSAR_ADMIN_KEY` sets an admin key, to issue the first API keys with. `BURSAR_LOG` sets the log filter.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    /// The host that drives payouts and webhooks
    #[arg(long, value_enum, default_value_t)]
    engine: EngineName,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Use a test clock, moved by `POST /v1/test-clock/advance`; for one process, never for real money
    #[arg(long)]
    test_clock: bool,
    /// Make new books if there are none, and this machine knows of none that are gone
    #[arg(long)]
    init: bool,
}

/// How long a stopping process waits for effects in flight. The next process queries the channels about effects that did
/// not complete.
const DRAIN: Duration = Duration::from_secs(20);

/// Connections that wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 4_096;

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let config = Config::load(config)?;
        terminal::log()?;
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(self.serve(&config));
        // Effects in flight end with the process; the next process sees their expired leases.
        runtime.shutdown_background();
        done
    }

    async fn serve(self, config: &Config) -> Result<(), Failure> {
        config.check_secrets(self.listen)?;
        let mut rules = config.rules(load_rulebook(config.chart_path().as_deref())?)?;
        if self.test_clock {
            // With a test clock, retry times must be predictable.
            rules.deliveries.jitter_percent = 0;
        }
        let location = self.store.location()?;
        if self.engine == EngineName::Temporal {
            self.cluster.check(&location, self.test_clock)?;
            rules.hosting = Hosting::Temporal(config.temporal.naming());
        }
        let rules = Arc::new(rules);
        let outside = (config.connections(&rules)?, config.webhooks.sender()?);
        let mut settings = settings(config, Arc::clone(&outside.1), self.test_clock)?;
        let listener = listen(self.listen).await?;
        let address = listener.local_addr()?;
        let stopped = stop()?;
        let clock = if self.test_clock { ClockKind::Test } else { ClockKind::Real };
        let books = config.books(clock);
        if self.init && !location.exists().await? {
            check_absent(&location, books.witness.as_deref())?;
            make_unless_there(&location, clock).await?;
        }
        let mut node = Node::start(&location, Arc::clone(&rules), outside, books).await?;
        settings.webhooks.vault.clone_from(&node.vault);
        announce(&location, self.engine, &rules, node.vault.is_some());
        config.log_warnings(&rules);
        if settings.admin_key.is_none() {
            tracing::warn!(
                "BURSAR_ADMIN_KEY is not set: only keys that were issued before open the API"
            );
        }
        let relaying = match self.engine {
            EngineName::Temporal => Some(relay(&self.cluster, &node, &location, &rules)?),
            EngineName::Embedded => None,
        };
        let relay_failed = async {
            let Some(relaying) = relaying else { return std::future::pending().await };
            relaying.await.unwrap_or_else(|_| {
                Failure::new("the relay has failed. The outbox is relayed to the cluster after the next start; report this")
            })
        };
        terminal::say(&format!("listening on http://{address}"))?;
        let (closing, mut is_closing) = watch::channel(false);
        let closed = async move { drop(is_closing.wait_for(|closing| *closing).await) };
        let serving = serve(listener, node.host(), location, rules, settings, closed);
        tokio::pin!(serving);
        let ended = tokio::select! {
            () = &mut serving => return Err(Failure::new("the API has ended by itself. Start it again, and report this")),
            _ = &mut node.ended => {
                return node.join().and(Err(Failure::new("the engine has ended by itself. Start it again, and report this")));
            }
            failure = relay_failed => Err(failure),
            () = stopped => Ok(()),
        };
        tracing::info!("stopping: draining requests and effects");
        closing.send_replace(true);
        drop(tokio::time::timeout(DRAIN, serving).await);
        node.stop();
        if tokio::time::timeout(DRAIN, &mut node.ended).await.is_err() {
            tracing::warn!(
                "some effects did not complete: the channels are queried about them after the next start"
            );
            return ended;
        }
        node.join().and(ended)
    }
}

/// Logs what this process serves.
fn announce(location: &Location, engine: EngineName, rules: &Rules, can_sign: bool) {
    let channel = |channel: &Channel| {
        let currencies: Vec<&str> = channel.currencies.iter().map(Currency::code).collect();
        format!("{} ({})", channel.name, currencies.join(" "))
    };
    let channels: Vec<String> = rules.channels.values().map(channel).collect();
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, books = %location, engine = engine.name(), "serving");
    if channels.is_empty() {
        tracing::info!("no channel is configured: payouts are refused until one is");
    } else {
        tracing::info!(channels = channels.join(", "), "payouts go through these channels");
    }
    if can_sign {
        tracing::info!("webhooks are signed");
    } else {
        tracing::warn!(
            "webhooks cannot be signed: no endpoint can be added. Set BURSAR_SECRET_KEYS, the same in every process"
        );
    }
}

pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bound = async {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bound.await.map_err(|error| {
        Failure::new(format!("cannot listen on {address}: {error}. Choose another address"))
    })
}

pub(super) fn settings(
    config: &Config,
    sender: Arc<Sender>,
    has_test_clock: bool,
) -> Result<Settings, Failure> {
    Ok(Settings {
        admin_key: admin_key()?,
        rate_limit_per_s: config.api.rate_limit_per_s,
        http: config.http_limits()?,
        callbacks: config.callbacks()?,
        alerts: config.alert_limits()?,
        has_test_clock,
        answer_timeout: config.answer_timeout(),
        webhooks: WebhookSettings { brand: config.webhooks.brand.clone(), sender, vault: None },
    })
}
