//! Claims of due flows, and quarantine of flows whose turns fail.

use jiff::Timestamp;

use super::{Change, ClaimDue, ClaimReply, FailureCause, KINDS, LaneScope, Machine as _, each};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::turn::Draft;

/// How often a delivery whose turns fail is deferred before it is dead-lettered: two hours in total.
const FAILURES_MAX: u32 = 7;

impl Draft<'_> {
    /// Makes the due step of every claimed flow of the lane.
    pub(crate) fn claim_due(&mut self, claim: &ClaimDue, admission: &Admission) -> ClaimReply {
        let limit = usize::try_from(claim.limit).unwrap_or(usize::MAX);
        let mut claimed = ClaimReply::default();
        if self.is_lane_frozen(&claim.lane) {
            return ClaimReply { is_frozen: true, ..claimed };
        }
        for id in self.due(&claim.lane, admission.now, limit) {
            let Some(flow) = self.shared(id) else { continue };
            let name = flow.name();
            let advanced = each!(&flow.state, it => it.on_due(&flow, self, admission));
            match advanced {
                Ok(_) => claimed.flows.push(name),
                Err(rejection) => self.defer(id, rejection, &mut claimed.refused, admission),
            }
        }
        // Unreadable flows stay due; the flows behind them are claimed nevertheless.
        let unreadable = self.unreadable().iter().map(|id| {
            let id = id.to_string();
            (id.clone(), Rejection::Unreadable { id })
        });
        claimed.refused.extend(unreadable);
        claimed
    }

    /// Whether the channel of the lane is frozen. Its flows are not written: they wait in their order.
    fn is_lane_frozen(&self, lane: &str) -> bool {
        let channel = KINDS.iter().flat_map(|kind| kind.lanes).find_map(|info| match info.scope {
            LaneScope::Channel { takes_slot: true } => lane.strip_prefix(info.name),
            LaneScope::Channel { takes_slot: false } | LaneScope::Kind => None,
        });
        channel.is_some_and(|channel| self.control().is_channel_at_rest(channel))
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

    /// The due flows of a lane, longest overdue first.
    pub(crate) fn due(&self, lane: &str, now: Timestamp, limit: usize) -> Vec<FlowId> {
        let mut due: Vec<(Timestamp, FlowId)> = self
            .flows()
            .filter_map(|flow| Some((flow.due_at().filter(|at| *at <= now)?, flow)))
            .filter(|(_, flow)| flow.waits_in(lane))
            .map(|(at, flow)| (at, flow.id))
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).take(limit).collect()
    }
}
