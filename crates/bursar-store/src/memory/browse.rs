//! Lists in pages, newest first.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::host;
use bursar_core::flow::{Due, Flow, Review};
use bursar_core::ids::{EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;

use super::{Memory, at_most};
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, LaneCursor, OVERDUE_MAX, Overdue, RecordPage, ReviewCursor,
    ReviewFilter, Scan, is_of,
};

impl Scan for Memory {
    async fn flow_keys(
        &mut self,
        filter: &FlowFilter,
        (below, from): (FlowId, FlowId),
        limit: usize,
    ) -> Result<Vec<(FlowId, String)>, StoreError> {
        let index = FlowFilter {
            kind: filter.kind,
            merchant: filter.merchant.clone(),
            parent: filter.parent,
            ..FlowFilter::default()
        };
        let found = self.all_flows().rev().filter(|flow| (from..below).contains(&flow.id));
        let found = found.filter(|flow| index.admits(flow)).take(limit);
        Ok(found.map(|flow| (flow.id, flow.state.status().to_owned())).collect())
    }

    async fn lane_keys(
        &mut self,
        lane: &str,
        before: LaneCursor,
        limit: usize,
    ) -> Result<Vec<LaneCursor>, StoreError> {
        let lane = self.due.iter().rev().filter(|(due, _)| due.lane == lane);
        let cursors = lane.map(|(due, id)| (due.at, *id));
        Ok(cursors.filter(|cursor| *cursor < before).take(limit).collect())
    }

    async fn review_rows(
        &mut self,
        filter: &ReviewFilter,
        after: ReviewCursor,
        limit: usize,
    ) -> Result<Vec<Review>, StoreError> {
        let mut rows: Vec<Review> = self.reviews.values().cloned().collect();
        rows.retain(|row| {
            (row.since, row.flow) > after
                && filter.of.is_none_or(|of| of == (row.kind, row.reason))
                && filter.merchant.as_ref().is_none_or(|merchant| *merchant == row.merchant)
        });
        rows.sort_by_key(|row| (row.since, row.flow));
        rows.truncate(limit);
        Ok(rows)
    }
}

impl Browse for Memory {
    async fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> Result<Vec<(Name, Account)>, StoreError> {
        let accounts = self.accounts.iter().filter(|((address, _), _)| addresses.contains(address));
        Ok(accounts.map(|((name, _), account)| (Name::clone(name), account.clone())).collect())
    }

    async fn flows_known_as(
        &mut self,
        text: &str,
        below: FlowId,
        limit: u32,
    ) -> Result<Vec<FlowId>, StoreError> {
        let has_reference = |flow: &&Flow| flow.references().any(|(_, name)| name == text);
        let flows = self.all_flows().filter(has_reference).map(|flow| flow.id);
        let labels = self.labels.iter().filter(|(label, _)| label == text);
        let found: BTreeSet<FlowId> = flows.chain(labels.map(|(_, flow)| *flow)).collect();
        Ok(found.range(..below).rev().take(at_most(limit)).copied().collect())
    }

    async fn deliveries_of(&mut self, event: EventId) -> Result<Vec<Flow>, StoreError> {
        let (first, last) = event.deliveries();
        let in_range = self.flows.range(first..=last).map(|(_, flow)| &**flow);
        Ok(in_range.filter(|flow| is_of(flow, event)).cloned().collect())
    }

    async fn events_of(
        &mut self,
        resource: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<FeedEvent>, StoreError> {
        let events = self.commits.iter().flat_map(|commit| &commit.events);
        let matching = events.filter(|event| event.resource == resource && event.sequence > after);
        Ok(matching.take(at_most(limit)).cloned().collect())
    }

    async fn audit_back(
        &mut self,
        before: Option<AuditCursor>,
        limit: u32,
    ) -> Result<Vec<(AuditCursor, AuditEntry)>, StoreError> {
        let commits = self.ids.iter().zip(&self.commits);
        let entries = commits.flat_map(|(commit, saved)| {
            let cursors = (0..).map(|n| AuditCursor { commit: *commit, n });
            cursors.zip(saved.audit.iter().cloned())
        });
        let mut entries: Vec<_> =
            entries.filter(|(cursor, _)| before.is_none_or(|before| *cursor < before)).collect();
        entries.sort_by_key(|(cursor, _)| std::cmp::Reverse(*cursor));
        entries.truncate(at_most(limit));
        Ok(entries)
    }

    async fn record(&mut self, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        Ok(self.registry.get(key).cloned())
    }

    async fn records(
        &mut self,
        kind: Kind,
        merchant: Option<&str>,
        before: Option<&str>,
        limit: u32,
    ) -> Result<RecordPage, StoreError> {
        let records = self.registry.values().rev().filter(|record| {
            record.content.kind() == kind
                && merchant.is_none_or(|merchant| record.merchant() == merchant)
                && before.is_none_or(|before| record.id.as_str() < before)
        });
        let records = records.take(at_most(limit)).cloned().collect();
        Ok(RecordPage { records, unreadable: Vec::new() })
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        let mut overdue: BTreeMap<String, Overdue> = BTreeMap::new();
        let due = self.all_flows().filter_map(Flow::due);
        for Due { lane, at } in
            due.filter(|due| due.at <= now && host::lanes().any(|lane| lane == due.lane))
        {
            let entry =
                overdue.entry(lane.clone()).or_insert(Overdue { lane, count: 0, since: at });
            entry.count = entry.count.saturating_add(1).min(OVERDUE_MAX);
            entry.since = entry.since.min(at);
        }
        Ok(overdue.into_values().collect())
    }
}
