//! TLS to PostgreSQL: every mode does what it does in libpq, which is asked as well.

mod server;

use bursar_store::Postgres;

use crate::desk::Desk;
use crate::stores::books;
use crate::workload::{block_on, rules};
use server::{Authority, Server, self_signed, set_mode};

/// How a connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Encrypted,
    Clear,
    Refused,
}

const IS_ENCRYPTED: &str = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

impl Reached {
    fn of(found: &Result<String, String>) -> Self {
        match found.as_deref() {
            Ok("true") => Self::Encrypted,
            Ok(_) => Self::Clear,
            Err(_) => Self::Refused,
        }
    }
}

/// Whether the store's own connection is encrypted.
fn ours(parameters: &str) -> Result<String, String> {
    let found = block_on(Postgres::is_encrypted(parameters));
    found.map(|is_encrypted| is_encrypted.to_string()).map_err(|error| error.to_string())
}

/// Connects both ways.
fn both(server: &Server, parameters: &str) -> Reached {
    let (ours, theirs) = (ours(parameters), server.psql(parameters, IS_ENCRYPTED));
    let reached = Reached::of(&ours);
    assert_eq!(reached, Reached::of(&theirs), "{parameters}\nours: {ours:?}\nlibpq: {theirs:?}");
    reached
}

