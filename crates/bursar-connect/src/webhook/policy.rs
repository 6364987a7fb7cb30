//! The address policy: which URLs and addresses webhooks may be sent to. A merchant chooses the URL, so it is untrusted:
//! checked at registration, before every attempt, and again after its name is resolved.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::Uri;
use url::{Host, Url};

const URL_MAX: usize = 2_048;
/// The ports of webhook receivers. Other ports of a host belong to other services.
const PORTS: [u16; 2] = [443, 8443];

/// IPv4 ranges that are not on the public internet, with their kinds.
const REFUSED_V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::UNSPECIFIED, 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // A public address that every machine in Azure reaches as a service of its own host.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a service of the cloud"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
    (Ipv4Addr::BROADCAST, 32, "broadcast"),
];

/// The allocated range of IPv6, and the ranges in it that are not on the public internet. Ranges that embed an IPv4 address
/// are outside of it or listed, except mapped addresses, which are checked as IPv4.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const REFUSED_V6: [(Ipv6Addr, u32, &str); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// Why a list of hosts cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{entry:?} is not a host: write a name or an address, with :PORT behind it if only one port is meant"
)]
pub struct BadPolicy {
    pub entry: String,
}

/// Why a URL is refused. The text never contains user information, which may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUrl {
    #[error("the URL is longer than {URL_MAX} characters; use a shorter one")]
    TooLong,
    #[error("the URL cannot be read: {0}; write https://HOST/PATH")]
    Unreadable(String),
    #[error(
        "the URL has a backslash in it, which readers take differently; write https://HOST/PATH"
    )]
    Backslash,
    #[error("the URL does not begin with https://; webhooks are sent over https only")]
    Scheme,
    #[error("the URL has a name or password before its host; use a custom header instead")]
    User,
    #[error("the URL has a part behind #, which is never sent; leave it out")]
    Fragment,
    #[error("{0} is a name of this service; webhooks are for the merchant's own server")]
    Own(String),
    #[error("port {0} is not one of 443 and 8443; serve the webhook on one of them")]
    Port(u16),
    #[error(transparent)]
    Address(#[from] RefusedAddress),
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} is not on the public internet ({kind}); use a server that can be reached from there"
)]
pub struct RefusedAddress {
    pub address: IpAddr,
    pub kind: &'static str,
}

/// A URL that the policy allows, parsed.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    /// In lower case, without brackets and without a last dot.
    pub host: String,
    /// The host, if it is an address and no name.
    pub address: Option<IpAddr>,
    pub port: u16,
    pub is_secure: bool,
    /// Whether the host is on the list of allowed hosts, which skip the rules.
    pub is_allowed: bool,
    uri: Uri,
}

impl Place {
    /// The URL of the request.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }
}

/// A path may hold a token, so it is not printed.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Place");
        fields.field("host", &self.host).field("port", &self.port);
        fields.field("is_allowed", &self.is_allowed).finish_non_exhaustive()
    }
}

/// The lists of allowed and own hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    allowed: Vec<(String, Option<u16>)>,
    own: Vec<String>,
}

impl Policy {
    /// Hosts that are allowed (`host` or `host:port`, a name or an address) may be reached over http, at any address
    /// and at any port. Own hosts are the names of this service: it never sends to itself, unless the host is allowed.
    pub fn new(allow_hosts: &[String], own_hosts: &[String]) -> Result<Self, BadPolicy> {
        let allowed: Result<_, _> = allow_hosts.iter().map(|entry| with_port(entry)).collect();
        let own: Result<_, _> = own_hosts.iter().map(|entry| without_port(entry)).collect();
        Ok(Self { allowed: allowed?, own: own? })
    }

