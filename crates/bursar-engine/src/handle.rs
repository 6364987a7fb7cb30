//! The handle of a running engine: requests, statistics, stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bursar_core::flow::{Effect, Outcome, Pool, Slot};
use bursar_core::turn::{Answer, Body};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::Unanswered;
use crate::stats::{Alert, Stats};

pub(crate) type Waiting = oneshot::Sender<Result<Answer, Unanswered>>;

/// A caller waits until the test clock is advanced by this much.
#[derive(Debug)]
pub(crate) struct Advance {
    pub(crate) by: SignedDuration,
    pub(crate) waiting: oneshot::Sender<Result<Timestamp, NotAdvanced>>,
}

/// Why the clock was not advanced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAdvanced {
    #[error(
        "time cannot be put forward: Bursar runs on real time. Nothing was done; start it with a test clock"
    )]
    RealTime,
    #[error("Bursar is stopping: time was not put forward, or only part of the way")]
    Stopping,
    #[error("what is due next cannot be read, time was put forward part of the way: {0}")]
    Unreadable(String),
}

#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) requests: mpsc::Sender<(Body, Waiting)>,
    pub(crate) advances: mpsc::Sender<Advance>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) stats: watch::Receiver<Stats>,
    /// Statistics of another host that runs effects in this process.
    pub(crate) external: Arc<Mutex<Stats>>,
}

impl Handle {
    /// Returns the answer once its turn is saved. If the inbox is full, `Busy` at once.
    pub async fn ask(&self, body: Body) -> Result<Answer, Unanswered> {
        let (sender, receiver) = oneshot::channel();
        self.requests.try_send((body, sender)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unanswered::Busy,
            mpsc::error::TrySendError::Closed(_) => Unanswered::Stopping,
        })?;
        // The sender is dropped without an answer only if the host is gone; then the outcome is unknown.
        let lost = || {
            Unanswered::NotSaved(
                "the engine stopped before it answered: whether it was saved is not known. Ask again with the same key"
                    .to_owned(),
            )
        };
        receiver.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Advances a test clock and returns the new time. Every flow that becomes due meanwhile runs at its due time, with its
    /// effects. Only for a single engine on a store.
    pub async fn advance(&self, seconds: u32) -> Result<Timestamp, NotAdvanced> {
        let (waiting, receiver) = oneshot::channel();
        let advance = Advance { by: SignedDuration::from_secs(i64::from(seconds)), waiting };
        self.advances.send(advance).await.map_err(|_| NotAdvanced::Stopping)?;
        receiver.await.unwrap_or(Err(NotAdvanced::Stopping))
    }

    /// Statistics as of the latest turn.
    pub fn stats(&self) -> Stats {
        let stats = self.stats.borrow().clone();
        let waiting = self.requests.max_capacity().saturating_sub(self.requests.capacity());
        let stats = Stats { inbox: stats.inbox.saturating_add(waiting), ..stats };
        stats.and(&self.external_stats())
    }

    /// Counts an effect that another host runs.
    pub async fn running(&self, effect: &Effect, run: impl Future<Output = Outcome>) -> Outcome {
        let is_webhook = matches!(effect.slot, Some(Slot { pool: Pool::Endpoint(_), .. }));
        let _in_flight = InFlight::new(self, is_webhook);
        let outcome = run.await;
        self.external_stats().count(effect, &outcome);
        outcome
    }

    /// Another host raises an alert for the operators.
    pub fn alert(&self, at: Timestamp, alert: Alert) {
        self.external_stats().alert(at, alert);
    }

    fn external_stats(&self) -> MutexGuard<'_, Stats> {
        self.external.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts nothing new, and drains: the host ends once every effect in flight is done and its outcome is saved.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// An effect that another host runs; done when it is dropped.
struct InFlight<'h> {
    handle: &'h Handle,
    is_webhook: bool,
}

impl<'h> InFlight<'h> {
    fn new(handle: &'h Handle, is_webhook: bool) -> Self {
        let in_flight = Self { handle, is_webhook };
        in_flight.change(1);
        in_flight
    }

    fn change(&self, by: isize) {
        let mut stats = self.handle.external_stats();
        if self.is_webhook {
            let in_flight = &mut stats.deliveries.in_flight;
            *in_flight = in_flight.saturating_add_signed(i64::try_from(by).unwrap_or_default());
        } else {
            stats.in_flight = stats.in_flight.saturating_add_signed(by);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.change(-1);
    }
}
