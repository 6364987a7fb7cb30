//! Looking around: pages for people and programs, newest first, a bounded amount of work for each.

use std::future::Future;

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::Flow;
use bursar_core::host::LANES;
use bursar_core::ids::{CommitId, EndpointId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::payout::{LANE, schedule_lane, submit_lane};
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;

use crate::StoreError;

/// Rows that are looked at for one page of flows: a filter that few match still answers soon, with a place to go on.
pub(crate) const WINDOW: u32 = 10_000;

pub trait Browse {
    /// The accounts at these addresses, in whichever currencies they have.
    fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> impl Future<Output = Result<Vec<(Name, Account)>, StoreError>>;

    /// Flows that match, before a place.
    fn flows_back(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> impl Future<Output = Result<FlowPage, StoreError>>;

    /// Flows that wait in a lane and match, before a place, the latest first.
    fn lane_back(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LanePlace>,
        limit: u32,
    ) -> impl Future<Output = Result<LanePage, StoreError>>;

    /// The deliveries of an event.
    fn deliveries_of(
        &mut self,
        event: EventId,
    ) -> impl Future<Output = Result<Vec<Flow>, StoreError>>;

    /// What was told about a resource behind a number, in order.
    fn events_of(
        &mut self,
        resource: &str,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<FeedEvent>, StoreError>>;

    /// What people did before a place.
    fn audit_back(
        &mut self,
        before: Option<AuditPlace>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(AuditPlace, AuditEntry)>, StoreError>>;

    fn record(
        &mut self,
        key: &RecordKey,
    ) -> impl Future<Output = Result<Option<Record>, StoreError>>;

    /// Records of a kind, of one merchant or of all, before an id. Fewer than were asked for are the last.
    fn records(
        &mut self,
        kind: Kind,
        merchant: Option<&str>,
        before: Option<&str>,
        limit: u32,
    ) -> impl Future<Output = Result<RecordPage, StoreError>>;

    /// The channels that live payouts go through.
    fn live_channels(&mut self) -> impl Future<Output = Result<Vec<String>, StoreError>>;

    /// The flows that wait for something, by kind and status.
    fn live(&mut self) -> impl Future<Output = Result<Vec<Live>, StoreError>>;

    /// What should have been told to a Temporal cluster by now, lane by lane.
    fn overdue_errands(
        &mut self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<Overdue>, StoreError>>;
}

/// The channels that payouts sleep for or wait to be sent through. From lane to lane, each by one look: however many there are, none
/// of them is read.
pub(crate) fn submit_channels() -> String {
    let [submit, schedule] = [submit_lane(""), schedule_lane("")];
    format!(
        "WITH RECURSIVE lanes (lane) AS (
            SELECT min(lane) FROM due
            UNION ALL
            SELECT (SELECT min(lane) FROM due WHERE due.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL)
        SELECT substr(lane, length('{submit}') + 1) AS channel FROM lanes WHERE lane LIKE '{submit}%'
        UNION
        SELECT substr(lane, length('{schedule}') + 1) FROM lanes WHERE lane LIKE '{schedule}%'"
    )
}

/// Where all other payouts wait that are not over, as SQL lists them: sent, or driven elsewhere. What sleeps in the engine is in none
/// of these lanes, so whoever looks into them reads none of it.
pub(crate) fn busy_lanes() -> String {
    let lanes = [LANE].into_iter().chain(LANES);
    lanes.map(|lane| format!("'{lane}'")).collect::<Vec<_>>().join(", ")
}

/// A part of the records of a kind, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordPage {
    pub records: Vec<Record>,
    /// The ids of those among them that cannot be read.
    pub unreadable: Vec<String>,
}

impl RecordPage {
    /// Adds what a row says. One row must not stop all others.
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

/// Which flows somebody wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowFilter {
    pub kind: &'static str,
    pub status: Option<String>,
    pub merchant: Option<String>,
    /// Made at this time or later.
    pub from: Option<Timestamp>,
    /// Made before this time.
    pub until: Option<Timestamp>,
    /// Deliveries to this endpoint.
    pub endpoint: Option<EndpointId>,
}

/// Since when a flow waits, and which it is.
pub type LanePlace = (Timestamp, FlowId);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanePage {
    pub flows: Vec<Flow>,
    /// Where to go on, if there may be more.
    pub next: Option<LanePlace>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowPage {
    pub flows: Vec<Flow>,
    /// Where to go on, if there may be more.
    pub next: Option<FlowId>,
}

/// Where an entry of the audit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPlace {
    pub commit: CommitId,
    pub n: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    pub kind: String,
    pub status: String,
    pub count: u64,
    /// When the one that has not changed for longest last did.
    pub oldest: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    pub lane: String,
    pub count: u64,
    /// When the first of them was due.
    pub since: Timestamp,
}

impl FlowFilter {
    pub fn admits(&self, flow: &Flow) -> bool {
        flow.state.kind() == self.kind
            && self.status.as_ref().is_none_or(|status| flow.state.status() == status)
            && self.merchant.as_ref().is_none_or(|merchant| flow.merchant == *merchant)
            && self.from.is_none_or(|from| flow.created_at >= from)
            && self.until.is_none_or(|until| flow.created_at < until)
            && self.endpoint.is_none_or(|endpoint| {
                flow.state.delivery().is_some_and(|found| found.terms.endpoint == endpoint)
            })
    }

    /// The endpoint as the stores write it.
    pub(crate) fn endpoint(&self) -> Option<String> {
        self.endpoint.map(|endpoint| endpoint.to_string())
    }
}

/// Whether it is a delivery of this event.
pub(crate) fn is_of(flow: &Flow, event: EventId) -> bool {
    flow.state.delivery().is_some_and(|delivery| delivery.terms.event == event)
}

impl LanePage {
    /// A page of at most `limit` flows, and the last row that was looked at, if the window was full.
    pub(crate) fn new(flows: Vec<Flow>, limit: u32, window_end: Option<LanePlace>) -> Self {
        let page = FlowPage::new(flows, limit, None);
        let last = page.flows.last().filter(|_| page.next.is_some());
        let last = last.and_then(|flow| Some((flow.due()?.at, flow.id)));
        Self { next: last.or(window_end), flows: page.flows }
    }
}

/// Whether a flow matches its filter, as a condition. `p` is how the store writes its places: from 4 on.
pub(crate) fn condition(p: char) -> String {
    let endpoint = match p {
        '$' => "state::json #>> '{flow,terms,endpoint}'",
        _ => "json_extract(state, '$.flow.terms.endpoint')",
    };
    format!(
        "kind = {p}4 AND (CAST({p}5 AS TEXT) IS NULL OR status = {p}5) AND (CAST({p}6 AS TEXT) IS NULL OR merchant = {p}6)
         AND (CAST({p}7 AS BIGINT) IS NULL OR created_at >= {p}7) AND (CAST({p}8 AS BIGINT) IS NULL OR created_at < {p}8)
         AND (CAST({p}9 AS TEXT) IS NULL OR {endpoint} = {p}9)"
    )
}

impl FlowPage {
    /// A page of at most `limit` flows, and the last row that was looked at, if the window was full.
    pub(crate) fn new(flows: Vec<Flow>, limit: u32, window_end: Option<FlowId>) -> Self {
        let is_full = u32::try_from(flows.len()).unwrap_or(u32::MAX) >= limit;
        let last = flows.last().map(|flow| flow.id);
        Self { next: if is_full { last } else { window_end }, flows }
    }
}
