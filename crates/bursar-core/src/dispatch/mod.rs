//! Dispatch: which of the flows that wait to be sent goes next, and when.
//!
//! A flow that waits to be sent waits in the queue of its kind, channel, rank and merchant. A claim in a channel takes flows
//! by rank, and within a rank by the turns of the merchants.

mod fair;
mod queue;
mod rate;
#[cfg(test)]
mod tests;

pub(crate) use fair::Turns;
pub use fair::{Head, QueueClaim, shares};
pub use queue::{
    Charge, Position, QUEUES, Queue, QueueKey, QueueWrite, Rank, TurnChange, WEIGHT, Waits,
    group_parts, queue_group, queues_of,
};
pub(crate) use queue::{QueueRecount, is_group, queue_writes};
pub use rate::{NoRate, Rate};
