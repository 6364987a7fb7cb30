//! A connection with limits: on the bytes that it reads for one request, and on the time that a write may stall. It can be
//! aborted from outside.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_rustls::client::TlsStream;

use super::answer::TooMuch;

/// How many bytes a server may send for one request over HTTP/1.1: headers and body have limits of 64 KiB each. More than
/// that never reaches the caller, such as interim answers without end. HTTP/2 has its own limits.
const READ_MAX: usize = 256 * 1024;

/// Aborts a connection from outside. The client alone would first send all buffered bytes, to a server that may never read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionAbort(Arc<Mutex<(bool, Option<Waker>)>>);

impl ConnectionAbort {
    pub(crate) fn abort(&self) {
        let waker = {
            let mut state = self.state();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        let mut state = self.state();
        if state.0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if !state.1.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.1 = Some(context.waker().clone());
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, (bool, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct BoundedConnection {
    stream: Box<dyn Stream>,
    is_h2: bool,
    /// Bytes read since the last write.
    read: usize,
    abort: ConnectionAbort,
    /// How long a write may take once the server has stopped reading.
    write_timeout: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl BoundedConnection {
    pub(crate) fn plain(socket: TcpStream, write_timeout: Duration) -> Self {
        Self::new(Box::new(socket), false, write_timeout)
    }

    pub(crate) fn secure(stream: TlsStream<TcpStream>, write_timeout: Duration) -> Self {
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Self::new(Box::new(stream), is_h2, write_timeout)
    }

    fn new(stream: Box<dyn Stream>, is_h2: bool, write_timeout: Duration) -> Self {
        Self {
            stream,
            is_h2,
            read: 0,
            abort: ConnectionAbort::default(),
            write_timeout,
            stalled: None,
        }
    }

    /// Waits until the server reads, up to the write timeout.
    fn wait<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            let write_timeout = self.write_timeout;
            let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
            ready!(stalled.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl Connection for BoundedConnection {
    /// A connection over HTTP/2 is shared: one request must not abort it for the others.
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.is_h2 { connected.negotiated_h2() } else { connected.extra(self.abort.clone()) }
    }
}

impl AsyncRead for BoundedConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        connection.abort.check(context)?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut connection.stream).poll_read(context, buffer);
        let count = buffer.filled().len().saturating_sub(before);
        connection.read = connection.read.saturating_add(count);
        if !connection.is_h2 && connection.read > READ_MAX {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        polled
    }
}

impl AsyncWrite for BoundedConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        connection.abort.check(context)?;
        connection.read = 0;
        let polled = Pin::new(&mut connection.stream).poll_write(context, bytes);
        connection.wait(context, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        connection.abort.check(context)?;
        connection.read = 0;
        let polled = Pin::new(&mut connection.stream).poll_write_vectored(context, slices);
        connection.wait(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all is written.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        connection.abort.check(context)?;
        let polled = Pin::new(&mut connection.stream).poll_flush(context);
        if polled.is_ready() {
            connection.stalled = None;
        }
        connection.wait(context, polled)
    }

    /// Shuts down only if that is possible at once: a server that does not read would keep the connection open.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.get_mut().stream).poll_shutdown(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}
