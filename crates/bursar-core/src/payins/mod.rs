//! A pay-in: the reports of a provider about money that a customer paid to a merchant, booked once.
//!
//! A provider may report several times about one reference, in any order. The pay-in keeps the reports, and the
//! ledger credits the merchant once. A report with another amount, currency or merchant books nothing: it becomes a case
//! of the pay-in (`case.rs`), in whatever state it is.
//!
//! ```text
//! reported ──▶ PENDING ──▶ COLLECTED   booked: net to the merchant, fee and VAT to their accounts
//!                 │           ▲  │
//!                 ▼           │  └──▶ CONTRADICTED   reported as failed: stays booked, for an operator
//!               FAILED ───────┘
//! ```

mod apply;
mod case;
mod event;
mod machine;
mod request;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use case::{Case, OTHER_REPORTS_MAX, OtherReport, close_case, keep_report};
pub use event::{NewPayIn, ProviderStatus};
pub(crate) use request::Ready;
pub use request::{CloseCase, Reply, ReportReply, Request};
pub use state::{PayIn, ProviderReport, State, Terms, View};
pub use step::{BOOKING, Step, step};
