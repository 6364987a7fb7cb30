//! Write accounting: whether a byte of a request was written, and no first byte after the lease.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Checks every write, and records the first.
#[derive(Debug)]
pub(super) struct Gate(Mutex<Watch>);

#[derive(Debug, Clone, Copy)]
struct Watch {
    lease: Instant,
    was_written: bool,
}

impl Gate {
    pub(super) fn new(lease: Instant) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Watch { lease, was_written: false })))
    }

    /// For the next request on the same connection.
    pub(super) fn reset(&self, lease: Instant) {
        self.with(|watch| *watch = Watch { lease, was_written: false });
    }

    /// Whether a byte of the request may have left.
    pub(super) fn was_written(&self) -> bool {
        self.with(|watch| watch.was_written)
    }

    /// The lease limits the first byte only; a request that has started is not cut short by it.
    fn may_write(&self) -> bool {
        self.with(|watch| watch.was_written || Instant::now() < watch.lease)
    }

    fn note_write(&self) {
        self.with(|watch| watch.was_written = true);
    }

    fn with<T>(&self, look: impl FnOnce(&mut Watch) -> T) -> T {
        // A panic while it was locked has changed a flag at most.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A stream behind a gate.
#[derive(Debug)]
pub(super) struct Gated<S> {
    pub(super) stream: S,
    pub(super) gate: Arc<Gate>,
    /// A layer below may buffer a write and send it later: then every write counts, even one that failed.
    pub(super) is_buffered: bool,
}

impl<S: AsyncRead + Unpin> AsyncRead for Gated<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gated<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.gate.may_write() {
            return Poll::Ready(Err(io::Error::other("the lease has ended")));
        }
        if self.is_buffered && !bytes.is_empty() {
            self.gate.note_write();
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(count)) if count > 0) {
            self.gate.note_write();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::{Gate, Gated, Instant};

    #[tokio::test(start_paused = true)]
    async fn the_first_byte_waits_for_no_lease_that_has_ended() {
        let lease = Instant::now() + Duration::from_secs(1);
        let (stream, mut peer) = tokio::io::duplex(64);
        let gate = Gate::new(lease);
        let mut gated = Gated { stream, gate: Arc::clone(&gate), is_buffered: false };
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(gated.write_all(b"money").await.is_err());
        assert!(!gate.was_written());

        gate.reset(Instant::now() + Duration::from_secs(1));
        gated.write_all(b"mo").await.unwrap();
        assert!(gate.was_written());
        tokio::time::advance(Duration::from_secs(1)).await;
        gated.write_all(b"ney").await.unwrap();
        drop(gated);
        let mut arrived = String::new();
        peer.read_to_string(&mut arrived).await.unwrap();
        assert_eq!(arrived, "money", "a started request goes on, and nothing else arrived");
    }

    #[tokio::test]
    async fn a_failed_write_has_written_nothing_unless_a_layer_buffers() {
        for is_buffered in [false, true] {
            let (stream, peer) = tokio::io::duplex(64);
            drop(peer);
            let gate = Gate::new(Instant::now() + Duration::from_mins(1));
            let mut gated = Gated { stream, gate: Arc::clone(&gate), is_buffered };
            assert!(gated.write_all(b"money").await.is_err());
            assert_eq!(gate.was_written(), is_buffered);
        }
    }
}
