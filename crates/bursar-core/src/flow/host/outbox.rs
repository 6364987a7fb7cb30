//! The outbox: messages from the relay to a Temporal cluster, saved in the same commit as the change that causes them.

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::flow::{KINDS, OutboxInfo};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboxEntry {
    pub kind: OutboxKind,
    /// The relay does not claim the entry before this time.
    #[serde(rename = "at")]
    pub available_at: Timestamp,
    /// Number of claims by the relay.
    pub tries: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxKind {
    /// Start the workflow of a new flow, as the kind of the flow says.
    Start(OutboxInfo),
    /// Wake the workflow: another caller changed the flow.
    Wake,
}

/// An entry that the cluster accepted, perhaps under a workflow id other than the planned one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxAck {
    pub entry: OutboxEntry,
    pub renamed: Option<String>,
}

const WAKE: OutboxInfo = OutboxInfo { name: "wake", lane: "outbox:WAKE" };

/// Lane of flows whose workflow is overdue.
pub const SWEEP: &str = "outbox:SWEEP";

/// Every lane of the relay, most urgent first: money that waits to be sent, then workflows that wait for a change.
pub fn lanes() -> impl Iterator<Item = &'static str> {
    let starts = |is_money: bool| {
        let kinds = KINDS.iter().filter(move |kind| kind.owns_money == is_money);
        kinds.filter_map(|kind| Some(kind.outbox?.lane))
    };
    starts(true).chain([WAKE.lane]).chain(starts(false)).chain([SWEEP])
}

impl OutboxKind {
    const fn info(self) -> OutboxInfo {
        match self {
            Self::Start(info) => info,
            Self::Wake => WAKE,
        }
    }

    /// The lane in which the relay claims the entry.
    pub const fn lane(self) -> &'static str {
        self.info().lane
    }
}

impl Serialize for OutboxKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}

impl<'de> Deserialize<'de> for OutboxKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == WAKE.name {
            return Ok(Self::Wake);
        }
        let mut starts = KINDS.iter().filter_map(|kind| kind.outbox);
        let start = starts.find(|info| info.name == name).map(Self::Start);
        start
            .ok_or_else(|| D::Error::custom(format!("this version knows no outbox entry {name:?}")))
    }
}
