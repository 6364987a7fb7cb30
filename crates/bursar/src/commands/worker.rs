//! `bursar worker`: runs the workflows and activities of a Temporal cluster.

use std::net::SocketAddr;
use std::path::Path;

use bursar_node::failure::Failure;
use bursar_node::host::{ClusterArguments, EngineName};
use clap::Args;

use super::ledger::Place;

/// Run workflows and activities of a Temporal cluster; several may run
///
/// Payouts and deliveries that `bursar serve --engine temporal` or a Temporal client asks for are driven here, on
/// PostgreSQL. It waits for the cluster to come up. On SIGTERM it takes nothing new and finishes what it has begun.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which host the flows have
    #[arg(long, value_enum, default_value_t = EngineName::Temporal)]
    engine: EngineName,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    place: Place,
    /// Show the SDK's metrics at this address, for Prometheus: tasks, pollers, latencies
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,
    /// Answer /healthz, /readyz and /metrics of this process at this address
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
        let Self { cluster, place, metrics: _, listen: _, engine: _ } = self;
        drop((cluster, place));
        Err(bursar_node::host::not_here())
    }
}

#[cfg(feature = "temporal")]
mod here {
    //! This binary speaks Temporal.

    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use bursar_core::host::Hosting;
    use bursar_node::config::Config;
    use bursar_node::failure::Failure;
    use bursar_node::node::{Node, watch};
    use bursar_node::rulebook::load_rulebook;
    use bursar_node::signals::stop;
    use bursar_node::{temporal, terminal};
    use bursar_server::App;
    use bursar_temporal::{Office, Relay, Worker};
    use tokio::runtime::Builder;

    use super::Arguments;
    use crate::commands::serve::{listen, settings};

    /// How long activities that are under way may take to come back when the process is asked to stop.
    const DRAIN: Duration = Duration::from_mins(1);

    impl Arguments {
        pub(super) fn work(self, config: Option<&Path>) -> Result<(), Failure> {
            let config = Config::load(config)?;
            terminal::log()?;
            let runtime = Builder::new_multi_thread().enable_all().build()?;
            let done = runtime.block_on(self.until_stopped(&config));
            // Calls that are still out end with the process; their leases tell the next one.
            runtime.shutdown_background();
            done
        }

        async fn until_stopped(self, config: &Config) -> Result<(), Failure> {
            let mut rules = config.rules(load_rulebook(config.chart_path().as_deref())?)?;
            rules.hosting = Hosting::Temporal(config.temporal.naming());
            let rules = Arc::new(rules);
            let outside = (config.connections(&rules)?, config.webhooks.sender()?);
            let settings = settings(config, Arc::clone(&outside.1), false)?;
            let location = self.place.location()?;
            self.cluster.check(&location, false)?;
            let (options, stopped) = (self.cluster.options()?, stop()?);
            let listener = match self.listen {
                Some(address) => Some(listen(address).await?),
                None => None,
            };
            let mut node = Node::start(&location, Arc::clone(&rules), outside, false).await?;
            // Whoever wants to know may have gone: that stops no worker.
            if let Some(address) = listener.as_ref().and_then(|it| it.local_addr().ok()) {
                drop(terminal::say(&format!("listening on http://{address}")));
            }
            let app = App::new(node.submit(), location.clone(), Arc::clone(&rules), settings);
            let watching = tokio::spawn(watch(app, listener));
            let office: Arc<dyn Office> = Arc::new(node.office(location, rules));
            tokio::pin!(stopped);
            let cluster = tokio::select! {
                cluster = temporal::join(&options) => cluster?,
                () = &mut stopped => return rest(node).await,
            };
            let relay = Relay::new(Arc::clone(&office), &cluster);
            let relaying = Arc::clone(&relay);
            let mut relaying = tokio::spawn(async move { relaying.run().await });
            let started = Worker::start(office, &cluster, relay, self.metrics).await;
            let mut worker = started.map_err(|error| {
                Failure::new(format!("the worker was not started: {error}. Nothing was done"))
            })?;
            let place = format!("working for {} ({})", options.address, options.namespace);
            drop(terminal::say(&place));
            let failed = tokio::select! {
                ended = worker.ended() => Some(ended),
                _ = &mut relaying => Some(Err("its relay has failed".to_owned())),
                _ = &mut node.ended => None,
                () = &mut stopped => None,
            };
            tracing::info!("stopping: finishing what was begun");
            worker.stop();
            if tokio::time::timeout(DRAIN, worker.join()).await.is_err() {
                tracing::warn!(
                    "some activities have not come back: the cluster gives them to others"
                );
            }
            relaying.abort();
            watching.abort();
            rest(node).await?;
            match failed {
                None | Some(Ok(())) => Ok(()),
                Some(Err(error)) => Err(Failure::new(format!(
                    "the worker has failed: {error}. What was begun is taken up by others, or after the next start"
                ))),
            }
        }
    }

    async fn rest(mut node: Node) -> Result<(), Failure> {
        node.stop();
        if tokio::time::timeout(DRAIN, &mut node.ended).await.is_err() {
            return Ok(());
        }
        node.join()
    }
}
