//! Reads of the books.

use std::collections::BTreeMap;

use bursar_core::dispatch::{CycleFilter, CycleRow, Queue, QueueKey};
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Flow, Review};
use bursar_core::freezes::Control;
use bursar_core::ids::{FlowId, TransactionId};
use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::ledger::verify::{End, Head, IndexedEntries, LabelDigest};
use bursar_core::ledger::{Account, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{SavedCommit, Tally};

use super::Memory;
use crate::{Query, StoreError};

impl Query for Memory {
    async fn accounts(&mut self) -> Result<Vec<(Name, Account)>, StoreError> {
        let accounts = self.accounts.iter();
        Ok(accounts
            .map(|((address, _), account)| (Name::clone(address), account.clone()))
            .collect())
    }

    async fn flow(&mut self, id: FlowId) -> Result<Option<Flow>, StoreError> {
        Ok(self.flows.get(&id).map(|flow| Flow::clone(flow)))
    }

    async fn flows(&mut self, after: Option<FlowId>, limit: u32) -> Result<Vec<Flow>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let later = self.all_flows().filter(|flow| after.is_none_or(|after| flow.id > after));
        Ok(later.take(limit).cloned().collect())
    }

    async fn all_reviews(&mut self) -> Result<Vec<Review>, StoreError> {
        Ok(self.reviews.values().cloned().collect())
    }

    async fn queues(&mut self) -> Result<Vec<(QueueKey, Queue)>, StoreError> {
        Ok(self.queues.iter().map(|(key, queue)| (key.clone(), queue.clone())).collect())
    }

    async fn cycles(
        &mut self,
        filter: &CycleFilter,
        limit: u32,
    ) -> Result<Vec<CycleRow>, StoreError> {
        let cycles = self.cycles.iter().filter(|row| filter.matches(row));
        let mut cycles: Vec<CycleRow> = cycles.cloned().collect();
        cycles.sort_by(|one, other| {
            let key = |row: &CycleRow| (row.until, row.kind.clone(), row.channel.clone());
            key(other).cmp(&key(one))
        });
        cycles.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(cycles)
    }

    async fn tallies(&mut self, prefix: &str) -> Result<BTreeMap<String, Tally>, StoreError> {
        let found = self.tallies.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(found.map(|(name, tally)| (name.clone(), *tally)).collect())
    }

    async fn closings(&mut self) -> Result<Vec<Closing>, StoreError> {
        Ok(self.closings.values().copied().collect())
    }

    async fn closed_accounts(&mut self, seq: u64) -> Result<Vec<ClosedAccount>, StoreError> {
        let rows = self.closed.iter().filter(|((_, of), _)| (1..=seq).contains(of));
        let latest: BTreeMap<_, _> = rows.map(|((key, _), row)| (key, row.clone())).collect();
        Ok(latest.into_values().collect())
    }

    async fn closed_rows(
        &mut self,
        (first, last): (u64, u64),
    ) -> Result<Vec<(u64, ClosedAccount)>, StoreError> {
        let rows = self.closed.iter().filter(|((_, of), _)| (first..=last).contains(of));
        Ok(rows.map(|((_, of), row)| (*of, row.clone())).collect())
    }

    async fn labels(&mut self) -> Result<LabelDigest, StoreError> {
        let mut digest = LabelDigest::default();
        self.labels.iter().for_each(|(label, flow)| digest.add(label, *flow));
        Ok(digest)
    }

    async fn events(
        &mut self,
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, FeedEvent)>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let events = self.commits.iter().flat_map(|commit| {
            let cursors = (1..).map(|rows| Cursor { commit: commit.seq, rows });
            cursors.zip(commit.events.iter().cloned())
        });
        Ok(events.filter(|(cursor, _)| *cursor > after).take(limit).collect())
    }

    async fn control(&mut self) -> Result<Control, StoreError> {
        Ok(self.control.clone())
    }

    async fn history(&mut self, after: u64, limit: u32) -> Result<Vec<SavedCommit>, StoreError> {
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.commits.iter().skip(first).take(limit).cloned().collect())
    }

    async fn transactions_of(
        &mut self,
        addresses: &[Name],
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        let touches = |transaction: &Transaction| {
            let mut postings = transaction.postings.iter();
            postings.any(|posting| {
                addresses.contains(&posting.source) || addresses.contains(&posting.destination)
            })
        };
        let transactions = self.commits.iter().flat_map(|commit| {
            let cursors = (1..).map(|rows| Cursor { commit: commit.seq, rows });
            cursors.zip(&commit.transactions)
        });
        let found = transactions.filter(|(cursor, found)| *cursor > after && touches(found));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(found.take(limit).map(|(cursor, found)| (cursor, found.clone())).collect())
    }

    async fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.last())
    }

    async fn transaction(&mut self, id: TransactionId) -> Result<Option<Transaction>, StoreError> {
        Ok(self.find_transaction(id).cloned())
    }

    async fn end(&mut self) -> Result<End, StoreError> {
        let transactions = || self.commits.iter().flat_map(|commit| &commit.transactions);
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Ok(End {
            transactions: count(transactions().count()),
            postings: count(transactions().map(|transaction| transaction.postings.len()).sum()),
            events: count(self.commits.iter().map(|commit| commit.events.len()).sum()),
            audit: count(self.commits.iter().map(|commit| commit.audit.len()).sum()),
            due: count(self.due.len()),
            head: self.last(),
        })
    }

    async fn indexed_entries(&mut self) -> Result<IndexedEntries, StoreError> {
        Ok(IndexedEntries::default())
    }

    async fn read_at_one_moment(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
