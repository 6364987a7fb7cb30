//! Accepts connections, serves them within the limits, and drains them when the process stops.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};
use tower_service::Service as _;

use super::HttpLimits;
use super::connection::{Connection, Watched};
use super::refusal::Refusals;
use super::table::{Room, Table, origin};
use crate::App;

/// Sockets that are being closed while others take their place.
const CLOSING_MAX: usize = 16;
/// The size of a header, and of what is buffered for a connection.
const BUFFER_MAX: usize = 64 * 1_024;
/// How often connections are checked for expired timeouts, at most.
const CHECK: Duration = Duration::from_millis(250);
/// The pause after a failed accept, for lack of files most likely.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the log says that connections are shed.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Counters of connections, for metrics.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    pub(crate) open: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl ConnectionCounts {
    fn add(counter: &AtomicU64, number: usize) {
        counter.fetch_add(u64::try_from(number).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// What the accept loop and the connections share.
struct Shared {
    app: App,
    router: Router,
    limits: Arc<HttpLimits>,
    table: Mutex<Table>,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> &ConnectionCounts {
        self.app.0.metrics.connections()
    }
}

/// Serves the router until `stopped`. Then connections without a request are closed, and those with one have the drain
/// timeout to finish it.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    app: &App,
    stopped: impl Future<Output = ()>,
) {
    let limits = Arc::new(app.0.settings.http.clone());
    let sockets = limits.connections_max.saturating_add(CLOSING_MAX).min(Semaphore::MAX_PERMITS);
    let permits = Arc::new(Semaphore::new(sockets));
    let table = Mutex::default();
    let shared = Arc::new(Shared { app: app.clone(), router, limits, table });
    let shortest = shared.limits.header_timeout.min(shared.limits.idle_timeout);
    let mut check = interval(CHECK.min(shortest).max(Duration::from_millis(10)));
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (stopping, is_stopping) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let (mut shedding, mut refusals) = (Shedding::default(), Refusals::default());
    let mut stopped = std::pin::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped => break,
            _ = check.tick() => {
                let expired = shared.table().close_expired();
                ConnectionCounts::add(&shared.counts().expired, expired);
            }
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    let Some(connection) = shared.admit(peer, &mut shedding).await else {
                        refusals.refuse(socket);
                        continue;
                    };
                    // Connections that make room close at once, so this wait is short.
                    let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { break };
                    let open = Open::new(Arc::clone(&shared), connection, permit);
                    tasks.spawn(converse(socket, open, is_stopping.clone()));
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    let room = shared.table().evict(|_| true);
                    ConnectionCounts::add(&shared.counts().evicted, usize::from(room == Room::Made));
                    sleep(PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let drained =
        timeout(shared.limits.drain_timeout, async { while tasks.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tracing::warn!(connections = tasks.len(), "clients did not finish their requests in time");
    }
    tasks.shutdown().await;
}

/// When the log last said that connections are shed.
#[derive(Default)]
struct Shedding(Option<Instant>);

impl Shedding {
    fn log(&mut self, limits: &HttpLimits, open: usize) {
        if self.0.is_some_and(|last| last.elapsed() < LOG_INTERVAL) {
            return;
        }
        self.0 = Some(Instant::now());
        let (max, per_address) = (limits.connections_max, limits.connections_per_address);
        tracing::warn!(
            open,
            max,
            per_address,
            "too many connections: those that have presented no key are closed first"
        );
    }
}

impl Shared {
    /// The state of a new connection, or none if there is no room for it.
    async fn admit(&self, peer: SocketAddr, shedding: &mut Shedding) -> Option<Arc<Connection>> {
        let origin = origin(peer.ip());
        let room = loop {
            let room = self.table().make_room(origin, &self.limits);
            if let Room::Wait(until) = room { sleep_until(until).await } else { break room }
        };
        let counter = match room {
            Room::Made => Some(&self.counts().evicted),
            Room::None => Some(&self.counts().refused),
            Room::Free | Room::Wait(_) => None,
        };
        if let Some(counter) = counter {
            ConnectionCounts::add(counter, 1);
            shedding.log(&self.limits, self.table().len());
        }
        let connection = || Arc::new(Connection::new(origin, Arc::clone(&self.limits)));
        (room != Room::None).then(connection)
    }
}

/// A connection in the table; removed on drop.
struct Open {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Open {
    fn new(shared: Arc<Shared>, connection: Arc<Connection>, permit: OwnedSemaphorePermit) -> Self {
        let number = shared.table().insert(Arc::clone(&connection));
        shared.counts().open.fetch_add(1, Ordering::Relaxed);
        Self { shared, connection, number, _permit: permit }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.table().remove(self.number);
        self.shared.counts().open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn converse(socket: TcpStream, open: Open, mut is_stopping: watch::Receiver<bool>) {
    // A socket that cannot be configured fails when it is used.
    drop(socket.set_nodelay(true));
    let connection = Arc::clone(&open.connection);
    let io = TokioIo::new(Watched { socket, connection: Arc::clone(&connection) });
    let service = service_fn(|request| answer(&open, request));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER_MAX);
    let mut serving = std::pin::pin!(builder.serve_connection(io, service));
    let mut is_draining = false;
    loop {
        tokio::select! {
            // The client has closed it or broken the protocol; there is nothing to do.
            served = &mut serving => return drop(served),
            () = connection.closed() => return,
            _ = is_stopping.wait_for(|stopping| *stopping), if !is_draining => {
                if connection.has_no_request() {
                    return;
                }
                is_draining = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn answer(open: &Open, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
    let connection = &open.connection;
    connection.header_received(!request.body().is_end_stream());
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(Arc::clone(connection));
    let mut router = open.shared.router.clone();
    let response = router.call(request).await;
    connection.answered();
    response
}
