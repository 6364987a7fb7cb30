//! The database of a URL or of a `host=… user=…` text. The driver does not know the parameters of TLS: they are taken out of
//! the text first.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::describe;
use super::tls::{Mode, Tls};
use crate::StoreError;

/// Applies if the URL has no timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a database is, and how it is reached.
#[derive(Debug, Clone)]
pub struct Database {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

impl Database {
    /// Another database on the same server.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        let mut named = self.clone();
        named.config.dbname(name);
        named
    }

    /// Whether a host is neither this machine nor a socket of it.
    pub(super) fn is_on_another_machine(&self) -> bool {
        let (hosts, addresses) = (self.config.get_hosts(), self.config.get_hostaddrs());
        let is_far = |(number, host): (usize, &Host)| match (host, addresses.get(number)) {
            (Host::Unix(_), _) => false,
            (Host::Tcp(_), Some(address)) => !address.is_loopback(),
            (Host::Tcp(name), None) => !is_loopback(name),
        };
        hosts.iter().enumerate().any(is_far)
    }
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// The parameters that the driver does not know.
#[derive(Debug, Default)]
struct TlsParameters {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl TlsParameters {
    /// Where a parameter of this name belongs, if it is one of them.
    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "sslmode" => Some(&mut self.mode),
            "sslrootcert" => Some(&mut self.root),
            "sslcert" => Some(&mut self.certificate),
            "sslkey" => Some(&mut self.key),
            _ => None,
        }
    }

    fn tls(self) -> Result<Tls, StoreError> {
        let file = |text: Option<String>| text.filter(|text| !text.is_empty()).map(PathBuf::from);
        let root = file(self.root);
        let is_system = root.as_ref().is_some_and(|root| root.as_os_str() == "system");
        let mode = match self.mode.as_deref() {
            // As libpq: the certificates of the system vouch for names, so the name counts.
            None | Some("") if is_system => Mode::VerifyFull,
            None | Some("") => Mode::Prefer,
            Some(text) => Mode::parse(text)?,
        };
        if is_system && mode != Mode::VerifyFull {
            return Err(unusable("sslrootcert=system needs sslmode=verify-full"));
        }
        if matches!(mode, Mode::VerifyCa | Mode::VerifyFull) && root.is_none() {
            return Err(unusable(
                "sslmode verify-ca and verify-full need sslrootcert: a file with the certificate of the authority, or `system`",
            ));
        }
        let (certificate, key) = (file(self.certificate), file(self.key));
        if certificate.is_none() && key.is_some() {
            return Err(unusable("sslkey is the key of a certificate: sslcert is missing"));
        }
        Ok(Tls { mode, root, certificate, key })
    }
}

fn unusable(reason: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("the database URL cannot be used: {reason}"))
}

/// Reads a URL, or parameters as `host=… user=… dbname=…`.
pub fn parse(text: &str) -> Result<Database, StoreError> {
    let mut parameters = TlsParameters::default();
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let rest = if is_url { of_url(text, &mut parameters) } else { of_text(text, &mut parameters)? };
    let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
        StoreError::Unavailable(format!("the database URL cannot be read: {}", describe(&error)))
    })?;
    // A host that drops packets would otherwise block until the kernel's timeout.
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // The driver wants a name for TLS.
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
    let tls = parameters.tls()?;
    let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    config.ssl_mode(match tls.mode {
        // There is no TLS on sockets of this machine, whatever the mode.
        _ if is_local => SslMode::Disable,
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    });
    Ok(Database { config, tls })
}

/// The URL without the parameters of TLS.
fn of_url(url: &str, parameters: &mut TlsParameters) -> String {
    // As the driver: a password may contain a question mark.
    let from = url.find('@').unwrap_or_default();
    let split = url.split_at_checked(from).and_then(|(user, rest)| {
        rest.split_once('?').map(|(address, query)| (format!("{user}{address}"), query))
    });
    let Some((address, query)) = split else { return url.to_owned() };
    let mut others = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match parameters.place(name) {
            Some(place) => *place = Some(decoded(value)),
            None => others.push(pair),
        }
    }
    if others.is_empty() { address } else { format!("{address}?{}", others.join("&")) }
}

