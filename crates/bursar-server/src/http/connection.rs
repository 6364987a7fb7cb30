//! The state of one connection. The socket, the service and the body report to it; the table reads it.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::HttpLimits;

/// What a connection is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of a header.
    Header,
    /// The rest of a body.
    Body,
    /// The answer of the handler.
    Handler,
    /// The next request; the client may still be reading the last response.
    Next { written: u64 },
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// When the phase began.
    since: Instant,
    is_proven: bool,
    /// A key is being looked up, and may turn out to be valid.
    has_unchecked_key: bool,
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// The address that limits apply to.
    pub(crate) origin: IpAddr,
    /// A request does not make it younger: a client that sends one after the other would never make room.
    pub(super) accepted_at: Instant,
    pub(super) limits: Arc<HttpLimits>,
    state: Mutex<State>,
    close: Notify,
}

/// The rank of a connection among those that can make room: the smallest is closed first.
pub(super) type Rank = (bool, Instant);

impl Connection {
    pub(super) fn new(origin: IpAddr, limits: Arc<HttpLimits>) -> Self {
        let accepted_at = Instant::now();
        let state = State {
            phase: Phase::Header,
            since: accepted_at,
            is_proven: false,
            has_unchecked_key: false,
        };
        Self { origin, accepted_at, limits, state: Mutex::new(state), close: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.lock();
        (state.phase, state.since) = (phase, Instant::now());
    }

    /// A request on this connection was authenticated.
    pub(crate) fn prove(&self) {
        self.lock().is_proven = true;
    }

    /// The lookup of a key begins.
    pub(crate) fn check_key(&self) {
        self.lock().has_unchecked_key = true;
    }

    /// The lookup of a key has ended.
    pub(crate) fn key_checked(&self, is_valid: bool) {
        let mut state = self.lock();
        state.has_unchecked_key = false;
        state.is_proven |= is_valid;
    }

    pub(super) fn header_received(&self, has_body: bool) {
        self.enter(if has_body { Phase::Body } else { Phase::Handler });
    }

    pub(super) fn body_received(&self) {
        self.enter(Phase::Handler);
    }

    pub(super) fn answered(&self) {
        self.enter(Phase::Next { written: 0 });
    }

    fn read(&self) {
        let mut state = self.lock();
        match state.phase {
            Phase::Next { .. } => (state.phase, state.since) = (Phase::Header, Instant::now()),
            Phase::Header | Phase::Body | Phase::Handler => {}
        }
    }

    fn wrote(&self, bytes: usize) {
        match &mut self.lock().phase {
            Phase::Next { written } => {
                *written = written.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            }
            Phase::Header | Phase::Body | Phase::Handler => {}
        }
    }

    /// Whether the client has used up its time. The time of a body is limited where it is read.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        let state = self.lock();
        let allowed = match state.phase {
            Phase::Header => self.limits.header_timeout,
            Phase::Next { written } => {
                self.limits.idle_timeout.saturating_add(self.limits.transfer_time(written))
            }
            Phase::Body | Phase::Handler => return false,
        };
        now.saturating_duration_since(state.since) >= allowed
    }

    /// The rank for making room; none if the connection must stay. A connection without a valid key goes unless its
    /// request is being handled, the oldest first; a proven one only between requests, the longest idle first.
    pub(super) fn rank(&self) -> Option<Rank> {
        let state = self.lock();
        let can_go = match state.phase {
            Phase::Header | Phase::Body => !state.is_proven && !state.has_unchecked_key,
            Phase::Next { .. } => true,
            Phase::Handler => false,
        };
        let since = if state.is_proven { state.since } else { self.accepted_at };
        can_go.then_some((state.is_proven, since))
    }

    /// Whether no request has arrived that deserves an answer before the process stops.
    pub(super) fn has_no_request(&self) -> bool {
        self.lock().phase == Phase::Header
    }

    pub(super) fn close(&self) {
        self.close.notify_one();
    }

    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }
}

/// A socket that reports what it transfers.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) socket: TcpStream,
    pub(super) connection: Arc<Connection>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.connection.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(context, bytes))?;
        self.connection.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(context, parts))?;
        self.connection.wrote(written);
        Poll::Ready(Ok(written))
    }
}
