//! Effects: calls to external systems that a host runs after the commit is saved. Each outcome returns as a request.

use jiff::Timestamp;

use crate::ids::{EndpointId, FlowId};

use crate::flow::Call;

/// A call for a flow. The worker starts it before the lease ends, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub flow: FlowId,
    pub attempt: u32,
    pub lease_until: Timestamp,
    /// The slot that the call occupies while it runs, if its pool is limited.
    pub slot: Option<Slot>,
    pub call: Call,
}

/// A place in a concurrency limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub pool: Pool,
    /// The size of the pool, if the flow's records define it; otherwise the scheduler knows it.
    pub size: Option<u32>,
    /// When the call starts, not before; rate limits count from here.
    pub at: Timestamp,
    /// The call does not start after this time, if it has a slot of its own.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pool {
    Channel(String),
    Endpoint(EndpointId),
}
