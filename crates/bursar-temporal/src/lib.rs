//! The Temporal host: workflows that drive flows, activities that are turns or effects, and a relay that delivers the outbox
//! to the cluster. It decides nothing: `bursar_core::flow::host` says what comes next, and the books are the authority.

mod activities;
mod activity_table;
mod cluster;
mod count;
mod driver;
mod history;
mod kinds;
mod message;
mod port;
mod relay;
mod signals;
mod slots;
mod step;
mod worker;
mod workflow_loop;

pub use cluster::{Cluster, ClusterOptions, NotConnected, Secure};
pub use count::{Counts, count_events};
pub use history::{record, replay};
pub use kinds::{
    DeliveryRequest, DisbursementRequest, DisbursementResult, ManualResolution,
    WebhookDeliveryResult,
};
pub use port::{HostPort, Promise};
pub use relay::Relay;
pub use worker::Worker;
