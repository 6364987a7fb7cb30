//! The Temporal host: workflows that drive flows, activities that are turns or jobs, and a relay that tells the cluster
//! what happened. It decides nothing; `bursar_core::drive` says what comes next, and the books are the authority.

mod activities;
mod cluster;
mod count;
mod deliveries;
mod disbursements;
mod drive;
mod driver;
mod hands;
mod history;
mod message;
mod people;
mod port;
mod registry;
mod relay;
mod step;
mod worker;

pub use cluster::{Cluster, ClusterOptions, NotConnected, Secure};
pub use count::{Counts, count_events};
pub use history::{record, replay};
pub use message::{
    DeliveryRequest, DisbursementRequest, DisbursementResult, ManualResolution,
    WebhookDeliveryResult,
};
pub use port::{Office, Promise};
pub use relay::Relay;
pub use worker::Worker;

/// Where `DisbursementWorkflow` runs.
pub const PAYOUT_QUEUE: &str = "payout-worker";
/// Where `WebhookDeliveryWorkflow` runs.
pub const WEBHOOK_QUEUE: &str = "webhook-worker";
