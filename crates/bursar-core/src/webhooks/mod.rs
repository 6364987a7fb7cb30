//! Webhooks: endpoints that merchants register, and a delivery for each event that an endpoint's filter matches.

mod apply;
pub mod delivery;
mod endpoint;
mod endpoint_change;
mod fan_out;
mod request;

pub use endpoint::{
    Breaker, CONCURRENCY, ENDPOINTS_MAX, Endpoint, EventFilter, Health, HealthSignal, OVERLAP_MAX,
    PAYLOAD_VERSION, Secret, Settings, Status,
};
pub use endpoint_change::{EndpointChange, SettingsPatch};
pub(crate) use fan_out::fan_out;
pub(crate) use request::Ready;
pub use request::{
    Cancel, DeliveriesStarted, Quarantine, Replay, Reply, Request, StartDeliveries, Test,
};
