//! Arguments that select the host of flows and the Temporal cluster.

use std::path::PathBuf;
use std::sync::Arc;

use bursar_core::rules::Rules;
use bursar_store::Location;
use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::node::Node;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// The engine in this process
    #[default]
    Embedded,
    /// Workflows on a Temporal cluster
    Temporal,
}

impl EngineName {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Temporal => "temporal",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct ClusterArguments {
    /// The Temporal cluster
    #[arg(
        long = "temporal",
        value_name = "HOST:PORT",
        env = "TEMPORAL_ADDRESS",
        default_value = "127.0.0.1:7233"
    )]
    pub address: String,
    /// Its namespace
    #[arg(long, value_name = "NS", env = "TEMPORAL_NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// Use TLS with the trusted certificates of this machine; an API key in `TEMPORAL_API_KEY` also turns TLS on
    #[arg(long = "temporal-tls", env = "TEMPORAL_TLS", value_parser = FalseyValueParser::new())]
    pub is_tls: bool,
    /// The CA certificate to trust instead, as PEM
    #[arg(long = "temporal-ca", value_name = "FILE", env = "TEMPORAL_TLS_SERVER_CA_CERT_PATH")]
    pub ca: Option<PathBuf>,
    /// The client certificate, as PEM
    #[arg(
        long = "temporal-cert",
        value_name = "FILE",
        env = "TEMPORAL_TLS_CLIENT_CERT_PATH",
        requires = "key"
    )]
    pub certificate: Option<PathBuf>,
    /// The private key of the client certificate, as PEM
    #[arg(
        long = "temporal-key",
        value_name = "FILE",
        env = "TEMPORAL_TLS_CLIENT_KEY_PATH",
        requires = "certificate"
    )]
    pub key: Option<PathBuf>,
    /// The name in the cluster's certificate, if it differs from the address
    #[arg(long = "temporal-server-name", value_name = "NAME", env = "TEMPORAL_TLS_SERVER_NAME")]
    pub server_name: Option<String>,
}

#[cfg(feature = "temporal")]
mod here {
    //! The build with Temporal.

    use std::path::PathBuf;

    use bursar_temporal::{ClusterOptions, Secure};

    use super::ClusterArguments;
    use crate::failure::Failure;

    impl ClusterArguments {
        pub(super) fn check_options(&self) -> Result<(), Failure> {
            let checked = self.options()?.check();
            checked.map_err(|error| Failure::new(error.to_string()))
        }

        pub fn options(&self) -> Result<ClusterOptions, Failure> {
            let read = |path: &PathBuf| {
                std::fs::read(path).map_err(|error| Failure::reading(path, &error))
            };
            let client = self.certificate.as_ref().zip(self.key.as_ref());
            let client = client.map(|(cert, key)| Ok::<_, Failure>((read(cert)?, read(key)?)));
            let client = client.transpose()?;
            let api_key = std::env::var("TEMPORAL_API_KEY").ok().filter(|key| !key.is_empty());
            let secure = Secure {
                is_tls: self.is_tls,
                ca: self.ca.as_ref().map(read).transpose()?,
                client,
                domain: self.server_name.clone(),
                api_key,
            };
            Ok(ClusterOptions {
                address: self.address.clone(),
                namespace: self.namespace.clone(),
                secure,
                identity: format!("bursar-{}", std::process::id()),
            })
        }
    }
}

impl ClusterArguments {
    /// Checks the arguments before anything is started. A cluster needs PostgreSQL, which several processes can share, and
    /// real time instead of a test clock.
    pub fn check(&self, location: &Location, has_test_clock: bool) -> Result<(), Failure> {
        self.check_options()?;
        if has_test_clock {
            return Err(Failure::new(
                "a Temporal cluster runs on real time: nothing was started. Leave out --test-clock, or --engine temporal",
            ));
        }
        match location {
            Location::Database(_) => Ok(()),
            Location::Directory(_) => Err(Failure::new(
                "workers on a Temporal cluster share the books, and a data directory is for one process alone: nothing was started. Use --database-url",
            )),
        }
    }
}

#[cfg(not(feature = "temporal"))]
impl ClusterArguments {
    #[expect(clippy::unused_self, reason = "the build with Temporal uses it")]
    fn check_options(&self) -> Result<(), Failure> {
        Err(built_without_temporal())
    }
}

/// The arguments exist in every build; without Temporal they fail with this message.
#[cfg(not(feature = "temporal"))]
pub fn built_without_temporal() -> Failure {
    Failure::new(
        "this binary was built without Temporal: nothing was started. Build it with `cargo build --release --features temporal`",
    )
}

/// Relays the outbox to the cluster while the process runs. Ends only with a failure.
#[cfg(not(feature = "temporal"))]
pub fn relay(
    _: &ClusterArguments,
    _: &Node,
    _: &Location,
    _: &Arc<Rules>,
) -> Result<JoinHandle<Failure>, Failure> {
    Err(built_without_temporal())
}

#[cfg(feature = "temporal")]
pub fn relay(
    cluster: &ClusterArguments,
    node: &Node,
    location: &Location,
    rules: &Arc<Rules>,
) -> Result<JoinHandle<Failure>, Failure> {
    let port = Arc::new(node.port(location.clone(), Arc::clone(rules)));
    let options = cluster.options()?;
    Ok(tokio::spawn(crate::temporal::relay(port, options)))
}
