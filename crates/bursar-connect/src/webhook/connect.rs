//! Connections to endpoints: resolved, checked, and over TLS unless the host is allowed without.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tower_service::Service;

use super::answer::{Class, NotAnswered};
use super::bounded_connection::BoundedConnection;
use super::policy::{Place, Policy};
use super::resolve::Resolver;
use crate::local_resources::is_ours;

/// The timeout for one address; then the next is tried.
const DIAL_MAX: Duration = Duration::from_secs(5);
/// The timeout of the name lookup when an endpoint is registered.
const VET_MAX: Duration = Duration::from_secs(2);

pub(crate) type Dialled = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;
/// Opens a connection to a checked address.
pub(crate) type Dial = Arc<dyn Fn(SocketAddr) -> Dialled + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Connector(Arc<Route>);

struct Route {
    policy: Policy,
    resolver: Resolver,
    tls: TlsConnector,
    dial: Dial,
    /// A connection needs a timeout of its own: the client may give it to another call than the one that opened it.
    timeout: Duration,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("policy", &self.0.policy).finish_non_exhaustive()
    }
}

/// Opens a TCP connection.
pub(crate) fn dial() -> Dial {
    Arc::new(|address| Box::pin(TcpStream::connect(address)))
}

impl Connector {
    pub(crate) fn new(
        policy: Policy,
        resolver: Resolver,
        mut config: ClientConfig,
        dial: Dial,
        timeout: Duration,
    ) -> Self {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls = TlsConnector::from(Arc::new(config));
        Self(Arc::new(Route { policy, resolver, tls, dial, timeout }))
    }
}

impl Connector {
    /// Whether a URL is refused by the policy. A name that cannot be resolved now may be resolved later.
    pub(crate) async fn vet(&self, url: &str) -> Result<(), NotAnswered> {
        let refused = |error| NotAnswered::new(Class::Refused, error);
        let place = self.0.policy.check(url).map_err(refused)?;
        match timeout(VET_MAX, self.0.resolver.addresses(&place)).await {
            Ok(Err(error)) if error.class == Class::Refused => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<BoundedConnection>;
    type Error = NotAnswered;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NotAnswered>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotAnswered>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let route = Arc::clone(&self.0);
        Box::pin(async move {
            let late = |_| NotAnswered::new(Class::Timeout, "no connection in time");
            timeout(route.timeout, route.connect(&uri)).await.map_err(late)?.map(TokioIo::new)
        })
    }
}

impl Route {
    async fn connect(&self, uri: &Uri) -> Result<BoundedConnection, NotAnswered> {
        let refused = |error| NotAnswered::new(Class::Refused, error);
        let place = self.policy.check(&uri.to_string()).map_err(refused)?;
        let addresses = self.resolver.addresses(&place).await?;
        let socket = self.reach(&place, &addresses).await?;
        if place.is_secure {
            self.secure(&place, socket).await
        } else {
            Ok(BoundedConnection::plain(socket, self.timeout))
        }
    }

    /// Connects to the first address that accepts.
    async fn reach(
        &self,
        place: &Place,
        addresses: &[SocketAddr],
    ) -> Result<TcpStream, NotAnswered> {
        let (mut why, mut class) = ("there is no address".to_owned(), Class::Connect);
        for address in addresses {
            why = match timeout(DIAL_MAX, (self.dial)(*address)).await {
                Ok(Ok(socket)) => {
                    // A request is written in one piece; there is nothing to wait for.
                    let _is_set = socket.set_nodelay(true);
                    return Ok(socket);
                }
                Ok(Err(error)) => {
                    // The address was not really tried.
                    if is_ours(&error) {
                        class = Class::LocalResourceExhausted;
                    }
                    error.to_string()
                }
                Err(_) => "no connection in time".to_owned(),
            };
        }
        Err(NotAnswered::new(class, format!("{}: {why}", place.host)))
    }

    async fn secure(
        &self,
        place: &Place,
        socket: TcpStream,
    ) -> Result<BoundedConnection, NotAnswered> {
        let failed = |why: String| NotAnswered::new(Class::Tls, format!("{}: {why}", place.host));
        let name = ServerName::try_from(place.host.clone());
        let name = name.map_err(|error| failed(error.to_string()))?;
        let shaken = self.tls.connect(name, socket).await;
        let stream = shaken.map_err(|error| failed(error.to_string()))?;
        Ok(BoundedConnection::secure(stream, self.timeout))
    }
}
