//! What is told to the outside, in the order of commits, and what people did, for the record.

use jiff::Timestamp;
use serde::Serialize;

use crate::flow::to_json;
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
    /// What is sent about it, in this version of its form.
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
        // The data is JSON already, and stays as it was told.
        text.pop();
        text.push_str(",\"data\":");
        text.push_str(&self.data);
        text.push('}');
        text
    }
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
