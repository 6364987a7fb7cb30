//! The event feed in commit order, and the audit log.

use jiff::Timestamp;
use serde::Serialize;

use crate::flow::to_json;
use crate::ids::EventId;

/// Prefix of the resources of alerts.
pub const ALERT: &str = "alert:";

/// The resource of the anchor of the books.
pub const BOOKS: &str = "books";

/// Whether a resource is a record that emits events, and no flow.
pub(crate) fn is_record(resource: &str) -> bool {
    resource == BOOKS || resource.starts_with(ALERT)
}

/// An event about a resource. Its sequence numbers count from 1 for each resource, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    pub id: EventId,
    /// For example `payout.success`.
    pub kind: String,
    pub resource: String,
    pub merchant: String,
    pub sequence: u64,
    pub time: Timestamp,
    /// The view of the resource at that time, as JSON.
    pub data: String,
}

/// An event in the shape of `CloudEvents` 1.0, without its data.
#[derive(Serialize)]
struct Envelope<'e> {
    specversion: &'static str,
    id: EventId,
    source: &'static str,
    #[serde(rename = "type")]
    kind: &'e str,
    subject: &'e str,
    time: Timestamp,
    datacontenttype: &'static str,
    merchant_id: &'e str,
    sequence: u64,
    version: &'e str,
}

impl FeedEvent {
    /// The webhook payload in this version of its schema.
    pub(crate) fn payload(&self, version: &str) -> String {
        let mut text = to_json(&Envelope {
            specversion: "1.0",
            id: self.id,
            source: "bursar",
            kind: &self.kind,
            subject: &self.resource,
            time: self.time,
            datacontenttype: "application/json",
            merchant_id: &self.merchant,
            sequence: self.sequence,
            version,
        });
        // The data is already JSON and must stay byte for byte as emitted.
        text.pop();
        text.push_str(",\"data\":");
        text.push_str(&self.data);
        text.push('}');
        text
    }
}

/// An action of an actor, in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub actor: String,
    /// For example `payout.cancel`.
    pub action: String,
    pub resource: String,
    pub note: String,
    pub time: Timestamp,
}

/// A position in the appended rows: behind this row of this commit. The default is the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub commit: u64,
    /// Number of rows of that commit that were read.
    pub rows: u64,
}
