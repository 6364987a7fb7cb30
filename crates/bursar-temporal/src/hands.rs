//! How much a worker does at once: as many submissions as a channel takes, as many deliveries as an endpoint takes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bursar_core::ids::EndpointId;
use bursar_core::request::Busy;
use bursar_core::rules::Rules;
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Hands {
    channels: BTreeMap<String, Arc<Semaphore>>,
    endpoints: Arc<Mutex<BTreeMap<EndpointId, Load>>>,
}

/// What is on its way to an endpoint, and what has begun in this second.
#[derive(Debug, Default)]
struct Load {
    in_flight: u32,
    second: i64,
    begun: u32,
}

/// A delivery that is under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    endpoints: Arc<Mutex<BTreeMap<EndpointId, Load>>>,
    endpoint: EndpointId,
}

impl Hands {
    pub(crate) fn new(rules: &Rules) -> Self {
        let permits = |concurrency: u32| {
            let most = usize::try_from(concurrency).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
        };
        let channels = rules.channels.values();
        let channels = channels.map(|it| (it.name.clone(), permits(it.concurrency))).collect();
        Self { channels, endpoints: Arc::default() }
    }

    /// A free hand for a submission. A channel that is not configured has none to wait for: the turn says so.
    pub(crate) async fn for_channel(&self, name: &str) -> Option<OwnedSemaphorePermit> {
        let channel = Arc::clone(self.channels.get(name)?);
        channel.acquire_owned().await.ok()
    }

    /// How busy an endpoint is; the next delivery counts from now on.
    pub(crate) fn for_endpoint(&self, endpoint: EndpointId, now: Timestamp) -> (Busy, UnderWay) {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let load = endpoints.entry(endpoint).or_default();
        if load.second != now.as_second() {
            (load.second, load.begun) = (now.as_second(), 0);
        }
        let busy = Busy { in_flight: load.in_flight, room: 0, begun: load.begun };
        load.in_flight = load.in_flight.saturating_add(1);
        load.begun = load.begun.saturating_add(1);
        (busy, UnderWay { endpoints: Arc::clone(&self.endpoints), endpoint })
    }
}

impl UnderWay {
    /// It did not begin after all.
    pub(crate) fn did_not_begin(self) {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(load) = endpoints.get_mut(&self.endpoint) {
            load.begun = load.begun.saturating_sub(1);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(load) = endpoints.get_mut(&self.endpoint) {
            load.in_flight = load.in_flight.saturating_sub(1);
            if load.in_flight == 0 {
                endpoints.remove(&self.endpoint);
            }
        }
    }
}
