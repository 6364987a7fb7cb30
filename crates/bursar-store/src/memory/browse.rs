//! Lists in pages, newest first.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::host;
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::{EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;

use super::Memory;
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, FlowPage, LaneCursor, LanePage, Live, Overdue, RecordPage,
    WINDOW, is_of,
};

fn at_most(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

impl Browse for Memory {
    async fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> Result<Vec<(Name, Account)>, StoreError> {
        let accounts = self.accounts.iter().filter(|((address, _), _)| addresses.contains(address));
        Ok(accounts.map(|((name, _), account)| (Name::clone(name), account.clone())).collect())
    }

    async fn list_flows_desc(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> Result<FlowPage, StoreError> {
        let flows = || {
            let older = self.all_flows().rev();
            older.filter(|flow| before.is_none_or(|before| flow.id < before)).take(at_most(WINDOW))
        };
        let found = flows().filter(|flow| filter.admits(flow)).take(at_most(limit));
        let end = flows().nth(at_most(WINDOW).saturating_sub(1)).map(|flow| flow.id);
        Ok(FlowPage::new(found.cloned().collect(), limit, end))
    }

    async fn list_lane_desc(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> Result<LanePage, StoreError> {
        let cursors = || {
            let lane = self.due.iter().rev().filter(|(due, _)| due.lane == lane);
            let cursors = lane.map(|(due, id)| (due.at, *id));
            cursors
                .filter(|cursor| before.is_none_or(|before| *cursor < before))
                .take(at_most(WINDOW))
        };
        let flows = cursors().filter_map(|(_, id)| self.flows.get(&id)).map(|flow| &**flow);
        let found = flows.filter(|flow| filter.admits(flow)).take(at_most(limit));
        let end = cursors().nth(at_most(WINDOW).saturating_sub(1));
        Ok(LanePage::new(found.cloned().collect(), limit, end))
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

    async fn live_channels(&mut self) -> Result<Vec<String>, StoreError> {
        let live = self.all_flows().filter(|flow| flow.due().is_some());
        let channels: BTreeSet<String> =
            live.filter_map(|flow| Some(flow.state.payout()?.terms.channel.clone())).collect();
        Ok(channels.into_iter().collect())
    }

    async fn live(&mut self) -> Result<Vec<Live>, StoreError> {
        let mut live: BTreeMap<(&str, &str), Live> = BTreeMap::new();
        let waits = |flow: &&Flow| flow.due().is_some();
        for flow in self.all_flows().filter(waits) {
            let (kind, status) = (flow.state.kind(), flow.state.status());
            let entry = live.entry((kind, status)).or_insert_with(|| Live {
                kind: kind.to_owned(),
                status: status.to_owned(),
                count: 0,
                oldest: flow.updated_at,
            });
            entry.count = entry.count.saturating_add(1);
            entry.oldest = entry.oldest.min(flow.updated_at);
        }
        Ok(live.into_values().collect())
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        let mut overdue: BTreeMap<String, Overdue> = BTreeMap::new();
        let due = self.all_flows().filter_map(Flow::due);
        for Due { lane, at } in
            due.filter(|due| due.at <= now && host::lanes().any(|lane| lane == due.lane))
        {
            let entry =
                overdue.entry(lane.clone()).or_insert(Overdue { lane, count: 0, since: at });
            entry.count = entry.count.saturating_add(1);
            entry.since = entry.since.min(at);
        }
        Ok(overdue.into_values().collect())
    }
}
