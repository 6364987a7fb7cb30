//! The port to the outside: runs the effects of the host.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bursar_core::flow::{Effect, Outcome};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Runs an effect, once, and returns its outcome.
///
/// The deadline is the end of the effect's lease on the monotonic clock, which cannot be set back. An implementation
/// checks it immediately before the first byte of a submission: if `Instant::now()` is not before it, nothing is ever sent
/// and the outcome is `NotSent`. Timeouts for the answer are shorter than the lease; the host abandons an effect at the
/// deadline, and its outcome is unknown. The wall-clock time in the effect (`lease_until`) only names the lease in the
/// books and is never compared with a clock.
pub trait Outside: Send + Sync + 'static {
    fn run(&self, effect: Effect, deadline: Instant) -> Running;
}

/// An effect that runs.
pub type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

impl<F: Fn(Effect, Instant) -> Running + Send + Sync + 'static> Outside for F {
    fn run(&self, effect: Effect, deadline: Instant) -> Running {
        self(effect, deadline)
    }
}

/// Runs an effect to its end. If the connector panics, or does not answer while the lease lasts, the effect is lost.
pub async fn run_in_time(
    outside: Arc<dyn Outside>,
    effect: Effect,
    deadline: Instant,
    runtime: &Handle,
) -> Outcome {
    let started = effect.clone();
    let mut running = runtime.spawn(async move { outside.run(started, deadline).await });
    match tokio::time::timeout_at(deadline, &mut running).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => effect.lost("the connector failed"),
        Err(_) => {
            running.abort();
            effect.lost("no answer while the lease lasted")
        }
    }
}
