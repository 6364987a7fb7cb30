//! One request and its answer, over a connection that accounts for its writes. No request is sent twice, and no request
//! goes on after its caller is gone: a connection belongs to the call that uses it, or is idle.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::classify::HttpAnswer;
use super::gate::{Gate, Gated};
use super::target::{Target, Tls};
use crate::gsma::CORRELATION_ID;
use crate::guard::{GUARDED, Guard};
use crate::local_resources::is_ours;

const BODY_MAX: usize = 64 * 1024;
const HEAD_MAX: usize = 64 * 1024;
/// Servers close idle connections; five seconds is the shortest usual timeout.
const IDLE_MAX: Duration = Duration::from_secs(4);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}
type Io = TokioIo<Gated<Box<dyn Stream>>>;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Whether a byte of the request may have left. If not, it is proven that the provider did not receive it.
    pub(crate) was_written: bool,
    /// This machine is the reason: no files, ports, memory or time.
    pub(crate) is_ours: bool,
    pub(crate) why: String,
}

impl Broken {
    fn before(why: impl Into<String>) -> Self {
        Self { was_written: false, is_ours: false, why: why.into() }
    }

    fn ours(why: impl Into<String>) -> Self {
        Self { is_ours: true, ..Self::before(why) }
    }
}

/// When to give up: the answer must be whole by `until`, and the first byte must leave before `lease`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) until: Instant,
    pub(crate) lease: Instant,
}

/// A connection with its driver and its write accounting.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    /// None once it has ended; the request on it fails then.
    connection: Option<Connection<Io, Full<Bytes>>>,
    gate: Arc<Gate>,
    is_reused: bool,
}

#[derive(Debug)]
pub(crate) struct Wire {
    target: Target,
    tls: Option<Tls>,
    idle_max: usize,
    idle: Mutex<VecDeque<(Instant, Link)>>,
    pub(super) guard: Guard,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl Wire {
    pub(crate) fn new(target: Target, tls: Option<Tls>, idle_max: usize) -> Self {
        let (idle, guard) = (Mutex::new(VecDeque::new()), Guard::default());
        Self { target, tls, idle_max, idle, guard }
    }

    /// Sends a request once, if its lease allows. `keeps` decides by the answer whether the connection is safe for another
    /// call.
    pub(crate) async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        limits: Limits,
        keeps: impl FnOnce(&HttpAnswer) -> bool,
    ) -> Result<HttpAnswer, Broken> {
        let ended = || Broken::ours("the lease has ended, so it was not sent");
        if Instant::now() >= limits.lease {
            return Err(ended());
        }
        let mut link = match timeout_at(limits.until, self.link(limits.lease)).await {
            Ok(linked) => linked?,
            Err(_) => return Err(Broken::before("no connection in time")),
        };
        if Instant::now() >= limits.lease {
            return Err(ended());
        }
        if !self.guard.allows() {
            return Err(Broken::ours(GUARDED));
        }
        let answer = link.send(request, limits.until).await?;
        if keeps(&answer) {
            self.keep(link);
        }
        Ok(answer)
    }

    /// An idle connection that is still alive, or a new one.
    async fn link(&self, lease: Instant) -> Result<Link, Broken> {
        while let Some(mut link) = self.take_idle() {
            // Lets the runtime poll the sockets first, so that a closed connection is noticed.
            tokio::task::yield_now().await;
            if link.is_alive().await {
                link.gate.reset(lease);
                link.is_reused = true;
                return Ok(link);
            }
        }
        self.connect(lease).await
    }

    async fn connect(&self, lease: Instant) -> Result<Link, Broken> {
        let Target { host, port, .. } = &self.target;
        let failed = |error: std::io::Error| {
            let why = format!("cannot connect to {host}:{port}: {error}");
            Broken { is_ours: is_ours(&error), ..Broken::before(why) }
        };
        let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let is_buffered = self.tls.is_some();
        let stream: Box<dyn Stream> = match &self.tls {
            Some(tls) => Box::new(tls.connect(socket).await.map_err(failed)?),
            None => Box::new(socket),
        };
        Link::new(stream, is_buffered, lease)
            .await
            .map_err(|error| Broken::before(format!("cannot talk to {host}:{port}: {error}")))
    }

    fn take_idle(&self) -> Option<Link> {
        let mut idle = self.idle();
        let oldest = Instant::now().checked_sub(IDLE_MAX);
        idle.retain(|(since, _)| oldest.is_none_or(|oldest| *since > oldest));
        idle.pop_back().map(|(_, link)| link)
    }

    fn keep(&self, link: Link) {
        let mut idle = self.idle();
        if self.idle_max > 0 && !link.sender.is_closed() {
            idle.push_back((Instant::now(), link));
        }
        while idle.len() > self.idle_max {
            idle.pop_front();
        }
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<(Instant, Link)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    async fn new(
        stream: Box<dyn Stream>,
        is_buffered: bool,
        lease: Instant,
    ) -> Result<Self, hyper::Error> {
        let gate = Gate::new(lease);
        let io = TokioIo::new(Gated { stream, gate: Arc::clone(&gate), is_buffered });
        let shaken = http1::Builder::new().max_buf_size(HEAD_MAX).handshake(io).await;
        let (sender, connection) = shaken?;
        Ok(Self { sender, connection: Some(connection), gate, is_reused: false })
    }

    /// Sends a request and reads its answer; an error says whether a byte was written.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        until: Instant,
    ) -> Result<HttpAnswer, Broken> {
        let talked = timeout_at(until, self.talk(request)).await;
        let talked = talked.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        talked.map_err(|why| Broken { was_written: self.gate.was_written(), is_ours: false, why })
    }

