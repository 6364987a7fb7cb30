//! The records of a turn: plain values that the store has read.

use std::sync::Arc;

use jiff::Timestamp;

use crate::dispatch::Head;
use crate::flow::Flow;
use crate::freezes::Control;
use crate::idempotency::KnownKey;
use crate::ids::{FlowId, TransactionId};
use crate::ledger::{Account, Hold, HoldKey, Transaction};
use crate::numscript::Name;
use crate::registry::{Record, RecordKey};

/// The records that a plan asked for, as far as they exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// The time of the last commit; no later commit is earlier.
    pub time: Option<Timestamp>,
    /// The number of the last commit.
    pub seq: u64,
    pub accounts: Vec<(Name, Account)>,
    pub references: Vec<KnownReference>,
    pub transactions: Vec<Transaction>,
    pub holds: Vec<(HoldKey, Hold)>,
    pub flows: Vec<Arc<Flow>>,
    /// The queues that claims have read.
    pub queues: Vec<Head>,
    /// Flows that exist but cannot be decoded, such as flows that a newer version wrote.
    pub unreadable: Vec<FlowId>,
    pub keys: Vec<KnownKey>,
    /// The counts of tallies.
    pub tallies: Vec<(String, i64)>,
    pub control: Option<Control>,
    /// Registry records: merchants, beneficiaries, API keys, alerts, endpoints.
    pub registry: Vec<Arc<Record>>,
    /// Registry records that exist but cannot be decoded.
    pub unreadable_records: Vec<RecordKey>,
}

/// An event that was posted before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownReference {
    pub event: Name,
    pub reference: String,
    pub id: TransactionId,
    pub request_hash: [u8; 32],
}

impl ReadSet {
    /// Adds the records of the second round.
    pub fn extend(&mut self, more: Self) {
        self.time = self.time.max(more.time);
        self.seq = self.seq.max(more.seq);
        self.accounts.extend(more.accounts);
        self.references.extend(more.references);
        self.transactions.extend(more.transactions);
        self.holds.extend(more.holds);
        self.flows.extend(more.flows);
        self.queues.extend(more.queues);
        self.unreadable.extend(more.unreadable);
        self.keys.extend(more.keys);
        self.tallies.extend(more.tallies);
        self.control = more.control.or(self.control.take());
        self.registry.extend(more.registry);
        self.unreadable_records.extend(more.unreadable_records);
    }
}
