//! Connections to the server: encrypted as the URL asks for, with bounds that suit their use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};

use super::database::{Database, parse};
use super::tls::{Connector, Mode};
use super::{Postgres, classify, describe};
use crate::StoreError;

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Turns,
    /// Short reads that a caller waits for.
    Reads,
    /// Reports of commands, and migrations: they may take long.
    Reports,
}

impl Use {
    /// Planner settings and bounds.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            // Generic plans with one index probe per row, independent of the table statistics. Planning again would cost
            // a small turn more than running the statements. A lock outlasts a stalled process, whose transaction the
            // server ends after 5 s, and no more.
            Self::Turns => {
                "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off;
                 SET lock_timeout = '6s'"
            }
            // Plans per query: a plan made on empty tables would stay bad.
            Self::Reads => {
                "SET plan_cache_mode = force_custom_plan; SET statement_timeout = '4s'; SET lock_timeout = '2s'"
            }
            Self::Reports => "SET plan_cache_mode = force_custom_plan",
        }
    }
}

/// How long a connection waits until the server has one to give.
const FULL_SERVER: Duration = Duration::from_secs(2);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Writers of this process that the server has no connection for. Meanwhile readers take none, and keep none.
static WAITING_WRITERS: AtomicUsize = AtomicUsize::new(0);

/// Whether readers are to give their connections up, because a writer of this process needs one.
pub(crate) fn is_needed_by_writers() -> bool {
    WAITING_WRITERS.load(Ordering::Relaxed) > 0
}

/// A writer that waits for a connection, until it is dropped.
struct WaitingWriter;

impl WaitingWriter {
    fn new() -> Self {
        WAITING_WRITERS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for WaitingWriter {
    fn drop(&mut self) {
        WAITING_WRITERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection, and whether it is encrypted.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) is_encrypted: bool,
}

impl Postgres {
    /// Connects as a writer does. Returns whether the server sees the connection encrypted.
    pub async fn is_encrypted(url: &str) -> Result<bool, StoreError> {
        let Connected { client, .. } = connect(&parse(url)?, Use::Turns).await?;
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let found = client.query_one(sql, &[]).await.and_then(|row| row.try_get(0));
        found.map_err(|error| classify(&error))
    }
}

pub(crate) async fn connect(database: &Database, used_for: Use) -> Result<Connected, StoreError> {
    let connected = waiting_for_a_place(database, used_for).await?;
    // A process that stalls in a turn holds locks that all other turns wait for: the server ends its transaction, which
    // rolls the turn back.
    let settings = format!(
        "SET enable_seqscan = off; SET jit = off; SET idle_in_transaction_session_timeout = '5s'; {}",
        used_for.settings()
    );
    connected.client.batch_execute(&settings).await.map_err(|error| classify(&error))?;
    Ok(connected)
}

/// Tries again for a short time while the server has no connection left.
async fn waiting_for_a_place(database: &Database, used_for: Use) -> Result<Connected, StoreError> {
    let connector = database.tls.connector()?;
    let started = Instant::now();
    let mut waiting = None;
    loop {
        let is_held_back = used_for == Use::Reads && is_needed_by_writers();
        let error = if is_held_back {
            "the server has too few connections, and writing comes first".to_owned()
        } else {
            match in_time(database, &connector).await? {
                Ok(connected) => return Ok(connected),
                Err(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                    describe(&error)
                }
                Err(error) => return Err(unreachable_server(&connector, &error)),
            }
        };
        if used_for == Use::Turns {
            waiting.get_or_insert_with(WaitingWriter::new);
        }
        if started.elapsed() > FULL_SERVER {
            return Err(StoreError::Unavailable(format!("PostgreSQL does not answer: {error}")));
        }
        sleep(PAUSE).await;
    }
}

fn unreachable_server(connector: &Connector, error: &Error) -> StoreError {
    let what = if connector.has_failed() {
        "there is no safe connection to PostgreSQL"
    } else {
        "PostgreSQL does not answer"
    };
    StoreError::Unavailable(format!("{what}: {}", describe(error)))
}

/// The timeout of the URL is for the socket only: a server that accepts and is silent has as long again.
async fn in_time(
    database: &Database,
    connector: &Connector,
) -> Result<Result<Connected, Error>, StoreError> {
    let hosts = u32::try_from(database.config.get_hosts().len()).unwrap_or(u32::MAX);
    let bound = database.config.get_connect_timeout().copied().unwrap_or_default();
    let bound = bound.saturating_mul(hosts.saturating_add(1));
    timeout(bound, preferred(database, connector))
        .await
        .map_err(|_| StoreError::Unavailable("PostgreSQL does not answer: it is silent".to_owned()))
}

/// As libpq: with `prefer` clear text is tried if there is no agreement on TLS, or if the server does not let the user in
/// over it.
async fn preferred(database: &Database, connector: &Connector) -> Result<Connected, Error> {
    let error = match once(&database.config, connector).await {
        Ok(connected) => return Ok(connected),
        Err(error) => error,
    };
    let is_refused = connector.is_encrypted()
        && error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    if database.tls.mode == Mode::Prefer && (connector.has_failed() || is_refused) {
        let mut clear = database.config.clone();
        clear.ssl_mode(SslMode::Disable);
        return once(&clear, connector).await;
    }
    Err(error)
}

async fn once(config: &Config, connector: &Connector) -> Result<Connected, Error> {
    let (client, connection) = config.connect(connector.clone()).await?;
    // The task ends with the connection. The next call on the client reports its error.
    tokio::spawn(async move { drop(connection.await) });
    Ok(Connected { client, is_encrypted: connector.is_encrypted() })
}
