//! Claims of due flows, and quarantine of flows whose turns fail.

use jiff::Timestamp;

use super::{Change, ClaimDue, ClaimReply, FailureCause, Machine as _, each};
use crate::dispatch::{Position, group_parts, is_group};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::turn::Draft;

/// How often a delivery whose turns fail is deferred before it is dead-lettered: two hours in total.
const FAILURES_MAX: u32 = 7;

impl Draft<'_> {
    /// Makes the due step of every claimed flow of the lane.
    pub(crate) fn claim_due(&mut self, claim: &ClaimDue, admission: &Admission) -> ClaimReply {
        let mut claimed = ClaimReply::default();
        if self.is_group_frozen(&claim.lane) {
            return ClaimReply { is_frozen: true, ..claimed };
        }
        let due = self.due(claim, admission.now);
        if is_group(&claim.lane) && self.turns(&claim.lane).has_frozen() {
            self.mark_written(admission);
        }
        for id in due {
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

    /// Whether the channel of a group of queues is frozen. Its flows are not written: they wait in their order.
    fn is_group_frozen(&self, lane: &str) -> bool {
        let channel = group_parts(lane).map(|(_, channel)| channel);
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

    /// The due flows of a lane, longest overdue first, or of a group of queues, in turn.
    pub(crate) fn due(&mut self, claim: &ClaimDue, now: Timestamp) -> Vec<FlowId> {
        let ClaimDue { lane, limit, served } = claim;
        let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
        let waiting = self.flows().filter(|flow| flow.waits_in(lane));
        let due = waiting.filter_map(|flow| Some((flow.due_at().filter(|at| *at <= now)?, flow)));
        if let Some((_, channel)) = group_parts(lane) {
            let frozen = self.control().merchants_at_rest(channel);
            let open = due.filter(|(_, flow)| !frozen.contains(&flow.merchant.as_str()));
            let queued = open.filter_map(|(at, flow)| Some((flow.queue()?, (at, flow.id))));
            let queued = queued.collect();
            return self.turns(lane).take(queued, *served, limit);
        }
        let mut due: Vec<Position> = due.map(|(at, flow)| (at, flow.id)).collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).take(limit).collect()
    }
}
