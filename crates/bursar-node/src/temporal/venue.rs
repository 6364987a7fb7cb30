//! A cluster for what is made up: found or started, with a relay and a worker in this process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bursar_core::rules::Rules;
use bursar_store::Location;
use bursar_temporal::{Cluster, ClusterOptions, NotConnected, Office, Relay, Secure, Worker};
use tokio::task::JoinHandle;

use super::dev_server::DevServer;
use crate::failure::Failure;
use crate::node::Node;
use crate::visit::VisitArguments;

pub struct Venue {
    name: String,
    cluster: Cluster,
    /// None if somebody else runs the cluster.
    server: Option<DevServer>,
    crew: Option<Crew>,
}

impl std::fmt::Debug for Venue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Venue").finish_non_exhaustive()
    }
}

/// Whoever works there for a node of this process.
struct Crew {
    worker: Worker,
    relaying: JoinHandle<Infallible>,
}

/// How long activities that are under way may take to come back. What is made up may be left undone.
const DRAIN: Duration = Duration::from_secs(10);

impl Venue {
    /// The cluster that was named, if it answers, or else a dev server.
    pub async fn find(visit: &VisitArguments) -> Result<Self, Failure> {
        let mut options = ClusterOptions {
            address: visit.address.clone().unwrap_or_default(),
            namespace: visit.namespace.clone(),
            secure: Secure::default(),
            identity: format!("bursar-{}", std::process::id()),
        };
        if visit.address.is_some() {
            match Cluster::connect(&options).await {
                Ok(cluster) => {
                    let name = format!("the cluster at {}", options.address);
                    return Ok(Self { name, cluster, server: None, crew: None });
                }
                // Nobody is there: a dev server will do.
                Err(NotConnected::Unreachable(_)) => {}
                Err(error @ (NotConnected::BadAddress(_) | NotConnected::NoNamespace(_))) => {
                    return Err(Failure::new(error.to_string()));
                }
            }
        }
        let (server, cluster) = DevServer::start(&mut options).await?;
        let name = format!("a dev server at {}", options.address);
        Ok(Self { name, cluster, server: Some(server), crew: None })
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Drives the flows of this node from now on.
    pub async fn hire(
        &mut self,
        node: &Node,
        location: &Location,
        rules: &Arc<Rules>,
    ) -> Result<(), Failure> {
        let office: Arc<dyn Office> = Arc::new(node.office(location.clone(), Arc::clone(rules)));
        let relay = Relay::new(Arc::clone(&office), &self.cluster);
        let started = Worker::start(office, &self.cluster, Arc::clone(&relay), None).await;
        let worker = started.map_err(|error| {
            Failure::new(format!("the worker was not started: {error}. Nothing was done"))
        })?;
        let relaying = tokio::spawn(async move { relay.run().await });
        self.crew = Some(Crew { worker, relaying });
        Ok(())
    }

    /// Takes nothing new, finishes what was begun, and stops the dev server.
    pub async fn close(self) {
        if let Some(Crew { worker, relaying }) = self.crew {
            relaying.abort();
            worker.stop();
            // Whoever does not come back goes with the process.
            drop(tokio::time::timeout(DRAIN, worker.join()).await);
        }
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}
