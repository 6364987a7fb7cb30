//! Concurrency limits of a worker: submissions per channel, deliveries per endpoint.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bursar_core::flow::{Load, Pool};
use bursar_core::ids::EndpointId;
use bursar_core::rules::Rules;
use jiff::Timestamp;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Slots {
    channels: BTreeMap<String, Arc<Semaphore>>,
    endpoints: Mutex<BTreeMap<EndpointId, Arc<Endpoint>>>,
}

/// A slot before its effect has begun.
#[derive(Debug)]
pub(crate) enum Slot {
    /// None if the channel is not configured: it has no limit here, and the turn rejects the step.
    Channel(Option<OwnedSemaphorePermit>),
    /// Only one effect at a time holds the gate of an endpoint, so the load that the turn sees is exact.
    Endpoint { endpoint: Arc<Endpoint>, gate: OwnedMutexGuard<()> },
}

/// A slot while its effect runs; dropping it frees the slot.
#[derive(Debug)]
pub(crate) enum SlotInUse {
    Channel { _permit: Option<OwnedSemaphorePermit> },
    Endpoint { _in_flight: InFlight },
}

/// An endpoint that this worker sends to.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    gate: Arc<tokio::sync::Mutex<()>>,
    usage: Mutex<Usage>,
}

/// Deliveries in flight, and deliveries that have started in the current second.
#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    in_flight: u32,
    second: i64,
    started: u32,
}

/// Counts one delivery as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Endpoint>);

/// Above this number, idle endpoints are forgotten.
const ENDPOINTS_MAX: usize = 1_000;

impl Slots {
    pub(crate) fn new(rules: &Rules) -> Self {
        let permits = |concurrency: u32| {
            let most = usize::try_from(concurrency).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
        };
        let channels = rules.channels.values();
        let channels = channels.map(|it| (it.name.clone(), permits(it.concurrency))).collect();
        Self { channels, endpoints: Mutex::default() }
    }

    /// Waits for a free slot of a channel, or for the gate of an endpoint.
    pub(crate) async fn acquire(&self, pool: Pool) -> Slot {
        match pool {
            Pool::Channel(name) => match self.channels.get(&name) {
                Some(channel) => Slot::Channel(Arc::clone(channel).acquire_owned().await.ok()),
                None => Slot::Channel(None),
            },
            Pool::Endpoint(id) => {
                let endpoint = self.endpoint(id);
                let gate = Arc::clone(&endpoint.gate).lock_owned().await;
                Slot::Endpoint { endpoint, gate }
            }
        }
    }

    fn endpoint(&self, id: EndpointId) -> Arc<Endpoint> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if endpoints.len() > ENDPOINTS_MAX {
            endpoints.retain(|_, endpoint| Arc::strong_count(endpoint) > 1);
        }
        Arc::clone(endpoints.entry(id).or_default())
    }
}

impl Slot {
    /// The load that the turn decides by.
    pub(crate) fn load(&self, now: Timestamp) -> Load {
        match self {
            Self::Channel(_) => Load::default(),
            Self::Endpoint { endpoint, .. } => endpoint.load(now),
        }
    }

    /// The effect begins. The gate of an endpoint opens for the next one.
    pub(crate) fn begin(self, now: Timestamp) -> SlotInUse {
        match self {
            Self::Channel(permit) => SlotInUse::Channel { _permit: permit },
            Self::Endpoint { endpoint, gate } => {
                let in_flight = Endpoint::begin(endpoint, now);
                drop(gate);
                SlotInUse::Endpoint { _in_flight: in_flight }
            }
        }
    }
}

impl Endpoint {
    fn load(&self, now: Timestamp) -> Load {
        let Usage { in_flight, second, started } =
            *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let started = if second == now.as_second() { started } else { 0 };
        Load { in_flight, room: 0, started }
    }

    fn begin(self: Arc<Self>, now: Timestamp) -> InFlight {
        let started = self.load(now).started.saturating_add(1);
        {
            let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            let in_flight = usage.in_flight.saturating_add(1);
            *usage = Usage { in_flight, second: now.as_second(), started };
        }
        InFlight(self)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.in_flight = usage.in_flight.saturating_sub(1);
    }
}