/// Without percent signs. What is no escape stays as it is.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text without the parameters of TLS.
fn of_text(text: &str, parameters: &mut TlsParameters) -> Result<String, StoreError> {
    let mut others = String::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(|| {
            StoreError::Unavailable(
                "the database URL cannot be read: a parameter has no value".to_owned(),
            )
        })?;
        let (value, end) = value(after.trim_start())?;
        let used = rest.len().saturating_sub(end.len());
        if let Some(place) = parameters.place(name.trim()) {
            *place = Some(value);
        } else {
            others.push_str(rest.get(..used).unwrap_or_default());
            others.push(' ');
        }
        rest = end.trim_start();
    }
    Ok(others)
}

/// One value, in quotation marks or up to a space, and the text behind it.
fn value(text: &str) -> Result<(String, &str), StoreError> {
    let quoted = text.strip_prefix('\'');
    let mut letters = quoted.unwrap_or(text).char_indices();
    let rest = |at: usize| quoted.unwrap_or(text).get(at..).unwrap_or_default();
    let mut value = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted.is_some() => return Ok((value, rest(at.saturating_add(1)))),
            space if space.is_whitespace() && quoted.is_none() => return Ok((value, rest(at))),
            other => value.push(other),
        }
    }
    match quoted {
        Some(_) => Err(unusable("a quotation mark is missing")),
        None => Ok((value, "")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_postgres::config::SslMode;

    use super::parse;
    use crate::postgres::tls::Mode;

    #[test]
    fn parameters_of_tls_are_read_from_both_forms() {
        for text in [
            "postgres://teller:s3cr?t@db.example/books?sslrootcert=%2Fa%20b%2Froot.pem&sslmode=verify-full&connect_timeout=3",
            "host=db.example user=teller password='s3cr?t' sslrootcert='/a b/root.pem' sslmode = verify-full connect_timeout=3 dbname=books",
        ] {
            let found = parse(text).unwrap();
            assert_eq!(found.tls.mode, Mode::VerifyFull, "{text}");
            assert_eq!(found.tls.root.as_deref(), Some(Path::new("/a b/root.pem")), "{text}");
            assert_eq!(found.config.get_ssl_mode(), SslMode::Require, "{text}");
            assert_eq!(found.config.get_password(), Some(&b"s3cr?t"[..]), "{text}");
            assert_eq!(found.config.get_dbname(), Some("books"), "{text}");
            assert_eq!(found.config.get_connect_timeout().unwrap().as_secs(), 3, "{text}");
        }
    }

    #[test]
    fn the_default_is_prefer_and_sockets_have_no_tls() {
        let mode = |text: &str| {
            let found = parse(text).unwrap();
            (found.tls.mode, found.config.get_ssl_mode())
        };
        assert_eq!(mode("postgres://db.example/books"), (Mode::Prefer, SslMode::Prefer));
        assert_eq!(mode("host=/run user=u sslmode=require"), (Mode::Require, SslMode::Disable));
        assert_eq!(mode("host=h sslmode=disable"), (Mode::Disable, SslMode::Disable));
        assert_eq!(mode("host=h sslrootcert=system"), (Mode::VerifyFull, SslMode::Require));
    }

    #[test]
    fn contradictions_are_refused() {
        for (text, reason) in [
            ("host=h sslmode=verify", "disable, prefer, require, verify-ca or verify-full"),
            ("host=h sslmode=allow", "disable, prefer, require, verify-ca or verify-full"),
            ("postgres://h/d?sslmode=verify-ca", "need sslrootcert"),
            ("host=h sslmode=require sslrootcert=system", "needs sslmode=verify-full"),
            ("host=h sslkey=/key", "sslcert is missing"),
            ("host=h sslrootcert='/a", "quotation mark"),
            ("host=h sslcrl=/crl", "sslcrl"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn another_machine_is_recognised() {
        for (text, expected) in [
            ("host=/run", false),
            ("host=localhost", false),
            ("host=127.0.0.1", false),
            ("host=::1", false),
            ("postgres://db.example/books", true),
            ("host=localhost,db.example", true),
            ("host=db.example hostaddr=127.0.0.1", false),
            ("hostaddr=10.0.0.1", true),
        ] {
            assert_eq!(parse(text).unwrap().is_on_another_machine(), expected, "{text}");
        }
    }
}