    /// Checks a URL without resolving its name.
    pub fn check(&self, url: &str) -> Result<Place, RefusedUrl> {
        if url.len() > URL_MAX {
            return Err(RefusedUrl::TooLong);
        }
        // The parser would drop these silently, and the registered text would differ from the URL that is used.
        if url.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(RefusedUrl::Unreadable("it has a space in it".to_owned()));
        }
        // Some readers take it for a slash and end the host there, others do not.
        if url.contains('\\') {
            return Err(RefusedUrl::Backslash);
        }
        let url = Url::parse(url).map_err(|error| RefusedUrl::Unreadable(error.to_string()))?;
        // The scheme first: in other schemes the parser reads an address as a name.
        let is_secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(RefusedUrl::Scheme),
        };
        let no_host = || RefusedUrl::Unreadable("it names no host".to_owned());
        let (host, address) = url.host().map(|host| plain(&host)).ok_or_else(no_host)?;
        if host.is_empty() {
            return Err(no_host());
        }
        let port = url.port_or_known_default().unwrap_or_default();
        let is_allowed = self.allows(&host, port);
        let uri = url.as_str().parse();
        let uri = uri.map_err(|_| RefusedUrl::Unreadable("it cannot be sent".to_owned()))?;
        let place = Place { host, address, port, is_secure, is_allowed, uri };
        self.check_place(&place, &url)?;
        Ok(place)
    }

    /// Checks an address: only the public internet is allowed.
    pub fn check_address(address: IpAddr) -> Result<(), RefusedAddress> {
        let refused = |kind| Err(RefusedAddress { address, kind });
        let kind = match address {
            IpAddr::V4(v4) => kind_v4(v4),
            IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or_else(|| kind_v6(v6), kind_v4),
        };
        kind.map_or(Ok(()), refused)
    }

    fn allows(&self, host: &str, port: u16) -> bool {
        let fits = |only: &Option<u16>| only.is_none_or(|only| only == port);
        self.allowed.iter().any(|(name, only)| name == host && fits(only))
    }

    fn check_place(&self, place: &Place, url: &Url) -> Result<(), RefusedUrl> {
        if !place.is_secure && !place.is_allowed {
            return Err(RefusedUrl::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RefusedUrl::User);
        }
        if url.fragment().is_some() {
            return Err(RefusedUrl::Fragment);
        }
        if place.is_allowed {
            return Ok(());
        }
        if self.own.contains(&place.host) {
            return Err(RefusedUrl::Own(place.host.clone()));
        }
        place.address.map_or(Ok(()), Self::check_address)?;
        if !PORTS.contains(&place.port) {
            return Err(RefusedUrl::Port(place.port));
        }
        Ok(())
    }
}

fn kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let is_in = |net: Ipv4Addr, length: u32| (bits ^ u32::from(net)).leading_zeros() >= length;
    REFUSED_V4.iter().find(|(net, length, _)| is_in(*net, *length)).map(|(_, _, kind)| *kind)
}

fn kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let is_in = |net: Ipv6Addr, length: u32| (bits ^ u128::from(net)).leading_zeros() >= length;
    let (public, length) = PUBLIC_V6;
    if !is_in(public, length) {
        return Some("not given out");
    }
    if is_isatap(address) {
        return Some("ISATAP");
    }
    REFUSED_V6.iter().find(|(net, length, _)| is_in(*net, *length)).map(|(_, _, kind)| *kind)
}

/// The interface id 0000:5efe or 0200:5efe (RFC 5214, both bits that its first byte may set) and an IPv4 address: under
/// any prefix, a tunnel to that address.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., first, second, _, _] = address.segments();
    first & 0xfcff == 0 && second == 0x5efe
}

/// The canonical form of a host, for comparison.
fn plain<S: AsRef<str>>(host: &Host<S>) -> (String, Option<IpAddr>) {
    let address = match host {
        Host::Domain(name) => {
            let name = name.as_ref();
            return (name.strip_suffix('.').unwrap_or(name).to_lowercase(), None);
        }
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address).to_canonical(),
    };
    (address.to_string(), Some(address))
}

fn without_port(entry: &str) -> Result<String, BadPolicy> {
    let bad = || BadPolicy { entry: entry.to_owned() };
    let text = entry.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_canonical().to_string());
    }
    let host = Host::parse(text).map_err(|_| bad())?;
    let (name, _) = plain(&host);
    if name.is_empty() || name.contains('*') { Err(bad()) } else { Ok(name) }
}

fn with_port(entry: &str) -> Result<(String, Option<u16>), BadPolicy> {
    if let Ok(name) = without_port(entry) {
        return Ok((name, None));
    }
    let bad = || BadPolicy { entry: entry.to_owned() };
    let (host, port) = entry.trim().rsplit_once(':').ok_or_else(bad)?;
    let port = port.parse().map_err(|_| bad())?;
    Ok((without_port(host).map_err(|_| bad())?, Some(port)))
}
