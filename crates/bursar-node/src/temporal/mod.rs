//! The Temporal host: the port that workers call, and how a process connects to a cluster.

mod dev_server;
mod port;
mod temp_cluster;

use std::sync::Arc;
use std::time::Duration;

use bursar_temporal::{Cluster, ClusterOptions, HostPort, NotConnected, Relay};

use crate::failure::Failure;

pub use port::{NodePort, Reader};
pub use temp_cluster::TempCluster;

/// Pause between attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Waits until the cluster is reachable; only a wrong configuration is a failure.
pub async fn join(options: &ClusterOptions) -> Result<Cluster, Failure> {
    let mut was_logged = false;
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
                if !was_logged {
                    tracing::warn!(address = %options.address, %error, "waiting for the cluster");
                }
                was_logged = true;
                tokio::time::sleep(RECONNECT_PAUSE).await;
            }
        }
    }
}

/// Relays the outbox to the cluster once it is reachable.
pub async fn relay(port: Arc<dyn HostPort>, options: ClusterOptions) -> Failure {
    match join(&options).await {
        Ok(cluster) => match Relay::new(port, &cluster).run().await {},
        Err(failure) => failure,
    }
}