    /// Whether the server has neither closed the connection nor sent bytes without a request.
    async fn is_alive(&mut self) -> bool {
        let has_ended =
            poll_fn(|context| Poll::Ready(poll(&mut self.connection, context).is_ready()));
        !has_ended.await && self.sender.is_ready()
    }

    /// Sends a request and reads until the body is complete.
    async fn talk(&mut self, request: Request<Full<Bytes>>) -> Result<HttpAnswer, String> {
        let is_reused = self.is_reused;
        let Self { sender, connection, .. } = self;
        let mut talking = pin!(async move {
            let response = sender.send_request(request).await.map_err(|error| chain(&error))?;
            receive(response, is_reused).await
        });
        loop {
            tokio::select! {
                biased;
                answer = &mut talking => return answer,
                () = poll_fn(|context| poll(connection, context)), if connection.is_some() => {}
            }
        }
    }
}

/// Drives a connection, and drops it once it has ended. The request on it gets the error.
fn poll(
    connection: &mut Option<Connection<Io, Full<Bytes>>>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let has_ended = match connection {
        Some(connection) => Pin::new(connection).poll(context).is_ready(),
        None => true,
    };
    if has_ended {
        *connection = None;
        return Poll::Ready(());
    }
    Poll::Pending
}

async fn receive(
    response: Response<hyper::body::Incoming>,
    is_reused: bool,
) -> Result<HttpAnswer, String> {
    let (head, body) = response.into_parts();
    let echo = head.headers.get(CORRELATION_ID);
    let echo = echo.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let whole = Limited::new(body, BODY_MAX).collect().await;
    let body = whole.map_err(|error| format!("the answer was not whole: {error}"))?;
    Ok(HttpAnswer { status: head.status.as_u16(), echo, body: body.to_bytes().to_vec(), is_reused })
}

/// An error with its sources: the text of a hyper error alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    async fn link(lease: Instant) -> (Link, DuplexStream) {
        let (stream, peer) = duplex(4_096);
        (Link::new(Box::new(stream), false, lease).await.unwrap(), peer)
    }

    fn request() -> Request<Full<Bytes>> {
        Request::post("/transactions").header("host", "x").body(Full::from("money")).unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_dead_before_the_first_byte_has_sent_nothing() {
        let (mut link, peer) = link(soon()).await;
        drop(peer);
        let broken = link.send(request(), soon()).await.unwrap_err();
        assert!(!broken.was_written, "{broken:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_answers_before_a_request_receives_nothing() {
        let (mut link, mut peer) = link(soon()).await;
        peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let broken = link.send(request(), soon()).await.unwrap_err();
        assert!(!broken.was_written, "{broken:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_ends_before_the_first_byte_sends_nothing() {
        let (mut link, mut peer) = link(soon()).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        let broken = link.send(request(), soon()).await.unwrap_err();
        assert!(!broken.was_written, "{broken:?}");
        drop(link);
        let mut arrived = Vec::new();
        peer.read_to_end(&mut arrived).await.unwrap();
        assert_eq!(arrived, b"");
    }

    #[tokio::test(start_paused = true)]
    async fn one_written_byte_makes_the_outcome_unknown() {
        let (mut link, mut peer) = link(soon()).await;
        let listening = tokio::spawn(async move { peer.read_u8().await });
        let broken = link.send(request(), soon()).await.unwrap_err();
        assert!(broken.was_written, "{broken:?}");
        assert_eq!(listening.await.unwrap().unwrap(), b'P');
    }

    /// A link that has carried a call and is idle.
    async fn used() -> (Link, DuplexStream) {
        let (mut link, mut peer) = link(soon()).await;
        let answering = tokio::spawn(async move {
            peer.read_u8().await.unwrap();
            peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            peer
        });
        assert_eq!(link.send(request(), soon()).await.unwrap().body, b"{}");
        (link, answering.await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_reused_only_if_the_server_is_quiet() {
        let (mut link, peer) = used().await;
        assert!(link.is_alive().await);
        drop(peer);
        assert!(!link.is_alive().await, "the server has closed it");
        let (mut link, mut peer) = used().await;
        peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
        assert!(!link.is_alive().await, "the server has sent bytes without a request");
    }

    #[tokio::test]
    async fn a_dead_connection_is_not_handed_out() {
        // No server listens on port 1: only an idle connection can be returned.
        let wire = Wire::new(Target::parse("http://127.0.0.1:1").unwrap(), None, 2);
        let (link, peer) = used().await;
        wire.keep(link);
        assert!(wire.link(soon()).await.unwrap().is_reused);
        drop(peer);
        let (link, peer) = used().await;
        wire.keep(link);
        drop(peer);
        assert!(!wire.link(soon()).await.unwrap_err().was_written);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connections_are_few_and_not_old() {
        let wire = Wire::new(Target::parse("http://x").unwrap(), None, 2);
        let mut peers = Vec::new();
        for _ in 0..3 {
            let (link, peer) = used().await;
            wire.keep(link);
            peers.push(peer);
        }
        assert_eq!(wire.idle().len(), 2);
        assert!(wire.take_idle().is_some());
        tokio::time::advance(IDLE_MAX).await;
        assert!(wire.take_idle().is_none());
    }
}
