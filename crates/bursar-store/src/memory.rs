//! The books in memory: the oracle that the other stores are compared with. Nothing outlives the process.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::commit::{Commit, SavedCommit, chain};
use bursar_core::ids::{CommitId, TransactionId};
use bursar_core::ledger::{Account, AccountKey, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::plan::ReadPlan;
use bursar_core::records::{KnownReference, ReadSet};
use bursar_core::verify::End;

use crate::{Query, Store, StoreError, Turn};

#[derive(Debug, Clone, Default)]
pub struct Memory {
    accounts: BTreeMap<AccountKey, Account>,
    references: BTreeMap<(Name, String), TransactionId>,
    /// Where each transaction is: its commit and its place in it.
    places: BTreeMap<TransactionId, (usize, usize)>,
    holds: BTreeMap<HoldKey, Hold>,
    commits: Vec<SavedCommit>,
    commit_ids: BTreeSet<CommitId>,
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
        let memory = &self.0;
        let account =
            |key: &AccountKey| Some((Name::clone(&key.0), memory.accounts.get(key)?.clone()));
        let reference = |key: &(Name, String)| {
            let id = *memory.references.get(key)?;
            let request_hash = memory.transaction(id)?.request_hash;
            Some(KnownReference {
                event: Name::clone(&key.0),
                reference: key.1.clone(),
                id,
                request_hash,
            })
        };
        Ok(ReadSet {
            time: memory.commits.last().map(|commit| commit.time),
            accounts: plan.accounts.iter().filter_map(account).collect(),
            references: plan.references.iter().filter_map(reference).collect(),
            transactions: plan
                .transactions
                .iter()
                .filter_map(|id| memory.transaction(*id).cloned())
                .collect(),
            holds: plan
                .holds
                .iter()
                .filter_map(|key| Some((key.clone(), memory.holds.get(key)?.clone())))
                .collect(),
        })
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let memory = self.0;
        let Some(time) = commit.time() else { return Ok(()) };
        memory.check(id, commit)?;
        for write in &commit.accounts {
            let key = (Name::clone(&write.address), write.after.balance.currency());
            memory.accounts.insert(key, write.after.clone());
        }
        for write in &commit.holds {
            memory.holds.insert(write.key.clone(), write.after.clone());
        }
        for (transaction, place) in commit.transactions.iter().zip(0..) {
            let key = (Name::clone(&transaction.event), transaction.reference.clone());
            memory.references.insert(key, transaction.id);
            memory.places.insert(transaction.id, (memory.commits.len(), place));
        }
        let head = memory.head();
        memory.commit_ids.insert(id);
        memory.commits.push(SavedCommit {
            seq: head.seq.saturating_add(1),
            time,
            hash: chain(head.hash, time, &commit.transactions),
            transactions: commit.transactions.clone(),
        });
        Ok(())
    }
}

impl Memory {
    fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        let (commit, place) = self.places.get(&id)?;
        self.commits.get(*commit)?.transactions.get(*place)
    }

    /// What the database would refuse by its keys and conditions.
    fn check(&self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        let is_funded = commit.accounts.iter().all(|write| {
            let key = (Name::clone(&write.address), write.after.balance.currency());
            let opening = self.accounts.get(&key).map_or(0, |account| account.balance.minor());
            let is_expected = opening.checked_add(write.delta) == Some(write.after.balance.minor());
            is_expected && write.least_opening.is_none_or(|least| opening >= least)
        });
        let is_new = commit.transactions.iter().all(|transaction| {
            let key = (Name::clone(&transaction.event), transaction.reference.clone());
            !self.references.contains_key(&key) && !self.places.contains_key(&transaction.id)
        });
        let is_held =
            commit.holds.iter().all(|write| self.holds.get(&write.key) == write.before.as_ref());
        let is_new = is_new && !self.commit_ids.contains(&id);
        if is_funded && is_new && is_held { Ok(()) } else { Err(StoreError::Conflict) }
    }

    fn head(&self) -> End {
        self.commits.last().map_or(End::default(), |last| End {
            seq: last.seq,
            hash: last.hash,
            time: Some(last.time),
            ..End::default()
        })
    }
}

impl Query for Memory {
    async fn accounts(&mut self) -> Result<Vec<(Name, Account)>, StoreError> {
        let accounts = self.accounts.iter();
        Ok(accounts
            .map(|((address, _), account)| (Name::clone(address), account.clone()))
            .collect())
    }

    async fn holds(&mut self) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
        Ok(self.holds.iter().map(|(key, hold)| (key.clone(), hold.clone())).collect())
    }

    async fn history(&mut self, after: u64, limit: u32) -> Result<Vec<SavedCommit>, StoreError> {
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.commits.iter().skip(first).take(limit).cloned().collect())
    }

    async fn end(&mut self) -> Result<End, StoreError> {
        let transactions = || self.commits.iter().flat_map(|commit| &commit.transactions);
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Ok(End {
            transactions: count(transactions().count()),
            postings: count(transactions().map(|transaction| transaction.postings.len()).sum()),
            ..self.head()
        })
    }

    async fn read_at_one_moment(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
