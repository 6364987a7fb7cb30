//! What a turn reads: plain values that a store has looked up for it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::control::Control;
use crate::flow::Flow;
use crate::idempotency::KnownKey;
use crate::ids::{FlowId, TransactionId};
use crate::ledger::{Account, Hold, HoldKey, Transaction};
use crate::numscript::Name;
use crate::registry::{Record, RecordKey};

/// The records that a plan asked for, as far as they exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// When the last commit was made; time never goes back behind it.
    pub time: Option<Timestamp>,
    pub accounts: Vec<(Name, Account)>,
    pub references: Vec<KnownReference>,
    pub transactions: Vec<Transaction>,
    pub holds: Vec<(HoldKey, Hold)>,
    pub flows: Vec<Arc<Flow>>,
    /// Flows that are there and cannot be read, such as those that a newer version has written.
    pub unreadable: Vec<FlowId>,
    pub keys: Vec<KnownKey>,
    pub control: Option<Control>,
    /// Merchants, beneficiaries and keys.
    pub registry: Vec<Arc<Record>>,
    /// Those of them that are there and cannot be read.
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
    /// Adds what a second round has found.
    pub fn extend(&mut self, more: Self) {
        self.time = self.time.max(more.time);
        self.accounts.extend(more.accounts);
        self.references.extend(more.references);
        self.transactions.extend(more.transactions);
        self.holds.extend(more.holds);
        self.flows.extend(more.flows);
        self.unreadable.extend(more.unreadable);
        self.keys.extend(more.keys);
        self.control = more.control.or(self.control.take());
        self.registry.extend(more.registry);
        self.unreadable_records.extend(more.unreadable_records);
    }
}
