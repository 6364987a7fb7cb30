//! The result of a turn: the rows that the store saves in one transaction, and the answers that the engine gives
//! afterwards.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use crate::dispatch::{Charge, CycleRow, QueueWrite};
use crate::feed::{AuditEntry, FeedEvent};
use crate::flow::{Due, Effect, Flow, Review, ReviewReason};
use crate::freezes::ControlWrite;
use crate::idempotency::KnownKey;
use crate::ids::{BooksId, FirstReferences};
use crate::ledger::closing::Close;
use crate::ledger::{Account, Hold, HoldKey, Transaction};
use crate::numscript::Name;
use crate::registry::{RecordKey, RecordWrite};
use crate::turn::{Answer, Tally};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The insertion time of all rows; none if there is nothing to save.
    pub time: Option<Timestamp>,
    /// In posting order.
    pub transactions: Vec<Transaction>,
    pub accounts: Vec<AccountWrite>,
    pub holds: Vec<HoldWrite>,
    pub flows: Vec<FlowWrite>,
    /// The net change of each tally, in the order of the names. The store adds them without a precondition, after all
    /// others that it checks.
    pub tallies: Vec<(String, Tally)>,
    /// Changes of queues, and then the price of what was taken from them. The store applies them without a precondition,
    /// as tallies.
    pub queues: Vec<QueueWrite>,
    pub charges: Vec<Charge>,
    /// Cycles of dispatch that are over.
    pub cycles: Vec<CycleRow>,
    /// Parts of closings. Rows that are there already stay.
    pub closings: Vec<Close>,
    pub keys: Vec<KnownKey>,
    /// In the order of the requests that emitted them.
    pub events: Vec<FeedEvent>,
    pub audit: Vec<AuditEntry>,
    pub control: Option<ControlWrite>,
    /// New and changed registry records.
    pub records: Vec<RecordWrite>,
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless these records still have
    /// these versions.
    pub relied_on: Vec<(RecordKey, u64)>,
    /// Effects to run after the commit is saved.
    pub effects: Vec<Effect>,
    /// One for each request of the batch, in the same order.
    pub answers: Vec<Answer>,
}

/// The net change of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountWrite {
    pub address: Name,
    /// The account after the turn, unless another commit changes it.
    pub after: Account,
    pub delta: i64,
    /// The sum of the postings to it.
    pub received: i64,
    /// Precondition: the checked debits need this opening balance. The store rejects the commit with `Conflict` if the
    /// balance is lower.
    pub least_opening: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWrite {
    pub key: HoldKey,
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless the hold is still as it was
    /// read.
    pub before: Option<Hold>,
    pub after: Hold,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowWrite {
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless the flow still has the
    /// version that was read.
    pub before: Option<Arc<Flow>>,
    pub after: Arc<Flow>,
    /// A new flow whose first reference follows from a key of the same commit: the index of the keys finds the flow, and the
    /// reference has no row.
    pub is_keyed: bool,
}

/// The change of the review of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewChange {
    Nothing,
    Begins(Review),
    /// It goes on for another reason.
    Turns(ReviewReason),
    Ends,
}

/// The rows that a commit appends and that never change again.
#[derive(Debug, Clone, Copy)]
pub struct Appended<'c> {
    pub transactions: &'c [Transaction],
    pub events: &'c [FeedEvent],
    pub audit: &'c [AuditEntry],
}

impl FlowWrite {
    /// Lane and time of the flow when it was read.
    pub fn due_before(&self) -> Option<Due> {
        self.before.as_ref().and_then(|flow| flow.due())
    }

    /// The labels of a new flow.
    pub fn new_labels(&self) -> impl Iterator<Item = &str> {
        self.before.is_none().then(|| self.after.state.labels()).into_iter().flatten()
    }

    /// How the list of reviews changes.
    pub fn review(&self) -> ReviewChange {
        let before = self.before.as_ref().and_then(|flow| flow.state.review());
        match (before, Review::of(&self.after)) {
            (None, None) => ReviewChange::Nothing,
            (None, Some(review)) => ReviewChange::Begins(review),
            (Some(_), None) => ReviewChange::Ends,
            (Some(before), Some(review)) if before == review.reason => ReviewChange::Nothing,
            (Some(_), Some(review)) => ReviewChange::Turns(review.reason),
        }
    }

    /// External references to index, which were added since the flow was read: channel or provider, and reference.
    pub fn new_references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let keyed = usize::from(self.is_keyed);
        let known = self.before.as_ref().map_or(keyed, |flow| flow.references().count());
        self.after.references().skip(known)
    }
}

/// Finds the new flows whose first reference follows from a key of the same commit. The flows are in the order of their ids.
pub(crate) fn mark_keyed(flows: &mut [FlowWrite], keys: &[KnownKey], books: BooksId) {
    if keys.is_empty() {
        return;
    }
    let references = FirstReferences::of(books);
    for known in keys {
        let found = flows.binary_search_by_key(&known.flow, |write| write.after.id);
        let Some(write) = found.ok().and_then(|place| flows.get_mut(place)) else { continue };
        let reference = write.after.state.keyed_reference();
        let keys = reference.and_then(|reference| references.keys(reference));
        let leads_back = keys.is_some_and(|keys| keys.contains(&known.key.digest()));
        write.is_keyed |= write.before.is_none() && leads_back;
    }
}

impl Commit {
    pub fn appended(&self) -> Appended<'_> {
        Appended { transactions: &self.transactions, events: &self.events, audit: &self.audit }
    }
}
