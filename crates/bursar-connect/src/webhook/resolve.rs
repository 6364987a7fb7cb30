//! Resolves a name to addresses that the policy allows.
//!
//! A connection uses the addresses of one lookup, all of them checked. There is no second lookup that could return others.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::read_system_conf;
use tokio::net::lookup_host;

use super::answer::{Class, NotAnswered};
use super::policy::{Place, Policy, RefusedAddress};
use crate::local_resources::is_ours;

/// The timeout of one DNS query; it is sent twice.
const QUESTION_MAX: Duration = Duration::from_secs(5);
/// How long a missing name is cached: it may exist for the next attempt.
const MISSING_MAX: Duration = Duration::from_secs(30);
const KNOWN_MAX: Duration = Duration::from_mins(5);
/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 4;

pub(crate) struct Resolver(Result<TokioResolver, String>);

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    /// Uses these name servers, or those of the system if there are none. A system without any is an error only when a
    /// name is resolved.
    pub(crate) fn new(nameservers: &[SocketAddr]) -> Self {
        let config = if nameservers.is_empty() {
            read_system_conf().map(|(config, _)| without_search(config))
        } else {
            Ok(ResolverConfig::from_name_servers(nameservers.iter().map(nameserver).collect()))
        };
        let built = config.and_then(|config| {
            let provider = TokioRuntimeProvider::default();
            TokioResolver::builder_with_config(config, provider).with_options(options()).build()
        });
        Self(built.map_err(|error| error.to_string()))
    }

    /// The addresses of a place. One refused address refuses all of them: mixed answers are an attack.
    pub(crate) async fn addresses(&self, place: &Place) -> Result<Vec<SocketAddr>, NotAnswered> {
        let found = match place.address {
            Some(address) => vec![address],
            None if place.is_allowed => system(place).await?,
            None => self.lookup(&place.host).await?,
        };
        if !place.is_allowed {
            for address in &found {
                Policy::check_address(*address).map_err(|refused| inner_name(place, &refused))?;
            }
        }
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            let address = SocketAddr::new(address, place.port);
            if addresses.len() < ADDRESSES_MAX && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            let detail = format!("{} has no address", place.host);
            return Err(NotAnswered::new(Class::Dns, detail));
        }
        Ok(addresses)
    }

    /// Looks up the name as it is, without search domains: the dot ends it.
    async fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, NotAnswered> {
        let failed = |why: &str| NotAnswered::new(Class::Dns, format!("{host}: {why}"));
        let resolver = self.0.as_ref().map_err(|why| failed(why))?;
        let found = resolver.lookup_ip(format!("{host}.")).await.map_err(|error| {
            let is_ours = matches!(&error, NetError::Io(error) if is_ours(error));
            let class = if is_ours { Class::LocalResourceExhausted } else { Class::Dns };
            NotAnswered::new(class, format!("{host}: {error}"))
        })?;
        Ok(found.into_iter().collect())
    }
}

/// The merchant reads this detail: a name must not become a question to the inner network. The log has the address.
fn inner_name(place: &Place, refused: &RefusedAddress) -> NotAnswered {
    tracing::info!(host = place.host, address = %refused.address, kind = refused.kind, "a webhook is refused");
    let why = "the name does not lead to the public internet; use a server that can be reached from there";
    NotAnswered::new(Class::Refused, format!("{}: {why}", place.host))
}

/// The resolver of the system, with its hosts file. Only for hosts that are allowed by name.
async fn system(place: &Place) -> Result<Vec<IpAddr>, NotAnswered> {
    let found = lookup_host((place.host.as_str(), place.port)).await;
    let failed = |error: std::io::Error| {
        let class = if is_ours(&error) { Class::LocalResourceExhausted } else { Class::Dns };
        NotAnswered::new(class, format!("{}: {error}", place.host))
    };
    Ok(found.map_err(failed)?.map(|address| address.ip()).collect())
}

fn nameserver(address: &SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.to_vec())
}

/// Drops the search domains of the system: a name in a URL is absolute.
pub(crate) fn without_search(config: ResolverConfig) -> ResolverConfig {
    let (_, _, nameservers) = config.into_parts();
    ResolverConfig::from_name_servers(nameservers)
}

fn options() -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.timeout = QUESTION_MAX;
    options.attempts = 1;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    options.positive_max_ttl = Some(KNOWN_MAX);
    options.negative_max_ttl = Some(MISSING_MAX);
    options.max_active_requests = 512;
    options.try_tcp_on_error = true;
    options
}
