//! A connection target: address, port and TLS roots.

use std::net::IpAddr;
use std::sync::Arc;
use std::{fmt, io};

use hyper::Uri;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Why a channel cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    #[error(
        "{url:?} is not a URL that can be used: {why}. Nothing will be sent; write http://HOST[:PORT][/PATH] or https://…"
    )]
    Url { url: String, why: &'static str },
    #[error(
        "no certificates to trust: {0}. Nothing will be sent; install the system's or name a file"
    )]
    Roots(String),
    #[error(
        "{what} cannot be sent in a header. Nothing will be sent; use printable characters only"
    )]
    Header { what: &'static str },
}

/// The root certificates that are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Roots {
    /// The certificates of the system.
    #[default]
    System,
    /// Only these, as PEM.
    Pem(Vec<u8>),
}

/// A URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub port: u16,
    /// The value of the `Host` header.
    pub authority: String,
    /// The prefix of every path; no slash at its end.
    pub path: String,
    pub is_secure: bool,
}

impl Target {
    pub fn parse(url: &str) -> Result<Self, BadSettings> {
        let bad = |why| BadSettings::Url { url: without_user(url), why };
        let uri: Uri = url.parse().map_err(|_| bad("it cannot be read"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(bad("it is neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("a password does not belong there"));
        }
        if uri.query().is_some() {
            return Err(bad("it has a query"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(bad("it names no host"));
        }
        Ok(Self {
            host,
            port: authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
            is_secure,
        })
    }

    /// Whether what is sent leaves this machine in clear text.
    pub fn is_overheard(&self) -> bool {
        let is_here = self.host == "localhost"
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        !self.is_secure && !is_here
    }
}

/// A URL without its user information, which may be a password.
fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => url.to_owned(),
    }
}

/// The TLS configuration for one server name.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    pub fn new(target: &Target, roots: &Roots) -> Result<Self, BadSettings> {
        let name = ServerName::try_from(target.host.clone()).map_err(|_| BadSettings::Url {
            url: target.authority.clone(),
            why: "no certificate can be made out to that host",
        })?;
        let config = client_config(roots)?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    pub async fn connect(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), socket).await
    }
}

/// TLS 1.2 or later, with these roots.
pub(crate) fn client_config(roots: &Roots) -> Result<ClientConfig, BadSettings> {
    with_roots(trusted(roots)?)
}

/// The same for a system that may have no certificates: then no server is trusted, and every handshake fails.
pub(crate) fn client_config_of_any_system(roots: &Roots) -> Result<ClientConfig, BadSettings> {
    match (client_config(roots), roots) {
        (Err(BadSettings::Roots(_)), Roots::System) => with_roots(RootCertStore::empty()),
        (config, Roots::System | Roots::Pem(_)) => config,
    }
}

fn with_roots(roots: RootCertStore) -> Result<ClientConfig, BadSettings> {
    // Named, because another crate in the same binary may bring another implementation along.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| BadSettings::Roots(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn trusted(roots: &Roots) -> Result<RootCertStore, BadSettings> {
    let mut store = RootCertStore::empty();
    match roots {
        // Some of a system's certificates may be unreadable; the others still count.
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Roots::Pem(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate =
                    certificate.map_err(|error| BadSettings::Roots(error.to_string()))?;
                store.add(certificate).map_err(|error| BadSettings::Roots(error.to_string()))?;
            }
        }
    }
    if store.is_empty() {
        return Err(BadSettings::Roots("none was found".to_owned()));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::{BadSettings, Target};

    #[test]
    fn a_url_is_parsed_into_a_target() {
        let target = Target::parse("https://pay.example:8443/mm/v1/").unwrap();
        let Target { host, port, path, is_secure, .. } = &target;
        assert_eq!(
            (host.as_str(), *port, path.as_str(), *is_secure),
            ("pay.example", 8443, "/mm/v1", true)
        );
        let target = Target::parse("http://[::1]").unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("::1", 80, ""));
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_its_password() {
        for url in [
            "",
            "pay.example",
            "ftp://pay.example",
            "http://a:open-sesame@pay.example",
            "http:///x",
            "http://h/?a=1",
        ] {
            let error = Target::parse(url).unwrap_err();
            assert!(matches!(error, BadSettings::Url { .. }));
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }
}
