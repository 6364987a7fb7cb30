//! For whoever wants something done, or wants to know how it goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bursar_core::request::{Answer, Body};
use bursar_core::{delivery, payout};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::Unanswered;
use crate::stats::{Alert, Stats};

pub(crate) type Waiting = oneshot::Sender<Result<Answer, Unanswered>>;

/// Somebody waits until it is this much later.
#[derive(Debug)]
pub(crate) struct Advance {
    pub(crate) by: SignedDuration,
    pub(crate) waiting: oneshot::Sender<Result<Timestamp, NotAdvanced>>,
}

/// Why time was not put forward.
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
    /// What another host has done and met that runs effects beside this engine.
    pub(crate) beside: Arc<Mutex<Stats>>,
}

impl Handle {
    /// Answers once it is saved. A full inbox turns away at once.
    pub async fn ask(&self, body: Body) -> Result<Answer, Unanswered> {
        let (sender, receiver) = oneshot::channel();
        self.requests.try_send((body, sender)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unanswered::Busy,
            mpsc::error::TrySendError::Closed(_) => Unanswered::Stopping,
        })?;
        // Dropped without an answer only if the host is gone; then nobody knows.
        let lost = || {
            Unanswered::NotSaved(
                "the engine stopped before it answered: whether it was saved is not known. Ask again with the same key"
                    .to_owned(),
            )
        };
        receiver.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Puts a test clock forward. Whatever becomes due on the way happens at its time, one after the other, each with
    /// its effects; then the new time is answered. Only where one engine is alone with the books.
    pub async fn advance(&self, seconds: u32) -> Result<Timestamp, NotAdvanced> {
        let (waiting, receiver) = oneshot::channel();
        let advance = Advance { by: SignedDuration::from_secs(i64::from(seconds)), waiting };
        self.advances.send(advance).await.map_err(|_| NotAdvanced::Stopping)?;
        receiver.await.unwrap_or(Err(NotAdvanced::Stopping))
    }

    /// How it goes. The counts are as of the latest turn.
    pub fn stats(&self) -> Stats {
        let stats = self.stats.borrow().clone();
        let waiting = self.requests.max_capacity().saturating_sub(self.requests.capacity());
        let stats = Stats { inbox: stats.inbox.saturating_add(waiting), ..stats };
        stats.and(&self.beside())
    }

    /// Another host calls a channel, and what it answers.
    pub async fn calling(
        &self,
        channel: &str,
        call: impl Future<Output = payout::Event>,
    ) -> payout::Event {
        let _under_way = UnderWay::new(self, |stats, change| {
            stats.in_flight = stats.in_flight.saturating_add_signed(change);
        });
        let event = call.await;
        self.beside().heard(channel, &event);
        event
    }

    /// Another host sends to an endpoint, and what that answers.
    pub async fn sending(&self, send: impl Future<Output = delivery::Event>) -> delivery::Event {
        let _under_way = UnderWay::new(self, |stats, change| {
            let in_flight = &mut stats.deliveries.in_flight;
            let change = i64::try_from(change).unwrap_or_default();
            *in_flight = in_flight.saturating_add_signed(change);
        });
        let event = send.await;
        self.beside().brought(&event);
        event
    }

    /// Another host has met something that a person must look at.
    pub fn alert(&self, at: Timestamp, alert: Alert) {
        self.beside().alert(at, alert);
    }

    fn beside(&self) -> MutexGuard<'_, Stats> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes nothing new, and comes to rest once everything in flight is back and saved.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Something that another host has begun; over when it is dropped, however it ends.
struct UnderWay<'h> {
    handle: &'h Handle,
    count: fn(&mut Stats, isize),
}

impl<'h> UnderWay<'h> {
    fn new(handle: &'h Handle, count: fn(&mut Stats, isize)) -> Self {
        count(&mut handle.beside(), 1);
        Self { handle, count }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        (self.count)(&mut self.handle.beside(), -1);
    }
}
