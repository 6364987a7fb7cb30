//! The books in memory: the oracle for the other stores. They end with the process.

mod browse;
mod lookup;
mod query;
mod queues;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bursar_core::dispatch::{CycleRow, Queue, QueueKey, queues_of};
use bursar_core::flow::{Due, Flow, Review};
use bursar_core::freezes::Control;
use bursar_core::idempotency::{KeyDigest, KnownKey};
use bursar_core::ids::{CommitId, FlowId, TransactionId};
use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::ledger::verify::Head;
use bursar_core::ledger::{Account, AccountKey, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::registry::{Record, RecordKey};
use bursar_core::turn::{
    Commit, FairClaim, FlowWrite, HoldWrite, KnownReference, Link, ReadPlan, ReadSet, ReviewChange,
    SavedCommit, Tally, chain, tallies_of,
};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Turn};

#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub(crate) accounts: BTreeMap<AccountKey, Account>,
    references: BTreeMap<(Name, String), TransactionId>,
    /// The position of each transaction: index of its commit, index within the commit.
    positions: BTreeMap<TransactionId, (usize, usize)>,
    holds: BTreeMap<HoldKey, Hold>,
    flows: BTreeMap<FlowId, Arc<Flow>>,
    pub(crate) due: BTreeSet<(Due, FlowId)>,
    reviews: BTreeMap<FlowId, Review>,
    tallies: BTreeMap<String, Tally>,
    queues: BTreeMap<QueueKey, Queue>,
    cycles: Vec<CycleRow>,
    labels: BTreeSet<(String, FlowId)>,
    closings: BTreeMap<u64, Closing>,
    /// By account and commit.
    closed: BTreeMap<(AccountKey, u64), ClosedAccount>,
    keys: BTreeMap<KeyDigest, KnownKey>,
    /// Flows by channel and reference of their attempts.
    attempts: BTreeMap<(String, String), FlowId>,
    control: Control,
    pub(crate) registry: BTreeMap<RecordKey, Record>,
    pub(crate) commits: Vec<SavedCommit>,
    commit_ids: BTreeSet<CommitId>,
    /// In the order of the commits.
    ids: Vec<CommitId>,
}

#[derive(Debug)]
pub struct MemoryTurn<'s>(&'s mut Memory);

impl Store for Memory {
    type Turn<'s> = MemoryTurn<'s>;

    async fn begin(&mut self) -> Result<MemoryTurn<'_>, StoreError> {
        Ok(MemoryTurn(self))
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        Ok(self.commit_ids.contains(&id))
    }
}

impl Turn for MemoryTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        Ok(self.0.read(plan))
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let memory = self.0;
        let Some(time) = commit.time else { return Ok(()) };
        memory.check(id, commit)?;
        for write in &commit.accounts {
            let key = (Name::clone(&write.address), write.after.balance.currency());
            memory.accounts.insert(key, write.after.clone());
        }
        memory.put(&commit.holds, &commit.flows, &commit.keys);
        for (name, change) in &commit.tallies {
            let tally = memory.tallies.entry(name.clone()).or_default();
            *tally = tally.plus(*change);
        }
        memory.change_queues(commit, time);
        memory.cycles.extend(commit.cycles.iter().cloned());
        if let Some(after) = commit.control.as_ref().and_then(|control| control.after.clone()) {
            memory.control = after;
        }
        for write in &commit.records {
            memory.registry.insert(write.after.key(), write.after.clone());
        }
        for close in &commit.closings {
            for row in &close.accounts {
                let key = ((Name::clone(&row.address), row.currency), close.seq);
                memory.closed.entry(key).or_insert_with(|| row.clone());
            }
            if let Some(closing) = close.closing {
                memory.closings.entry(closing.seq).or_insert(closing);
            }
        }
        let head = memory.last();
        let digests = commit.appended().digests();
        let saved = SavedCommit {
            seq: head.seq.saturating_add(1),
            time,
            hash: chain(head.hash, time, &digests),
            link: Link::new(digests),
            transactions: commit.transactions.clone(),
            events: commit.events.clone(),
            audit: commit.audit.clone(),
        };
        memory.push(id, saved);
        Ok(())
    }
}

