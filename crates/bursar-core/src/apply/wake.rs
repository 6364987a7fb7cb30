//! Time has passed: flows are woken, or put off if that makes turns fail.

use jiff::Timestamp;

use super::Draft;
use crate::flow::FlowState;
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::request::{Blame, Reply, Wake, Woken};
use crate::{delivery, payout, reservation};

/// How often a delivery that makes turns fail is put off before it is given up: for two hours in all.
const FAILURES_MAX: u32 = 7;

impl Draft<'_> {
    /// Gives every flow of the lane whose time has come the event that says so.
    pub(super) fn wake(&mut self, wake: &Wake, admission: &Admission) -> Reply {
        let limit = usize::try_from(wake.limit).unwrap_or(usize::MAX);
        let mut woken = Woken::default();
        for id in self.due(&wake.lane, admission.now, limit) {
            let Some(flow) = self.flow(id) else { continue };
            let name = flow.name();
            let advanced = match &flow.state {
                FlowState::Reservation(_) => {
                    let flow = flow.clone();
                    self.advance_reservation(flow, reservation::Event::Due, admission)
                }
                FlowState::Payout(_) => self.advance_payout(id, &payout::Event::Due, admission),
                // It waits for nothing.
                FlowState::PayIn(_) => Ok(()),
                FlowState::Delivery(_) => {
                    self.advance_delivery(id, &delivery::Event::Due, admission).map(drop)
                }
            };
            match advanced {
                Ok(()) => woken.flows.push(name),
                Err(rejection) => self.put_off(id, rejection, &mut woken.refused, admission),
            }
        }
        // They stay due; whoever is behind them is woken all the same.
        let unreadable = self.unreadable.iter().map(|id| {
            let id = id.to_string();
            (id.clone(), Rejection::Unreadable { id })
        });
        woken.refused.extend(unreadable);
        Reply::Woken(woken)
    }

    /// What it must do was refused: it is set aside for a while, and somebody is told.
    pub(super) fn put_off(
        &mut self,
        id: FlowId,
        rejection: Rejection,
        refused: &mut Vec<(String, Rejection)>,
        admission: &Admission,
    ) {
        let Some(flow) = self.flow(id).cloned() else { return };
        refused.push((flow.name(), rejection));
        self.put(flow.park(admission.now), admission);
    }

    /// Puts off the first that is due, so that those behind it are not kept waiting. A delivery that is to blame again and
    /// again is given up; whatever else it is has money, and waits for somebody to look at it.
    pub(super) fn set_aside(
        &mut self,
        first: &[FlowId],
        blame: Blame,
        admission: &Admission,
    ) -> Reply {
        let mut woken = Woken::default();
        for id in first {
            let Some(mut flow) = self.flow(*id).cloned() else { continue };
            let name = flow.name();
            let failures = flow.parked.map_or(0, |parked| parked.failures);
            let is_last = blame == Blame::Fails && failures >= FAILURES_MAX;
            let delivery = flow.state.delivery().filter(|_| is_last);
            if let Some(dead) = delivery.and_then(|it| delivery::give_up(it, admission.now)) {
                self.put_delivery(*id, dead, admission);
                woken.given_up.push(name);
                continue;
            }
            flow = flow.park(admission.now);
            if let (Blame::Fails, Some(parked)) = (blame, &mut flow.parked) {
                parked.failures = failures.saturating_add(1);
            }
            self.put(flow, admission);
            woken.flows.push(name);
        }
        Reply::Woken(woken)
    }

    /// The flows of a lane whose time has come, longest overdue first.
    pub(super) fn due(&self, lane: &str, now: Timestamp, limit: usize) -> Vec<FlowId> {
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
