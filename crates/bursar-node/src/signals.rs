//! Stop signals.

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Completes on SIGTERM or SIGINT. The handlers are installed when this returns.
pub fn stop() -> Result<impl Future<Output = ()>, Failure> {
    let cannot = |error| Failure::new(format!("cannot wait for signals: {error}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}
