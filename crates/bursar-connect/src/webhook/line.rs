//! A connection that cannot be used against us: it listens to so much and no more, it waits so long and no longer to be
//! listened to, and it can be cut from outside.

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

/// What a server may say to one request over HTTP/1.1: headers and body have limits of 64 KiB each. Whoever says more
/// says things that never get there, such as interim answers without end. HTTP/2 has its own limits.
const HEARD_MAX: usize = 256 * 1024;

/// Ends a connection from outside. The client would first send all that it has, to somebody who may never take it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cut(Arc<Mutex<(bool, Option<Waker>)>>);

impl Cut {
    pub(crate) fn cut(&self) {
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

pub(crate) struct Line {
    stream: Box<dyn Stream>,
    is_h2: bool,
    /// Since something was last written.
    heard: usize,
    cut: Cut,
    /// How long it may take until everything is written, once the other side has stopped taking it.
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Line {
    pub(crate) fn plain(socket: TcpStream, patience: Duration) -> Self {
        Self::new(Box::new(socket), false, patience)
    }

    pub(crate) fn secure(stream: TlsStream<TcpStream>, patience: Duration) -> Self {
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Self::new(Box::new(stream), is_h2, patience)
    }

    fn new(stream: Box<dyn Stream>, is_h2: bool, patience: Duration) -> Self {
        Self { stream, is_h2, heard: 0, cut: Cut::default(), patience, stalled: None }
    }

    /// Waits for the other side to take what is written, but not for ever.
    fn wait<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            let patience = self.patience;
            let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
            ready!(stalled.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl Connection for Line {
    /// Over HTTP/2 a connection is shared, and nobody may cut it for the others.
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.is_h2 { connected.negotiated_h2() } else { connected.extra(self.cut.clone()) }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let line = self.get_mut();
        line.cut.check(context)?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut line.stream).poll_read(context, buffer);
        let count = buffer.filled().len().saturating_sub(before);
        line.heard = line.heard.saturating_add(count);
        if !line.is_h2 && line.heard > HEARD_MAX {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        polled
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let line = self.get_mut();
        line.cut.check(context)?;
        line.heard = 0;
        let polled = Pin::new(&mut line.stream).poll_write(context, bytes);
        line.wait(context, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let line = self.get_mut();
        line.cut.check(context)?;
        line.heard = 0;
        let polled = Pin::new(&mut line.stream).poll_write_vectored(context, slices);
        line.wait(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when there is nothing left to write.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let line = self.get_mut();
        line.cut.check(context)?;
        let polled = Pin::new(&mut line.stream).poll_flush(context);
        if polled.is_ready() {
            line.stalled = None;
        }
        line.wait(context, polled)
    }

    /// Says goodbye if that can be done at once. Whoever does not read would keep the connection for ever.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.get_mut().stream).poll_shutdown(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}
