//! The connection to a Temporal cluster: a dev server, a cluster of your own, or a hosted one.

use std::fmt;

use temporalio_client::tonic::IntoRequest as _;
use temporalio_client::{
    Client, ClientOptions, ClientTlsOptions, Connection, ConnectionOptions, TlsOptions, Url,
};
use temporalio_common::protos::temporal::api::operatorservice::v1::ListSearchAttributesRequest;

use crate::workflow_loop::SEARCH_ATTRIBUTE;

/// The address of the cluster, and the credentials for it.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// `HOST:PORT`.
    pub address: String,
    pub namespace: String,
    pub secure: Secure,
    /// The identity of this process in the cluster.
    pub identity: String,
}

/// TLS and credentials.
#[derive(Clone, Default)]
pub struct Secure {
    /// TLS with the certificates that this machine trusts. Each of the other fields turns TLS on as well.
    pub is_tls: bool,
    /// The certificate authority to trust instead, as PEM.
    pub ca: Option<Vec<u8>>,
    /// The client certificate and its key, as PEM.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the certificate of the cluster, if it is not that of the address.
    pub domain: Option<String>,
    pub api_key: Option<String>,
}

impl fmt::Debug for Secure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = (self.ca.is_some(), self.client.is_some(), self.api_key.is_some());
        formatter.debug_struct("Secure").field("ca, client, api_key", &has).finish_non_exhaustive()
    }
}

impl Secure {
    fn is_on(&self) -> bool {
        let Self { is_tls, ca, client, domain, api_key } = self;
        *is_tls || ca.is_some() || client.is_some() || domain.is_some() || api_key.is_some()
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NotConnected {
    #[error("{0}: nothing was started. Set the address of the cluster, such as 127.0.0.1:7233")]
    BadAddress(String),
    #[error("the cluster cannot be reached: {0}")]
    Unreachable(String),
    #[error("the namespace {0:?} is not there: nothing was started. Create it, or name another")]
    NoNamespace(String),
}

impl ClusterOptions {
    /// Checks the form of the address.
    pub fn check(&self) -> Result<(), NotConnected> {
        self.url().map(drop)
    }

    fn url(&self) -> Result<Url, NotConnected> {
        let Self { address, secure, .. } = self;
        let scheme = if secure.is_on() { "https" } else { "http" };
        Url::parse(&format!("{scheme}://{address}"))
            .map_err(|error| NotConnected::BadAddress(format!("{address:?}: {error}")))
    }
}

/// A connected cluster.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    /// Whether the cluster has the search attribute for the status.
    pub(crate) is_searchable: bool,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = &self.client.options().namespace;
        formatter.debug_struct("Cluster").field("namespace", namespace).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects, once.
    pub async fn connect(options: &ClusterOptions) -> Result<Self, NotConnected> {
        let ClusterOptions { address: _, namespace, secure, identity } = options;
        let url = options.url()?;
        let tls = secure.is_on().then(|| {
            let client = secure.client.clone();
            let client = client.map(|(certificate, key)| {
                ClientTlsOptions::builder().client_cert(certificate).client_private_key(key).build()
            });
            let options = TlsOptions::builder().maybe_server_root_ca_cert(secure.ca.clone());
            let options = options.maybe_domain(secure.domain.clone());
            options.maybe_client_tls_options(client).build()
        });
        let connection = ConnectionOptions::new(url)
            .identity(identity.clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .maybe_tls_options(tls)
            .maybe_api_key(secure.api_key.clone())
            .build();
        let unreachable = |error: &dyn fmt::Display| NotConnected::Unreachable(error.to_string());
        let connection =
            Connection::connect(connection).await.map_err(|error| unreachable(&error))?;
        let client = Client::new(connection, ClientOptions::new(namespace.clone()).build())
            .map_err(|error| unreachable(&error))?;
        let is_searchable = is_searchable(&client, namespace).await?;
        Ok(Self { client, is_searchable })
    }
}

const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Whether the search attribute is registered. A cluster that does not answer this has none.
async fn is_searchable(client: &Client, namespace: &str) -> Result<bool, NotConnected> {
    use temporalio_client::tonic::Code;
    let request = ListSearchAttributesRequest { namespace: namespace.to_owned() };
    let mut operator = client.connection().operator_service();
    match operator.list_search_attributes(request.into_request()).await {
        Ok(listed) => Ok(listed.into_inner().custom_attributes.contains_key(SEARCH_ATTRIBUTE)),
        Err(status) if status.code() == Code::NotFound => {
            Err(NotConnected::NoNamespace(namespace.to_owned()))
        }
        Err(status) if status.code() == Code::Unavailable => {
            Err(NotConnected::Unreachable(status.message().to_owned()))
        }
        Err(_) => Ok(false),
    }
}
