//! Lists for the API and for reports: pages with a bounded amount of work.

mod filter;
mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::{Flow, KINDS, Kind as _, KindInfo, Review, ReviewReason, host};
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::payouts::Payout;
use bursar_core::registry::{Kind, Record, RecordKey};
use bursar_core::turn::{FLOW_TALLIES, FlowTally, REVIEW_TALLIES, Tally};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Query, StoreError};
pub use filter::{FlowFilter, ReviewFilter};
use page::Page;
pub use page::{FlowPage, LaneCursor, LanePage, ReviewCursor, ReviewPage, Scan};

/// More overdue entries than this are not counted.
pub(crate) const OVERDUE_MAX: u64 = 10_000;

pub trait Browse: Scan + Query {
    /// The accounts at these addresses, in all their currencies.
    fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> impl Future<Output = Result<Vec<(Name, Account)>, StoreError>>;

    /// The flows below an id that a channel, a provider or a caller knows by this text, newest first.
    fn flows_known_as(
        &mut self,
        text: &str,
        below: FlowId,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<FlowId>, StoreError>>;

    /// The deliveries of an event.
    fn deliveries_of(
        &mut self,
        event: EventId,
    ) -> impl Future<Output = Result<Vec<Flow>, StoreError>>;

    /// The events of a resource after a sequence number, in order.
    fn events_of(
        &mut self,
        resource: &str,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<FeedEvent>, StoreError>>;

    /// The audit entries before a cursor, newest first.
    fn audit_back(
        &mut self,
        before: Option<AuditCursor>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(AuditCursor, AuditEntry)>, StoreError>>;

    fn record(
        &mut self,
        key: &RecordKey,
    ) -> impl Future<Output = Result<Option<Record>, StoreError>>;

    /// Records of a kind, of one merchant or of all, before an id. A page with fewer than `limit` records is the last.
    fn records(
        &mut self,
        kind: Kind,
        merchant: Option<&str>,
        before: Option<&str>,
        limit: u32,
    ) -> impl Future<Output = Result<RecordPage, StoreError>>;

    /// Overdue outbox entries for the Temporal cluster, by lane.
    fn overdue_outbox(
        &mut self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<Overdue>, StoreError>>;

    /// Matching flows before a cursor, newest first. A page is short only at the end, or if the filter has a part without
    /// an index and the budget is used up.
    fn list_flows_desc(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> impl Future<Output = Result<FlowPage, StoreError>> {
        async move {
            let (mut below, from) = filter.range(before);
            let mut page = Page::new(limit, filter.is_indexed());
            loop {
                let size = page.next_keys();
                let keys = self.matching_keys(filter, (below, from), size).await?;
                let Some((last, _)) = keys.last() else { break };
                below = *last;
                let is_end = keys.len() < size;
                let wanted = keys.iter().filter(|(_, is_wanted)| *is_wanted);
                let wanted = wanted.map(|(id, _)| (*id, *id)).collect();
                if page.fill(self, wanted, filter).await?
                    || page.scanned(keys.len(), below)
                    || is_end
                {
                    break;
                }
            }
            Ok(FlowPage { next: page.next(), scanned_to: page.scanned_to, flows: page.flows })
        }
    }

    /// The next keys of the best index for a filter, newest first, each with whether its flow may match.
    fn matching_keys(
        &mut self,
        filter: &FlowFilter,
        range: (FlowId, FlowId),
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(FlowId, bool)>, StoreError>> {
        async move {
            if let Some(text) = filter.name() {
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                let found = self.flows_known_as(text, range.0, limit).await?;
                return Ok(found.into_iter().map(|id| (id, id >= range.1)).collect());
            }
            let keys = self.flow_keys(filter, range, limit).await?;
            let is_wanted = |status| filter.status.as_ref().is_none_or(|it| *it == status);
            Ok(keys.into_iter().map(|(id, status)| (id, is_wanted(status))).collect())
        }
    }

    /// Matching flows of a lane before a cursor, latest due time first, with the same budget.
    fn list_lane_desc(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> impl Future<Output = Result<LanePage, StoreError>> {
        async move {
            let last = (Timestamp::MAX, FlowId::from_uuid(Uuid::max()));
            let mut before = before.unwrap_or(last);
            let mut page = Page::new(limit, false);
            loop {
                let size = page.next_keys();
                let keys = self.lane_keys(lane, before, size).await?;
                let Some(last) = keys.last() else { break };
                before = *last;
                let (count, is_end) = (keys.len(), keys.len() < size);
                let keys = keys.into_iter().map(|cursor| (cursor, cursor.1)).collect();
                if page.fill(self, keys, filter).await? || page.scanned(count, before) || is_end {
                    break;
                }
            }
            Ok(LanePage { next: page.next(), flows: page.flows })
        }
    }

    /// The matching flows that wait for a person, after a cursor, the longest waiting first, with the same budget.
    fn list_reviews(
        &mut self,
        of: &ReviewFilter,
        filter: &FlowFilter,
        after: Option<ReviewCursor>,
        limit: u32,
    ) -> impl Future<Output = Result<ReviewPage, StoreError>> {
        async move {
            let mut after = after.unwrap_or((Timestamp::MIN, FlowId::from_uuid(Uuid::nil())));
            let mut page = Page::new(limit, false);
            loop {
                let size = page.next_keys();
                let rows = self.review_rows(of, after, size).await?;
                let Some(last) = rows.last() else { break };
                after = (last.since, last.flow);
                let is_end = rows.len() < size;
                let keys = rows.iter().map(|row| ((row.since, row.flow), row.flow)).collect();
                if page.fill(self, keys, filter).await? || page.scanned(rows.len(), after) || is_end
                {
                    break;
                }
            }
            Ok(ReviewPage { next: page.next(), scanned_to: page.scanned_to, flows: page.flows })
        }
    }

    /// The flows that wait in a lane, by kind and status.
    fn live(&mut self) -> impl Future<Output = Result<Vec<Live>, StoreError>> {
        async { Ok(waiting(&self.tallies(FLOW_TALLIES).await?)) }
    }

    /// The channels of live payouts. Flows of other kinds have other names in the place of a channel.
    fn live_channels(&mut self) -> impl Future<Output = Result<Vec<String>, StoreError>> {
        async {
            let tallies = self.tallies(FLOW_TALLIES).await?;
            let payouts = waiting_tallies(&tallies).filter(|it| it.kind == Payout::INFO.name);
            let channels: BTreeSet<String> = payouts.map(|it| it.channel.to_owned()).collect();
            Ok(channels.into_iter().collect())
        }
    }

    /// The flows that wait for a person, after a cursor, the longest waiting first. A flow that cannot be decoded is listed
    /// without its content.
    fn reviews(
        &mut self,
        filter: &ReviewFilter,
        after: Option<ReviewCursor>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Review, Option<Flow>)>, StoreError>> {
        async move {
            let after = after.unwrap_or((Timestamp::MIN, FlowId::from_uuid(Uuid::nil())));
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let rows = self.review_rows(filter, after, limit).await?;
            let ids: Vec<FlowId> = rows.iter().map(|row| row.flow).collect();
            let flows = self.flows_by_id(&ids).await?;
            Ok(rows.into_iter().zip(flows).collect())
        }
    }

    /// How many flows wait for a person, and since when, by kind and reason.
    fn waiting_reviews(&mut self) -> impl Future<Output = Result<Vec<WaitingReviews>, StoreError>> {
        async {
            let tallies = self.tallies(REVIEW_TALLIES).await?;
            let mut found = Vec::new();
            for (kind, reason) in reviewed() {
                let name = format!("{REVIEW_TALLIES}{}/{}", kind.name, reason.name());
                let count = tallies.get(&name).map_or(0, |tally| tally.count);
                let filter = ReviewFilter { of: Some((kind.name, reason)), merchant: None };
                let begin = (Timestamp::MIN, FlowId::from_uuid(Uuid::nil()));
                if let Some(first) = self.review_rows(&filter, begin, 1).await?.first() {
                    let count = u64::try_from(count).unwrap_or_default();
                    found.push(WaitingReviews {
                        kind: kind.name,
                        reason,
                        count,
                        since: first.since,
                    });
                }
            }
            Ok(found)
        }
    }
}

/// The flows that wait in a lane, by kind and status.
pub fn waiting(tallies: &BTreeMap<String, Tally>) -> Vec<Live> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for FlowTally { kind, status, tally, .. } in waiting_tallies(tallies) {
        let count = counts.entry((kind, status)).or_default();
        *count = count.saturating_add(u64::try_from(tally.count).unwrap_or_default());
    }
    let live = counts.into_iter().map(|((kind, status), count)| Live {
        kind: kind.to_owned(),
        status: status.to_owned(),
        count,
    });
    live.collect()
}

/// The tallies of flows that wait in a lane.
fn waiting_tallies(tallies: &BTreeMap<String, Tally>) -> impl Iterator<Item = FlowTally<'_>> {
    let found = tallies.iter().filter_map(|(name, tally)| FlowTally::parse(name, *tally));
    found.filter(|found| {
        let kind = KINDS.iter().find(|kind| kind.name == found.kind);
        found.tally.count > 0 && kind.is_some_and(|kind| kind.waiting.contains(&found.status))
    })
}

fn reviewed() -> impl Iterator<Item = (&'static KindInfo, ReviewReason)> {
    KINDS.iter().flat_map(|kind| ReviewReason::ALL.map(|reason| (kind, reason)))
}

/// The lanes of the outbox, as SQL rows.
pub(crate) fn outbox_lanes() -> String {
    host::lanes().map(|lane| format!("('{lane}')")).collect::<Vec<_>>().join(", ")
}

/// A part of the records of a kind, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordPage {
    pub records: Vec<Record>,
    /// The ids of records of this page that cannot be decoded.
    pub unreadable: Vec<String>,
}

impl RecordPage {
    /// Adds a row. An undecodable row must not fail the whole page.
    pub(crate) fn push(
        &mut self,
        id: String,
        read: Result<Record, StoreError>,
    ) -> Result<(), StoreError> {
        match read {
            Ok(record) => self.records.push(record),
            Err(StoreError::Corrupt(_)) => self.unreadable.push(id),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The position of an audit entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditCursor {
    pub commit: CommitId,
    pub n: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    pub kind: String,
    pub status: String,
    pub count: u64,
}

/// The reviews of one kind and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingReviews {
    pub kind: &'static str,
    pub reason: ReviewReason,
    pub count: u64,
    /// Since when the longest waiting flow waits.
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    pub lane: String,
    /// At most 10,000 are counted.
    pub count: u64,
    /// The earliest due time.
    pub since: Timestamp,
}

/// Whether a flow is a delivery of this event.
pub(crate) fn is_of(flow: &Flow, event: EventId) -> bool {
    flow.state.delivery().is_some_and(|delivery| delivery.terms.event == event)
}
