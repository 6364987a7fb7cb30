//! How much a worker does at once: as many submissions as a channel takes, as many deliveries as an endpoint takes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bursar_core::ids::EndpointId;
use bursar_core::request::Busy;
use bursar_core::rules::Rules;
use jiff::Timestamp;
use tokio::sync::{MutexGuard, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Hands {
    channels: BTreeMap<String, Arc<Semaphore>>,
    endpoints: Mutex<BTreeMap<EndpointId, Arc<Endpoint>>>,
}

/// An endpoint that this worker sends to.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    /// Whoever wants to begin asks one after the other, so that nobody takes another's place.
    gate: tokio::sync::Mutex<()>,
    load: Mutex<Load>,
}

/// What is on its way, and what has begun in this second.
#[derive(Debug, Default, Clone, Copy)]
struct Load {
    in_flight: u32,
    second: i64,
    begun: u32,
}

/// A delivery that is under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Endpoint>);

/// More endpoints than this are not remembered when nothing is on its way to them.
const ENDPOINTS_MAX: usize = 1_000;

impl Hands {
    pub(crate) fn new(rules: &Rules) -> Self {
        let permits = |concurrency: u32| {
            let most = usize::try_from(concurrency).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
        };
        let channels = rules.channels.values();
        let channels = channels.map(|it| (it.name.clone(), permits(it.concurrency))).collect();
        Self { channels, endpoints: Mutex::default() }
    }

    /// A free hand for a submission. A channel that is not configured has none to wait for: the turn says so.
    pub(crate) async fn for_channel(&self, name: &str) -> Option<OwnedSemaphorePermit> {
        let channel = Arc::clone(self.channels.get(name)?);
        channel.acquire_owned().await.ok()
    }

    pub(crate) fn endpoint(&self, id: EndpointId) -> Arc<Endpoint> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if endpoints.len() > ENDPOINTS_MAX {
            endpoints.retain(|_, endpoint| Arc::strong_count(endpoint) > 1);
        }
        Arc::clone(endpoints.entry(id).or_default())
    }
}

impl Endpoint {
    pub(crate) async fn gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().await
    }

    /// How busy it is now.
    pub(crate) fn busy(&self, now: Timestamp) -> Busy {
        let Load { in_flight, second, begun } =
            *self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = if second == now.as_second() { begun } else { 0 };
        Busy { in_flight, room: 0, begun }
    }

    /// One more is on its way.
    pub(crate) fn begin(self: &Arc<Self>, now: Timestamp) -> UnderWay {
        let begun = self.busy(now).begun.saturating_add(1);
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let in_flight = load.in_flight.saturating_add(1);
        *load = Load { in_flight, second: now.as_second(), begun };
        UnderWay(Arc::clone(self))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut load = self.0.load.lock().unwrap_or_else(PoisonError::into_inner);
        load.in_flight = load.in_flight.saturating_sub(1);
    }
}
