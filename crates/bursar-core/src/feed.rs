//! What is told to the outside, in the order of commits, and what people did, for the record.

use jiff::Timestamp;

use crate::ids::EventId;

/// What the resources of alerts begin with.
pub const ALERT: &str = "alert:";

/// Something that happened to a resource. Its numbers count from 1 for each resource, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    pub id: EventId,
    /// Such as `reservation.settled`.
    pub kind: String,
    pub resource: String,
    pub merchant: String,
    pub sequence: u64,
    pub time: Timestamp,
    /// The resource as it was then, as JSON.
    pub data: String,
}

/// Somebody decided something by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub actor: String,
    /// Such as `reservation.release`.
    pub action: String,
    pub resource: String,
    pub note: String,
    pub time: Timestamp,
}

/// A place in what was appended: behind this row of this commit. The default is the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub commit: u64,
    /// How many rows of that commit were read.
    pub rows: u64,
}
