//! A connection that cannot be used against us: it listens to so much and no more, and it hangs up at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::answer::TooMuch;

/// What a server may say to one request over HTTP/1.1: headers and body have limits of 64 KiB each. Whoever says more
/// says things that never get there, such as interim answers without end. HTTP/2 has its own limits.
const HEARD_MAX: usize = 256 * 1024;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct Line {
    stream: Box<dyn Stream>,
    is_h2: bool,
    /// Since something was last written.
    heard: usize,
}

impl Line {
    pub(crate) fn plain(socket: TcpStream) -> Self {
        Self { stream: Box::new(socket), is_h2: false, heard: 0 }
    }

    pub(crate) fn secure(stream: TlsStream<TcpStream>) -> Self {
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Self { stream: Box::new(stream), is_h2, heard: 0 }
    }
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.is_h2 { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let line = self.get_mut();
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
        line.heard = 0;
        Pin::new(&mut line.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let line = self.get_mut();
        line.heard = 0;
        Pin::new(&mut line.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    /// Says goodbye if that can be done at once. Whoever does not read would keep the connection for ever.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.get_mut().stream).poll_shutdown(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}
