//! Being asked to stop.

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Ends when somebody wants this process to stop. Whoever asks after it was made is heard.
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
