//! A temporary cluster for the demo and the benchmarks: found or started, with a relay and a worker in this process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bursar_core::rules::Rules;
use bursar_store::Location;
use bursar_temporal::{Cluster, ClusterOptions, HostPort, NotConnected, Relay, Secure, Worker};
use tokio::task::JoinHandle;

use super::dev_server::DevServer;
use crate::cluster_args::ClusterArguments;
use crate::failure::Failure;
use crate::node::Node;

pub struct TempCluster {
    name: String,
    cluster: Cluster,
    /// None if the cluster was found and not started.
    server: Option<DevServer>,
    runner: Option<Runner>,
}

impl std::fmt::Debug for TempCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TempCluster").finish_non_exhaustive()
    }
}

/// The worker and the relay of a node in this process.
struct Runner {
    worker: Worker,
    relaying: JoinHandle<Infallible>,
}

/// How long `close` waits for running activities; the rest is abandoned.
const DRAIN: Duration = Duration::from_secs(10);

impl TempCluster {
    /// Connects to the named cluster if it is reachable, otherwise starts a dev server.
    pub async fn find(arguments: &ClusterArguments) -> Result<Self, Failure> {
        let mut options = ClusterOptions {
            address: arguments.address.clone().unwrap_or_default(),
            namespace: arguments.namespace.clone(),
            secure: Secure::default(),
            identity: format!("bursar-{}", std::process::id()),
        };
        if arguments.address.is_some() {
            match Cluster::connect(&options).await {
                Ok(cluster) => {
                    let name = format!("the cluster at {}", options.address);
                    return Ok(Self { name, cluster, server: None, runner: None });
                }
                // Not reachable: start a dev server.
                Err(NotConnected::Unreachable(_)) => {}
                Err(error @ (NotConnected::BadAddress(_) | NotConnected::NoNamespace(_))) => {
                    return Err(Failure::new(error.to_string()));
                }
            }
        }
        let (server, cluster) = DevServer::start(&mut options).await?;
        let name = format!("a dev server at {}", options.address);
        Ok(Self { name, cluster, server: Some(server), runner: None })
    }

    /// A description of the cluster, for the terminal.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Starts a worker and a relay for this node.
    pub async fn start_worker(
        &mut self,
        node: &Node,
        location: &Location,
        rules: &Arc<Rules>,
    ) -> Result<(), Failure> {
        let port: Arc<dyn HostPort> = Arc::new(node.port(location.clone(), Arc::clone(rules)));
        let relay = Relay::new(Arc::clone(&port), &self.cluster);
        let started = Worker::start(port, &self.cluster, Arc::clone(&relay), None).await;
        let worker = started.map_err(|error| {
            Failure::new(format!("the worker was not started: {error}. Nothing was done"))
        })?;
        let relaying = tokio::spawn(async move { relay.run().await });
        self.runner = Some(Runner { worker, relaying });
        Ok(())
    }

    /// Drains the worker and stops the dev server.
    pub async fn close(self) {
        if let Some(Runner { worker, relaying }) = self.runner {
            relaying.abort();
            worker.stop();
            // Activities that do not complete end with the process.
            drop(tokio::time::timeout(DRAIN, worker.join()).await);
        }
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}
