//! Dispatch: which of the flows that wait to be sent goes next, and when.
//!
//! A flow that waits to be sent waits in the queue of its kind, channel, rank and merchant. A claim in a channel takes flows
//! by rank, and within a rank by the turns of the merchants.

mod claim;
mod fair;
mod pace;
mod queue;
mod rate;
mod settings;
mod standing;
#[cfg(test)]
mod tests;
mod window;

pub use claim::{Blocked, Rest, SendTime, dispatch_id, settings};
pub(crate) use claim::{plan_claim, plan_claim_second};
pub(crate) use fair::Turns;
pub use fair::{Head, QueueClaim, shares};
pub use pace::Pace;
pub use queue::{
    Charge, LEASES, Position, QUEUES, Queue, QueueKey, QueueWrite, Rank, TurnChange, WEIGHT, Waits,
    group_parts, queue_group, queues_of,
};
pub(crate) use queue::{QueueRecount, is_group, queue_writes};
pub use rate::{NoRate, Rate};
pub use settings::{Config, Settings};
pub use standing::{Cycle, CycleFilter, CycleRow, Standing};
pub use window::{AtCutOff, Calendar, Day, Opening, Window};
