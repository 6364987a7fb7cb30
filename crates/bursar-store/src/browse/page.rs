//! Pages: how lists are filled from keys, with a bounded amount of work.

use std::future::Future;

use bursar_core::flow::{Flow, Review};
use bursar_core::ids::FlowId;
use jiff::Timestamp;

use super::filter::{FlowFilter, ReviewFilter};
use crate::{Lookup, StoreError};

/// Rows scanned for one page whose filter has no index. The page then says how far it came.
const BUDGET: usize = 20_000;
/// Keys per query while such a page is filled.
const KEYS: usize = 1_000;
/// Flows per query.
const FLOWS: usize = 100;

/// The keys that lists are made of. Sealed: the stores implement it, and callers use `Browse`.
pub trait Scan {
    /// Flows of the filter's index with their statuses, newest first: below the first id, from the second on.
    fn flow_keys(
        &mut self,
        filter: &FlowFilter,
        range: (FlowId, FlowId),
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(FlowId, String)>, StoreError>>;

    /// Flows of a lane before a cursor, latest due time first.
    fn lane_keys(
        &mut self,
        lane: &str,
        before: LaneCursor,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LaneCursor>, StoreError>>;

    /// The flows that wait for a person, after a cursor, the longest waiting first.
    fn review_rows(
        &mut self,
        filter: &ReviewFilter,
        after: ReviewCursor,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Review>, StoreError>>;
}

/// Since when a flow waits, and its id.
pub type ReviewCursor = (Timestamp, FlowId);

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
    /// The budget was used up before the page was full: the last flow that was looked at.
    pub scanned_to: Option<FlowId>,
}

/// Flows that wait for a person, the longest waiting first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewPage {
    pub flows: Vec<Flow>,
    /// The cursor of the next page, if there may be more.
    pub next: Option<ReviewCursor>,
    /// The budget was used up before the page was full: the last review that was looked at.
    pub scanned_to: Option<ReviewCursor>,
}

/// A page while it is filled. Its flows are found by cursors `C`.
pub(super) struct Page<C> {
    limit: usize,
    is_indexed: bool,
    pub(super) flows: Vec<Flow>,
    last: Option<C>,
    left: usize,
    pub(super) scanned_to: Option<C>,
}

impl<C: Copy> Page<C> {
    pub(super) fn new(limit: u32, is_indexed: bool) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { limit, is_indexed, flows: Vec::new(), last: None, left: BUDGET, scanned_to: None }
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.flows.len())
    }

    /// How many keys to read next.
    pub(super) fn next_keys(&self) -> usize {
        let is_first = self.left == BUDGET;
        if self.is_indexed || is_first { self.room() } else { KEYS.min(self.left) }
    }

    /// Adds the flows that the filter admits. True if the page is full.
    pub(super) async fn fill(
        &mut self,
        store: &mut (impl Lookup + ?Sized),
        keys: Vec<(C, FlowId)>,
        filter: &FlowFilter,
    ) -> Result<bool, StoreError> {
        for part in keys.chunks(FLOWS) {
            let ids: Vec<FlowId> = part.iter().map(|(_, id)| *id).collect();
            let flows = store.flows_by_id(&ids).await?;
            for ((cursor, _), flow) in part.iter().zip(flows) {
                let Some(flow) = flow.filter(|flow| filter.admits(flow)) else { continue };
                self.flows.push(flow);
                self.last = Some(*cursor);
                if self.room() == 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Counts rows up to this cursor. True if the budget is used up.
    pub(super) fn scanned(&mut self, rows: usize, to: C) -> bool {
        self.left = self.left.saturating_sub(rows);
        let is_used_up = !self.is_indexed && self.left == 0;
        if is_used_up {
            self.scanned_to = Some(to);
        }
        is_used_up
    }

    pub(super) fn next(&self) -> Option<C> {
        self.scanned_to.or(self.last.filter(|_| self.room() == 0))
    }
}
