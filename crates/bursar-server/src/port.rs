//! The port to the host that decides: the embedded engine, or another host. The server does not know which.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use bursar_core::turn::{Answer, Body};
use jiff::Timestamp;

pub type Submitted<'s, T> = Pin<Box<dyn Future<Output = Result<T, Unanswered>> + Send + 's>>;

pub trait Host: Send + Sync + 'static {
    /// Answers once the turn is saved.
    fn ask(&self, body: Body) -> Submitted<'_, Answer>;

    fn stats(&self) -> HostStats;

    /// The time by the clock that turns use.
    fn now(&self) -> Timestamp;

    /// Advances a test clock. Answers with its time when all flows that became due have been processed.
    fn advance(&self, seconds: u64) -> Submitted<'_, Timestamp>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The inbox is full; nothing was done.
    Busy,
    Stopping,
    /// Not saved, or the outcome of the commit is unknown.
    NotSaved(String),
    /// The request itself made the host fail; nothing was done.
    Failed(String),
}

/// Counters since the host was started, and its current state.
#[derive(Debug, Clone, Default)]
pub struct HostStats {
    pub turns: u64,
    pub requests: u64,
    pub not_saved: u64,
    pub panics: u64,
    pub quarantined: u64,
    pub dropped_reports: u64,
    pub in_flight: u64,
    pub inbox: u64,
    /// When a turn was last saved or had nothing to save.
    pub last_turn: Option<Timestamp>,
    /// When a save last failed, unless one has succeeded since.
    pub not_saved_at: Option<Timestamp>,
    /// Why the store did not save it.
    pub not_saved_because: Option<String>,
    pub channels: BTreeMap<String, ChannelStats>,
    pub deliveries: DeliveryStats,
    /// The last alert of the host itself.
    pub latest_alert: Option<(Timestamp, String)>,
}

/// Webhook delivery attempts.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryStats {
    /// Answered with 2xx.
    pub taken: u64,
    pub failed: u64,
    /// Dead letters caused by this side: they cannot be signed or written, or make every turn fail.
    pub unsendable: u64,
    /// Not sent this time, for a reason on this side.
    pub unsent: u64,
    pub in_flight: u64,
    /// The sum of their durations.
    pub milliseconds: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelStats {
    pub submissions: u64,
    /// Submissions whose outcome was unknown at first.
    pub unknown: u64,
    /// Answers without a mapping in the configuration.
    pub unmapped: u64,
}