/// What each mode comes to: without a root certificate, with the right one, with another one.
type Row = (&'static str, [Reached; 3]);

use Reached::{Clear, Encrypted, Refused};

const MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Tries all modes with the given name of the server.
fn try_all(server: &Server, name: &str, roots: [&str; 3], case: &str, expected: [Row; 5]) {
    for (mode, expected) in expected {
        for (root, expected) in roots.iter().zip(expected) {
            let port = server.port;
            let mut parameters = format!(
                "host={name} hostaddr=127.0.0.1 port={port} user=bursar dbname=postgres sslmode={mode}"
            );
            if !root.is_empty() {
                parameters = format!("{parameters} sslrootcert='{root}'");
            }
            assert_eq!(both(server, &parameters), expected, "{case}: {parameters}");
        }
    }
}

const ANY: &str = "host all all 127.0.0.1/32 trust";
const ONLY_TLS: &str = "hostssl all all 127.0.0.1/32 trust";
const ONLY_CLEAR: &str = "hostnossl all all 127.0.0.1/32 trust";

/// A row for each mode.
const fn rows(found: [[Reached; 3]; 5]) -> [Row; 5] {
    let [disable, prefer, require, verify_ca, verify_full] = found;
    [
        (MODES[0], disable),
        (MODES[1], prefer),
        (MODES[2], require),
        (MODES[3], verify_ca),
        (MODES[4], verify_full),
    ]
}

const DISABLE: [Reached; 3] = [Clear; 3];
/// A root certificate that does not fit makes clear text of it.
const PREFER: [Reached; 3] = [Encrypted, Encrypted, Clear];
const REQUIRE: [Reached; 3] = [Encrypted, Encrypted, Refused];
const VERIFY: [Reached; 3] = [Refused, Encrypted, Refused];
const NONE: [Reached; 3] = [Refused; 3];
const UNVERIFIED: [Reached; 3] = [Encrypted, Refused, Refused];

#[test]
fn every_mode_does_what_it_does_in_libpq() {
    let mut server = Server::start();
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let roots = [server.file("known.pem", &known.pem), server.file("other.pem", &other.pem)];
    let roots = ["", &roots[0], &roots[1]];
    let clear = [[Clear; 3], [Clear; 3], NONE, NONE, NONE];
    try_all(&server, "localhost", roots, "no TLS", rows(clear));
    let good = known.server(2999);
    server.with_tls(&good, &known, ANY);
    let all = [DISABLE, PREFER, REQUIRE, VERIFY, VERIFY];
    try_all(&server, "localhost", roots, "TLS", rows(all));
    let named = [DISABLE, PREFER, REQUIRE, VERIFY, NONE];
    try_all(&server, "db.example", roots, "another name", rows(named));
    server.with_tls(&good, &known, ONLY_TLS);
    let only = [NONE, [Encrypted, Encrypted, Refused], REQUIRE, VERIFY, VERIFY];
    try_all(&server, "localhost", roots, "TLS only", rows(only));
    server.with_tls(&good, &known, ONLY_CLEAR);
    let only = [DISABLE, [Clear; 3], NONE, NONE, NONE];
    try_all(&server, "localhost", roots, "clear text only", rows(only));
    server.with_tls(&known.server(2001), &known, ANY);
    let expired = [DISABLE, [Encrypted, Clear, Clear], UNVERIFIED, NONE, NONE];
    try_all(&server, "localhost", roots, "expired", rows(expired));
    // A server that signed its own certificate, which is the root certificate.
    let own = self_signed();
    let own_root = server.file("own.pem", &own.pem);
    server.with_tls(&own, &known, ANY);
    try_all(&server, "localhost", ["", &own_root, roots[2]], "its own", rows(all));
    // On a socket there is no TLS, whatever the mode.
    for mode in MODES {
        let parameters = format!("{} user=bursar dbname=postgres sslmode={mode}", server.socket());
        let parameters = format!("{parameters} sslrootcert='{}'", roots[1]);
        assert_eq!(both(&server, &parameters), Clear, "{parameters}");
    }
    server.without_tls();
    try_all(&server, "localhost", roots, "no TLS again", rows(clear));
}

#[test]
fn a_client_certificate_opens_a_server_that_asks_for_one() {
    let mut server = Server::start();
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let root = server.file("known.pem", &known.pem);
    let base = format!(
        "host=localhost hostaddr=127.0.0.1 port={} user=bursar dbname=postgres sslmode=verify-full sslrootcert='{root}'",
        server.port
    );
    let (good, stranger) = (known.client("bursar"), other.client("bursar"));
    let [certificate, key] =
        [server.file("client.pem", &good.pem), server.file("client.key", &good.key)];
    let [strange, strange_key] =
        [server.file("strange.pem", &stranger.pem), server.file("strange.key", &stranger.key)];
    let with =
        |certificate: &str, key: &str| format!("{base} sslcert='{certificate}' sslkey='{key}'");
    for rule in ["trust clientcert=verify-ca", "cert"] {
        let rule = format!("hostssl all all 127.0.0.1/32 {rule}");
        server.with_tls(&known.server(2999), &known, &rule);
        assert_eq!(both(&server, &with(&certificate, &key)), Encrypted, "{rule}");
        assert_eq!(both(&server, &base), Refused, "{rule}");
        assert_eq!(both(&server, &with(&strange, &strange_key)), Refused, "{rule}");
        assert_eq!(both(&server, &with(&certificate, &strange_key)), Refused, "{rule}");
    }
    // The certificate of another user.
    let another = known.client("teller");
    let [another, another_key] =
        [server.file("another.pem", &another.pem), server.file("another.key", &another.key)];
    assert_eq!(both(&server, &with(&another, &another_key)), Refused);
    // A key that others can read.
    set_mode(&key, 0o644);
    assert_eq!(both(&server, &with(&certificate, &key)), Refused);
    let error = ours(&with(&certificate, &key)).unwrap_err();
    assert!(error.contains("sslkey") && error.contains("0600"), "{error}");
}

#[test]
fn the_books_are_made_and_used_over_tls() {
    let mut server = Server::start();
    let known = Authority::new("known");
    let root = server.file("known.pem", &known.pem);
    server.with_tls(&known.server(2999), &known, ONLY_TLS);
    let url = format!(
        "postgres://bursar@localhost:{}/postgres?sslmode=verify-full&sslrootcert={}&hostaddr=127.0.0.1",
        server.port,
        root.replace('/', "%2F")
    );
    let rules = rules();
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::make(&url, &books()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        desk.assert_sound().await;
        Postgres::bounded_reader(&url).await.unwrap();
        Postgres::reader(&url).await.unwrap();
    });
}

#[test]
fn what_cannot_be_used_is_named() {
    let mut server = Server::start();
    let known = Authority::new("known");
    server.with_tls(&known.server(2999), &known, ANY);
    let base = format!("host=localhost hostaddr=127.0.0.1 port={} user=bursar", server.port);
    let empty = server.file("empty.pem", "");
    let root = server.file("known.pem", &known.pem);
    for (parameters, reason) in [
        ("sslmode=verify-full sslrootcert=/nowhere.pem".to_owned(), "/nowhere.pem: No such file"),
        (format!("sslmode=require sslrootcert={empty}"), "there is no certificate in it"),
        (format!("sslmode=require sslcert={root} sslkey={empty}"), "sslkey"),
        ("sslmode=require sslcert=/nowhere.pem".to_owned(), "sslcert=/nowhere.pem"),
        ("sslrootcert=system".to_owned(), "no safe connection to PostgreSQL"),
        ("sslmode=secure".to_owned(), "sslmode=secure is not known"),
    ] {
        let error = ours(&format!("{base} {parameters}")).unwrap_err();
        assert!(error.contains(reason), "{parameters}: {error}");
    }
}