impl Memory {
    fn read(&self, plan: &ReadPlan) -> ReadSet {
        let account =
            |key: &AccountKey| Some((Name::clone(&key.0), self.accounts.get(key)?.clone()));
        let reference = |key: &(Name, String)| {
            let id = *self.references.get(key)?;
            let request_hash = self.find_transaction(id)?.request_hash;
            Some(KnownReference {
                event: Name::clone(&key.0),
                reference: key.1.clone(),
                id,
                request_hash,
            })
        };
        ReadSet {
            time: self.commits.last().map(|commit| commit.time),
            seq: self.commits.last().map_or(0, |commit| commit.seq),
            accounts: plan.accounts.iter().filter_map(account).collect(),
            references: plan.references.iter().filter_map(reference).collect(),
            transactions: plan
                .transactions
                .iter()
                .filter_map(|id| self.find_transaction(*id).cloned())
                .collect(),
            holds: plan
                .holds
                .iter()
                .filter_map(|key| Some((key.clone(), self.holds.get(key)?.clone())))
                .collect(),
            flows: self.planned_flows(plan),
            queues: plan.queues.iter().flat_map(|claim| self.heads(claim)).collect(),
            unreadable: Vec::new(),
            tallies: plan
                .tallies
                .iter()
                .filter_map(|name| Some((name.clone(), self.tallies.get(name)?.count)))
                .collect(),
            control: plan.control.then(|| self.control.clone()),
            registry: plan
                .registry
                .iter()
                .filter_map(|key| self.registry.get(key).cloned().map(Arc::new))
                .collect(),
            unreadable_records: Vec::new(),
            keys: plan.keys.iter().filter_map(|key| self.keys.get(key).cloned()).collect(),
        }
    }

    fn find_transaction(&self, id: TransactionId) -> Option<&Transaction> {
        let (commit, position) = self.positions.get(&id)?;
        self.commits.get(*commit)?.transactions.get(*position)
    }

    /// Changes a flow outside a turn, as a fault would: verification must find it.
    pub fn overwrite_flow(&mut self, flow: Flow) {
        self.flows.insert(flow.id, Arc::new(flow));
    }

    /// Changes the commits outside a turn, as a fault would.
    pub fn overwrite_history(&mut self, commits: Vec<SavedCommit>) {
        self.commits = commits;
    }

    fn all_flows(&self) -> impl DoubleEndedIterator<Item = &Flow> {
        self.flows.values().map(|flow| &**flow)
    }

    /// The flows that the plan names, and the due flows that it claims.
    fn planned_flows(&self, plan: &ReadPlan) -> Vec<Arc<Flow>> {
        let claimed = plan.due.iter().flat_map(|claim| {
            let limit = usize::try_from(claim.limit).unwrap_or(usize::MAX);
            let first = Due { lane: claim.lane.clone(), at: Timestamp::MIN };
            let due = self.due.range((first, FlowId::from_uuid(Uuid::nil()))..);
            due.take_while(|(due, _)| due.lane == claim.lane && due.at <= claim.now)
                .take(limit)
                .map(|(_, id)| *id)
        });
        let claimed = claimed.chain(plan.fair.iter().flat_map(|claim| self.claim_fair(claim)));
        let claimed = claimed.chain(plan.queues.iter().flat_map(|claim| self.claim_queues(claim)));
        let named = plan.attempts.iter().filter_map(|key| self.attempts.get(key).copied());
        let made = plan.made_under.iter().flat_map(|keys| {
            let known = self.keys.range(keys.first()..=keys.last());
            known.map(|(_, known)| known.flow)
        });
        let ids: BTreeSet<FlowId> =
            plan.flows.iter().copied().chain(named).chain(made).chain(claimed).collect();
        ids.into_iter().filter_map(|id| self.flows.get(&id).cloned()).collect()
    }

    /// A limited number of flows from each lane of a family.
    fn claim_fair(&self, claim: &FairClaim) -> Vec<FlowId> {
        let (begin, end) = (claim.begin(), claim.end());
        let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
        let waiting =
            self.due.iter().filter(|(due, _)| due.lane.as_str() > begin && due.lane < end);
        let due = waiting.filter(|(due, _)| due.at <= claim.now).filter(|(due, _)| {
            let count = taken.entry(&due.lane).or_default();
            *count = count.saturating_add(1);
            *count <= claim.room(&due.lane)
        });
        let limit = usize::try_from(claim.limit).unwrap_or(usize::MAX);
        due.map(|(_, id)| *id).take(limit).collect()
    }

