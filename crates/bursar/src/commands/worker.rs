//! `bursar worker`: runs workflows and activities for a Temporal cluster.

use std::net::SocketAddr;
use std::path::Path;

use bursar_node::failure::Failure;
use bursar_node::host::{ClusterArguments, EngineName};
use clap::Args;

use super::ledger::StoreArguments;

/// Run workflows and activities for a Temporal cluster
///
/// Drives the payouts and deliveries that `bursar serve --engine temporal` or a Temporal client starts, on PostgreSQL.
/// Several workers may run. A worker waits until the cluster is reachable. On SIGTERM it drains.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The host that drives the flows
    #[arg(long, value_enum, default_value_t = EngineName::Temporal)]
    engine: EngineName,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    store: StoreArguments,
    /// Serve the SDK's Prometheus metrics at this address: tasks, pollers, latencies
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,
    /// Serve /healthz, /readyz and /metrics of this process at this address
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        if self.engine == EngineName::Embedded {
            return Err(Failure::new(
                "the embedded engine runs inside `bursar serve`: nothing was started. A worker is for --engine temporal",
            ));
        }
        self.work(config)
    }

    #[cfg(not(feature = "temporal"))]
    fn work(self, _: Option<&Path>) -> Result<(), Failure> {
        let Self { cluster, store, metrics: _, listen: _, engine: _ } = self;
        drop((cluster, store));
        Err(bursar_node::host::built_without_temporal())
    }
}

#[cfg(feature = "temporal")]
mod here {
    //! The build with Temporal.

    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use bursar_core::flow::host::Hosting;
    use bursar_node::config::Config;
    use bursar_node::failure::Failure;
    use bursar_node::node::{Node, watch};
    use bursar_node::rulebook::load_rulebook;
    use bursar_node::signals::stop;
    use bursar_node::{temporal, terminal};
    use bursar_server::App;
    use bursar_store::ClockKind;
    use bursar_temporal::{HostPort, Relay, Worker};
    use tokio::runtime::Builder;

    use super::Arguments;
    use crate::commands::serve::{listen, settings};

    /// How long a stopping process waits for running activities.
    const DRAIN: Duration = Duration::from_mins(1);

    impl Arguments {
        pub(super) fn work(self, config: Option<&Path>) -> Result<(), Failure> {
            let config = Config::load(config)?;
            terminal::log()?;
            let runtime = Builder::new_multi_thread().enable_all().build()?;
            let done = runtime.block_on(self.until_stopped(&config));
            // Effects in flight end with the process; the next process sees their expired leases.
            runtime.shutdown_background();
            done
        }

        async fn until_stopped(self, config: &Config) -> Result<(), Failure> {
            let mut rules = config.rules(load_rulebook(config.chart_path().as_deref())?)?;
            rules.hosting = Hosting::Temporal(config.temporal.naming());
            let rules = Arc::new(rules);
            let outside = (config.connections(&rules)?, config.webhooks.sender()?);
            let settings = settings(config, Arc::clone(&outside.1), false)?;
            let location = self.store.location()?;
            self.cluster.check(&location, false)?;
            let (options, stopped) = (self.cluster.options()?, stop()?);
            let listener = match self.listen {
                Some(address) => Some(listen(address).await?),
                None => None,
            };
            let books = config.books(ClockKind::Real);
            let mut node = Node::start(&location, Arc::clone(&rules), outside, books).await?;
            config.log_warnings(&rules);
            // A closed standard output must not stop the worker.
            if let Some(address) = listener.as_ref().and_then(|it| it.local_addr().ok()) {
                drop(terminal::say(&format!("listening on http://{address}")));
            }
            let app = App::new(node.host(), location.clone(), Arc::clone(&rules), settings);
            let watching = tokio::spawn(watch(app, listener));
            let port: Arc<dyn HostPort> = Arc::new(node.port(location, rules));
            tokio::pin!(stopped);
            let cluster = tokio::select! {
                cluster = temporal::join(&options) => cluster?,
                () = &mut stopped => return drain(node).await,
            };
            let relay = Relay::new(Arc::clone(&port), &cluster);
            let relaying = Arc::clone(&relay);
            let mut relaying = tokio::spawn(async move { relaying.run().await });
            let started = Worker::start(port, &cluster, relay, self.metrics).await;
            let mut worker = started.map_err(|error| {
                Failure::new(format!("the worker was not started: {error}. Nothing was done"))
            })?;
            let message = format!("working for {} ({})", options.address, options.namespace);
            drop(terminal::say(&message));
            let failed = tokio::select! {
                ended = worker.ended() => Some(ended),
                _ = &mut relaying => Some(Err("its relay has failed".to_owned())),
                _ = &mut node.ended => None,
                () = &mut stopped => None,
            };
            tracing::info!("stopping: draining activities");
            worker.stop();
            if tokio::time::timeout(DRAIN, worker.join()).await.is_err() {
                tracing::warn!(
                    "some activities did not complete: the cluster schedules them on other workers"
                );
            }
            relaying.abort();
            watching.abort();
            drain(node).await?;
            match failed {
                None | Some(Ok(())) => Ok(()),
                Some(Err(error)) => Err(Failure::new(format!(
                    "the worker has failed: {error}. What was begun is taken up by others, or after the next start"
                ))),
            }
        }
    }

    async fn drain(mut node: Node) -> Result<(), Failure> {
        node.stop();
        if tokio::time::timeout(DRAIN, &mut node.ended).await.is_err() {
            return Ok(());
        }
        node.join()
    }
}
