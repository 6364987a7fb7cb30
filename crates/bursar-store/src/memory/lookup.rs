//! Batched look-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::FlowId;
use bursar_core::ledger::{Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{ReadPlan, ReadSet};

use super::{Memory, at_most};
use crate::{Lookup, StoreError};

impl Lookup for Memory {
    async fn planned(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        Ok(self.read(plan))
    }

    async fn bookings(
        &mut self,
        references: &BTreeSet<(Name, String)>,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        let found = references.iter().filter_map(|key| {
            let id = self.references.get(key)?;
            let (commit, position) = self.positions.get(id)?;
            let number = |index: usize| u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
            let cursor = Cursor { commit: number(*commit), rows: number(*position) };
            Some((cursor, self.find_transaction(*id)?.clone()))
        });
        Ok(found.collect())
    }

    async fn repeated_references(&mut self, limit: u32) -> Result<Vec<(Name, String)>, StoreError> {
        let mut seen = BTreeSet::new();
        let transactions = self.commits.iter().flat_map(|commit| &commit.transactions);
        let keys = transactions.map(|found| (Name::clone(&found.event), found.reference.clone()));
        Ok(keys.filter(|key| !seen.insert(key.clone())).take(at_most(limit)).collect())
    }

    async fn last_events(
        &mut self,
        resources: &[String],
    ) -> Result<Vec<(u64, FeedEvent)>, StoreError> {
        let wanted: BTreeSet<&String> = resources.iter().collect();
        let mut found: BTreeMap<&String, (u64, &FeedEvent)> = BTreeMap::new();
        for event in self.commits.iter().flat_map(|commit| &commit.events) {
            if wanted.contains(&event.resource) {
                let (count, last) = found.entry(&event.resource).or_insert((0, event));
                *count = count.saturating_add(1);
                if event.sequence > last.sequence {
                    *last = event;
                }
            }
        }
        Ok(found.into_values().map(|(count, last)| (count, last.clone())).collect())
    }

    async fn hold_rows(
        &mut self,
        after: Option<&HoldKey>,
        limit: u32,
    ) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.holds.range::<HoldKey, _>((first, Bound::Unbounded)).take(at_most(limit));
        Ok(rows.map(|(key, hold)| (key.clone(), hold.clone())).collect())
    }

    async fn due_rows(
        &mut self,
        after: Option<&(Due, FlowId)>,
        limit: u32,
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.due.range::<(Due, FlowId), _>((first, Bound::Unbounded));
        Ok(rows.take(at_most(limit)).cloned().collect())
    }

    async fn missing_due(
        &mut self,
        rows: &[(Due, FlowId)],
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        Ok(rows.iter().filter(|row| !self.due.contains(row)).cloned().collect())
    }

    async fn missing_flows(&mut self, ids: &[FlowId]) -> Result<Vec<FlowId>, StoreError> {
        Ok(ids.iter().filter(|id| !self.flows.contains_key(id)).copied().collect())
    }

    async fn flows_by_id(&mut self, ids: &[FlowId]) -> Result<Vec<Option<Flow>>, StoreError> {
        Ok(ids.iter().map(|id| self.flows.get(id).map(|flow| Flow::clone(flow))).collect())
    }
}