    /// Replaces holds, flows and idempotency keys.
    pub(crate) fn put(&mut self, holds: &[HoldWrite], flows: &[FlowWrite], keys: &[KnownKey]) {
        for write in holds {
            self.holds.insert(write.key.clone(), write.after.clone());
        }
        for write in flows {
            let id = write.after.id;
            write.due_before().map(|due| self.due.remove(&(due, id)));
            self.due.extend(write.after.due().map(|due| (due, id)));
            match write.review() {
                ReviewChange::Nothing => {}
                ReviewChange::Begins(review) => drop(self.reviews.insert(id, review)),
                ReviewChange::Turns(reason) => {
                    self.reviews.entry(id).and_modify(|review| review.reason = reason);
                }
                ReviewChange::Ends => drop(self.reviews.remove(&id)),
            }
            self.labels.extend(write.new_labels().map(|label| (label.to_owned(), id)));
            for (speaker, reference) in write.new_references() {
                self.attempts.insert((speaker.into_owned(), reference.to_owned()), id);
            }
            self.flows.insert(id, Arc::clone(&write.after));
        }
        for known in keys {
            self.keys.insert(known.key.digest(), known.clone());
        }
    }

    /// Counts all flows and queues again.
    pub(crate) fn recount(&mut self) {
        self.tallies = tallies_of(self.all_flows());
        self.queues = queues_of(self.all_flows());
    }

    /// Appends a commit.
    pub(crate) fn push(&mut self, id: CommitId, commit: SavedCommit) {
        for (transaction, position) in commit.transactions.iter().zip(0..) {
            let key = (Name::clone(&transaction.event), transaction.reference.clone());
            self.references.insert(key, transaction.id);
            self.positions.insert(transaction.id, (self.commits.len(), position));
        }
        self.commit_ids.insert(id);
        self.ids.push(id);
        self.commits.push(commit);
    }

    /// Enforces the constraints and conditions that a database enforces.
    fn check(&self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let is_funded = commit.accounts.iter().all(|write| {
            let key = (Name::clone(&write.address), write.after.balance.currency());
            let opening = self.accounts.get(&key).map_or(0, |account| account.balance.minor());
            let is_expected = opening.checked_add(write.delta) == Some(write.after.balance.minor());
            is_expected && write.least_opening.is_none_or(|least| opening >= least)
        });
        let is_new = commit.transactions.iter().all(|transaction| {
            let key = (Name::clone(&transaction.event), transaction.reference.clone());
            !self.references.contains_key(&key) && !self.positions.contains_key(&transaction.id)
        });
        let is_held =
            commit.holds.iter().all(|write| self.holds.get(&write.key) == write.before.as_ref());
        let is_current = commit.flows.iter().all(|write| {
            let version = |flow: &Arc<Flow>| flow.version;
            self.flows.get(&write.after.id).map(version) == write.before.as_ref().map(version)
        });
        let is_new_key = |known: &KnownKey| !self.keys.contains_key(&known.key.digest());
        let is_new = is_new && !self.commit_ids.contains(&id) && commit.keys.iter().all(is_new_key);
        let is_current = is_current
            && commit.records.iter().all(|write| {
                let found = self.registry.get(&write.after.key());
                found.map(|record| record.version) == write.before
            });
        let is_current = is_current
            && commit.relied_on.iter().all(|(key, version)| {
                self.registry.get(key).is_some_and(|record| record.version == *version)
            });
        let version = commit.control.as_ref().map(|control| control.version);
        let is_as_read = version.is_none_or(|version| version == self.control.version);
        if is_funded && is_new && is_held && is_current && is_as_read {
            Ok(())
        } else {
            Err(StoreError::Conflict)
        }
    }

    fn last(&self) -> Head {
        let last = self.commits.last();
        last.map_or(Head::default(), |last| Head {
            seq: last.seq,
            hash: last.hash,
            time: Some(last.time),
        })
    }
}

fn at_most(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
