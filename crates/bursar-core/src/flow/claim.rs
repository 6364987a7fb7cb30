//! Claims of due flows, and quarantine of flows whose turns fail.

use jiff::Timestamp;

use super::{Change, ClaimDue, ClaimReply, FailureCause, Flow, Machine as _, each};
use crate::dispatch::{Position, is_group};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::turn::Draft;

/// How often a delivery whose turns fail is deferred before it is dead-lettered: two hours in total.
const FAILURES_MAX: u32 = 7;

impl Draft<'_> {
    /// Makes the due step of every claimed flow of the lane.
    pub(crate) fn claim_due(&mut self, claim: &ClaimDue, admission: &Admission) -> ClaimReply {
        let mut claimed = if is_group(&claim.lane) {
            self.claim_group(claim, admission)
        } else {
            let mut claimed = ClaimReply::default();
            for id in self.due(claim, admission.now) {
                self.step_due(id, &mut claimed, admission);
            }
            self.count_recovered(&claim.lane, claimed.flows.len());
            claimed
        };
        // Unreadable flows stay due; the flows behind them are claimed nevertheless.
        let unreadable = self.unreadable().iter().map(|id| {
            let id = id.to_string();
            (id.clone(), Rejection::Unreadable { id })
        });
        claimed.refused.extend(unreadable);
        claimed
    }

    /// Makes the due step of one flow.
    pub(crate) fn step_due(&mut self, id: FlowId, claimed: &mut ClaimReply, at: &Admission) {
        self.step(id, claimed, at, |draft, flow| {
            each!(&flow.state, it => it.on_due(flow, draft, at)).map(drop)
        });
    }

    /// Ends a flow that has missed its cut-off, if nothing of it can have been sent.
    pub(crate) fn step_expired(&mut self, id: FlowId, claimed: &mut ClaimReply, at: &Admission) {
        let before = claimed.flows.len();
        self.step(
            id,
            claimed,
            at,
            |draft, flow| each!(&flow.state, it => it.on_cut_off(flow, draft, at)),
        );
        if self.flow(id).is_some_and(|flow| flow.queue().is_some()) {
            claimed.flows.truncate(before);
        }
    }

    fn step(
        &mut self,
        id: FlowId,
        claimed: &mut ClaimReply,
        at: &Admission,
        make: impl FnOnce(&mut Self, &Flow) -> Result<(), Rejection>,
    ) {
        let Some(flow) = self.shared(id) else { return };
        match make(self, &flow) {
            Ok(()) => claimed.flows.push(flow.name()),
            Err(rejection) => self.defer(id, rejection, &mut claimed.refused, at),
        }
    }

    /// Defers a flow whose step was rejected, and reports the rejection.
    pub(crate) fn defer(
        &mut self,
        id: FlowId,
        rejection: Rejection,
        refused: &mut Vec<(String, Rejection)>,
        admission: &Admission,
    ) {
        let Some(flow) = self.flow(id).cloned() else { return };
        refused.push((flow.name(), rejection));
        self.put(flow.deferred(admission.now), admission);
    }

    /// Defers the first due flow, so that the flows behind it do not wait. A delivery whose turns keep failing is
    /// dead-lettered. Any other kind owns money, so it stays deferred until an operator looks at it.
    pub(crate) fn quarantine(
        &mut self,
        first: &[FlowId],
        cause: FailureCause,
        admission: &Admission,
    ) -> ClaimReply {
        let mut claimed = ClaimReply::default();
        for id in first {
            let Some(mut flow) = self.flow(*id).cloned() else { continue };
            let name = flow.name();
            let failures = flow.backoff.map_or(0, |backoff| backoff.failures);
            let is_last = cause == FailureCause::TurnFailed && failures >= FAILURES_MAX;
            let dead = each!(&flow.state, it => {
                it.give_up(admission.now).filter(|_| is_last).map(|it| {
                    flow.advanced(it, Change { is_new_version: true, is_notified: false }, admission.now)
                })
            });
            if let Some(dead) = dead {
                self.put(dead, admission);
                claimed.dead_lettered.push(name);
                continue;
            }
            flow = flow.deferred(admission.now);
            if let (FailureCause::TurnFailed, Some(backoff)) = (cause, &mut flow.backoff) {
                backoff.failures = failures.saturating_add(1);
            }
            self.put(flow, admission);
            claimed.flows.push(name);
        }
        claimed
    }

    /// The due flows of a lane, longest overdue first, or of a group of queues, in turn.
    pub(crate) fn due(&mut self, claim: &ClaimDue, now: Timestamp) -> Vec<FlowId> {
        let ClaimDue { lane, limit, served } = claim;
        let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
        if is_group(lane) {
            let (queued, slots) = (self.queued(lane, now), std::iter::repeat_n(now, limit));
            let taken = self.turns(lane).take(queued, *served, slots);
            return taken.into_iter().map(|(id, _)| id).collect();
        }
        let waiting = self.flows().filter(|flow| flow.waits_in(lane));
        let due =
            waiting.filter_map(|flow| Some((flow.due_at().filter(|at| *at <= now)?, flow.id)));
        let mut due: Vec<Position> = due.collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).take(limit).collect()
    }
}
