//! Whoever decides: the embedded engine, or another host. The server does not know which.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use bursar_core::request::{Answer, Body};
use jiff::Timestamp;

pub type Submitted<'s, T> = Pin<Box<dyn Future<Output = Result<T, Unanswered>> + Send + 's>>;

pub trait Submit: Send + Sync + 'static {
    /// Answers once it is saved.
    fn ask(&self, body: Body) -> Submitted<'_, Answer>;

    /// What the host can say about itself.
    fn numbers(&self) -> Numbers;

    /// The time by the clock that decides.
    fn now(&self) -> Timestamp;

    /// Moves a test clock, and answers with the time it shows when everything that became due has come to rest.
    fn advance(&self, seconds: u64) -> Submitted<'_, Timestamp>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// Too much waits already; nothing was done.
    Busy,
    Stopping,
    /// Not saved, or nobody knows.
    NotSaved(String),
    /// The request itself made the host fail; nothing was done.
    Failed(String),
}

/// Counts since the host was started, and how it stands.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    pub turns: u64,
    pub requests: u64,
    pub not_saved: u64,
    pub panics: u64,
    pub quarantined: u64,
    pub dropped_reports: u64,
    pub in_flight: u64,
    pub inbox: u64,
    /// When a turn was last saved or found nothing to save.
    pub last_turn: Option<Timestamp>,
    /// When something could not be saved, unless something was since.
    pub not_saved_at: Option<Timestamp>,
    pub channels: BTreeMap<String, ChannelNumbers>,
    pub deliveries: DeliveryNumbers,
    /// What the host last wanted somebody to look at.
    pub latest_alert: Option<(Timestamp, String)>,
}

/// Attempts to tell merchants something.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryNumbers {
    /// Answered with 2xx.
    pub taken: u64,
    pub failed: u64,
    /// Dead by our fault: they cannot be signed or written, or make every turn fail.
    pub unsendable: u64,
    /// Not sent this time, by our fault.
    pub unsent: u64,
    pub in_flight: u64,
    /// How long they took, in all.
    pub milliseconds: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelNumbers {
    pub submissions: u64,
    /// Submissions whose outcome nobody knew at first.
    pub unknown: u64,
    /// Answers that the configuration has no meaning for.
    pub unmapped: u64,
}
