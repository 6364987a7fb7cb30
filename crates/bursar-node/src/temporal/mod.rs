//! The Temporal host, put together: the office that workers ask, and how a process joins a cluster.

mod dev_server;
mod office;
mod venue;

use std::sync::Arc;
use std::time::Duration;

use bursar_temporal::{Cluster, ClusterOptions, NotConnected, Office, Relay};

use crate::failure::Failure;

pub use office::{NodeOffice, Reader};
pub use venue::Venue;

/// How often a cluster that is not there is asked for.
const AGAIN: Duration = Duration::from_secs(1);

/// Waits for the cluster to come up; only a mistake in the configuration ends the wait.
pub async fn join(options: &ClusterOptions) -> Result<Cluster, Failure> {
    let mut was_said = false;
    loop {
        match Cluster::connect(options).await {
            Ok(cluster) => {
                tracing::info!(address = %options.address, namespace = %options.namespace, "joined the cluster");
                return Ok(cluster);
            }
            Err(error @ NotConnected::BadAddress(_)) => {
                return Err(Failure::new(error.to_string()));
            }
            Err(error @ (NotConnected::Unreachable(_) | NotConnected::NoNamespace(_))) => {
                if !was_said {
                    tracing::warn!(address = %options.address, %error, "waiting for the cluster");
                }
                was_said = true;
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Tells the cluster what is saved for it, once it is up.
pub async fn relay(office: Arc<dyn Office>, options: ClusterOptions) -> Failure {
    match join(&options).await {
        Ok(cluster) => match Relay::new(office, &cluster).run().await {},
        Err(failure) => failure,
    }
}
