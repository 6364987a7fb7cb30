//! The outside world, as the host sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bursar_core::effect::{Call, Effect};
use bursar_core::payout::{self, Event, Outcome};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Does what an effect says, once, and says what became of it.
///
/// The deadline is the end of the effect's lease on the monotonic clock, which nobody can set back. Whoever implements
/// this looks at it immediately before the first byte of a submission: if `Instant::now()` is not before it, nothing is
/// ever sent and the outcome is `NotSent`. Timeouts for the answer are shorter than the lease; whatever has not come
/// back by the deadline is given up by the host, and its outcome is unknown. The wall-clock time in the effect
/// (`lease_until`) only names the lease in the books and is never compared with a clock.
pub trait Channels: Send + Sync + 'static {
    fn run(&self, effect: Effect, deadline: Instant)
    -> Pin<Box<dyn Future<Output = Event> + Send>>;
}

/// Runs an effect to its end. A channel that panics, or says nothing while the lease lasts, has said nothing.
pub async fn run_in_time(
    channels: Arc<dyn Channels>,
    effect: Effect,
    deadline: Instant,
    runtime: &Handle,
) -> Event {
    let running = effect.clone();
    let mut running = runtime.spawn(async move { channels.run(running, deadline).await });
    match tokio::time::timeout_at(deadline, &mut running).await {
        Ok(Ok(event)) => event,
        Ok(Err(_)) => lost(&effect, "the connector failed"),
        Err(_) => {
            running.abort();
            lost(&effect, "no answer while the lease lasted")
        }
    }
}

/// Nobody knows what became of it.
pub fn lost(effect: &Effect, detail: &str) -> Event {
    let detail = detail.to_owned();
    let Effect { attempt, lease_until, .. } = *effect;
    match effect.call {
        Call::Submit { r#try, .. } => {
            Event::Submitted { attempt, r#try, outcome: Outcome::Unknown { detail } }
        }
        Call::Query => {
            Event::Queried { attempt, lease_until, answer: payout::Answer::Failed { detail } }
        }
    }
}
