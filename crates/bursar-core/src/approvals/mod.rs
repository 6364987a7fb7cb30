//! Approvals: one person proposes what no person may do alone, another one approves, and only then it is done.
//!
//! A proposal keeps the request itself and what it would do. The last approval carries the request out in its own commit. If it
//! would now do something else than the proposal says, nothing is done and the proposal is STALE.
//!
//! ```text
//! proposed ──▶ PROPOSED ──▶ APPROVED   the request is carried out in this commit
//!                 │
//!                 ├──▶ REJECTED     by another person
//!                 ├──▶ WITHDRAWN    by the person who proposed it
//!                 ├──▶ EXPIRED      a day has passed
//!                 └──▶ STALE        it would do something else now, or is impossible
//!
//! break-glass ──▶ BREAK_GLASS ──▶ APPROVED | REJECTED   done by one admin; another person looks at it afterwards
//! ```

mod apply;
mod machine;
mod preview;
mod request;
mod state;
mod step;
mod stored;
#[cfg(test)]
mod tests;

pub use preview::{Preview, PreviewPosting};
pub(crate) use request::Ready;
pub use request::{Approve, Decided, Propose, Reply, Request, Turndown};
pub use state::{Approval, Signed, SignedView, State, View};
pub use step::{Event, Step, step};
pub use stored::{UnreadableBody, proposal_key, stored_body};
