//! Lists for the API and for reports: pages, newest first, with a bounded amount of work per page.

use std::future::Future;

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::host;
use bursar_core::flow::{Flow, KINDS, LaneInfo, LaneScope};
use bursar_core::ids::{CommitId, EndpointId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;

use crate::StoreError;

/// Rows scanned for one page of flows. A filter with few matches still returns soon, with a cursor to continue from.
pub(crate) const WINDOW: u32 = 10_000;

pub trait Browse {
    /// The accounts at these addresses, in all their currencies.
    fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> impl Future<Output = Result<Vec<(Name, Account)>, StoreError>>;

    /// Matching flows before a cursor.
    fn list_flows_desc(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> impl Future<Output = Result<FlowPage, StoreError>>;

    /// Matching flows of a lane before a cursor, latest due time first.
    fn list_lane_desc(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> impl Future<Output = Result<LanePage, StoreError>>;

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

    /// The channels of live payouts.
    fn live_channels(&mut self) -> impl Future<Output = Result<Vec<String>, StoreError>>;

    /// The flows with a due time, by kind and status.
    fn live(&mut self) -> impl Future<Output = Result<Vec<Live>, StoreError>>;

    /// Overdue outbox entries for the Temporal cluster, by lane.
    fn overdue_outbox(
        &mut self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<Overdue>, StoreError>>;
}

/// The channels with flows in a lane per channel. Loose index scan: one index probe per distinct lane,
/// independent of the number of flows.
pub(crate) fn waiting_channels() -> String {
    let lanes = KINDS.iter().flat_map(|kind| kind.lanes).filter(|lane| is_by_channel(lane));
    let channels = lanes.map(|LaneInfo { name, .. }| {
        format!("SELECT substr(lane, length('{name}') + 1) AS channel FROM lanes WHERE lane LIKE '{name}%'")
    });
    let channels = channels.collect::<Vec<_>>().join(" UNION ");
    format!(
        "WITH RECURSIVE lanes (lane) AS (
            SELECT min(lane) FROM due
            UNION ALL
            SELECT (SELECT min(lane) FROM due WHERE due.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL)
        {channels}"
    )
}

/// The lanes of all other live flows that use channels, as an SQL list: submitted flows, and flows of workflows.
/// Scheduled flows of the engine are in none of these lanes, so a query by this list does not read them.
pub(crate) fn busy_lanes() -> String {
    let kinds = KINDS.iter().filter(|kind| kind.lanes.iter().any(is_by_channel));
    let own = kinds.flat_map(|kind| kind.lanes).filter(|lane| !is_by_channel(lane));
    sql_list(own.map(|lane| lane.name).chain(host::lanes()))
}

const fn is_by_channel(lane: &LaneInfo) -> bool {
    match lane.scope {
        LaneScope::Channel { .. } => true,
        LaneScope::Kind => false,
    }
}

/// The lanes of the outbox, as an SQL list.
pub(crate) fn outbox_lanes() -> String {
    sql_list(host::lanes())
}

fn sql_list(lanes: impl Iterator<Item = &'static str>) -> String {
    lanes.map(|lane| format!("'{lane}'")).collect::<Vec<_>>().join(", ")
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

/// A filter of flows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowFilter {
    pub kind: &'static str,
    pub status: Option<String>,
    pub merchant: Option<String>,
    /// Created at this time or later.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Deliveries to this endpoint.
    pub endpoint: Option<EndpointId>,
}

/// Due time and id of a flow.
pub type LaneCursor = (Timestamp, FlowId);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanePage {
    pub flows: Vec<Flow>,
    /// The cursor of the next page, if there may be more.
    pub next: Option<LaneCursor>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowPage {
    pub flows: Vec<Flow>,
    /// The cursor of the next page, if there may be more.
    pub next: Option<FlowId>,
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
    /// The earliest time of last change among these flows.
    pub oldest: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    pub lane: String,
    pub count: u64,
    /// The earliest due time.
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

    /// The endpoint in its stored form.
    pub(crate) fn endpoint(&self) -> Option<String> {
        self.endpoint.map(|endpoint| endpoint.to_string())
    }
}

/// Whether a flow is a delivery of this event.
pub(crate) fn is_of(flow: &Flow, event: EventId) -> bool {
    flow.state.delivery().is_some_and(|delivery| delivery.terms.event == event)
}

impl LanePage {
    /// A page of at most `limit` flows. `window_end` is the last scanned row, if the window was full.
    pub(crate) fn new(flows: Vec<Flow>, limit: u32, window_end: Option<LaneCursor>) -> Self {
        let page = FlowPage::new(flows, limit, None);
        let last = page.flows.last().filter(|_| page.next.is_some());
        let last = last.and_then(|flow| Some((flow.due()?.at, flow.id)));
        Self { next: last.or(window_end), flows: page.flows }
    }
}

/// The SQL condition of a filter. `p` is the store's parameter prefix; the filter's parameters start at 4.
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
    /// A page of at most `limit` flows. `window_end` is the last scanned row, if the window was full.
    pub(crate) fn new(flows: Vec<Flow>, limit: u32, window_end: Option<FlowId>) -> Self {
        let is_full = u32::try_from(flows.len()).unwrap_or(u32::MAX) >= limit;
        let last = flows.last().map(|flow| flow.id);
        Self { next: if is_full { last } else { window_end }, flows }
    }
}
