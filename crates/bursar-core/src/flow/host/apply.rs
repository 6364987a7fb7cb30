//! Polls of workflows, and the outbox of the relay.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ClaimedEntry, Next, OutboxAck, Poll, PollReply};
use crate::flow::request::unknown;
use crate::flow::{Accepted, ClaimDue, Flow, Listed as _, Load, Machine as _, Progress, each};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::turn::Draft;

enum PollOutcome {
    Advanced,
    /// The breaker of the endpoint is open until then.
    Blocked(Timestamp),
    /// The endpoint has no free slot.
    Full,
    /// The due step was rejected; the flow is deferred.
    Refused(Rejection),
}

impl Draft<'_> {
    /// Makes the due step of a flow, or the step for the outcome that its workflow reports. The workflow runs the
    /// effect of the step.
    pub(super) fn poll(
        &mut self,
        poll: &Poll,
        admission: &Admission,
    ) -> Result<PollReply, Rejection> {
        let (id, now, deliveries) = (poll.flow, admission.now, self.deliveries_created());
        let Some(flow) = self.shared(id) else {
            return Err(self.missing(id, id.to_string()));
        };
        if flow.host.is_engine() {
            let next = Next::new(self.rules(), &flow, now);
            return Ok(PollReply::watched(Flow::clone(&flow), next));
        }
        let polled = match &poll.outcome {
            Some(outcome) => {
                each!(&flow.state, it => {
                    let outcome = it.outcome(outcome).ok_or_else(|| unknown(id))?;
                    it.on_reported(&flow, outcome, self, admission)
                })?;
                PollOutcome::Advanced
            }
            None => self.poll_due(&flow, poll.slots, admission),
        };
        let Some(mut flow) = self.flow(id).cloned() else {
            return Err(self.missing(id, id.to_string()));
        };
        let mut is_changed = flow.host.acknowledge_poll();
        let mut next = Next::new(self.rules(), &flow, now);
        let (mut is_full, mut refused) = (false, None);
        match polled {
            PollOutcome::Advanced => {}
            PollOutcome::Full => is_full = true,
            PollOutcome::Blocked(until) => {
                is_changed |= flow.host.suppress_sweep(until);
                next = next.map(|next| Next { at: next.at.max(until), ..next });
            }
            PollOutcome::Refused(rejection) => refused = Some(rejection),
        }
        if is_changed {
            self.put(flow.clone(), admission);
        }
        Ok(PollReply {
            flow,
            effect: self.take_effect(id),
            next,
            notifies: self.deliveries_created() > deliveries,
            is_full,
            refused,
        })
    }

    /// Makes the due step, if there is a free slot for its effect. A rejected step defers the flow.
    fn poll_due(&mut self, flow: &Flow, slots: Option<Load>, admission: &Admission) -> PollOutcome {
        let (id, now) = (flow.id, admission.now);
        let next = Next::new(self.rules(), flow, now).filter(|next| next.at <= now);
        let Some(next) = next.filter(|next| slots.is_some() || !next.action.is_effect()) else {
            return PollOutcome::Advanced;
        };
        let load = slots.unwrap_or_default();
        let is_full = |draft: &Self| each!(&flow.state, it => it.is_full(draft, load));
        if next.action.is_effect() && is_full(self) {
            return PollOutcome::Full;
        }
        let stepped = each!(&flow.state, it => it.on_due(flow, self, admission));
        match stepped {
            Ok(Progress::On) => PollOutcome::Advanced,
            Ok(Progress::Blocked(until)) => PollOutcome::Blocked(until),
            Err(rejection) => {
                if let Some(flow) = self.flow(id).cloned() {
                    self.put(flow.deferred(now), admission);
                }
                PollOutcome::Refused(rejection)
            }
        }
    }

    pub(super) fn claim_outbox(
        &mut self,
        lane: &str,
        limit: u32,
        admission: &Admission,
    ) -> Vec<ClaimedEntry> {
        let mut claimed = Vec::new();
        for id in self.due(&ClaimDue::new(lane.to_owned(), limit), admission.now) {
            let Some(mut flow) = self.flow(id).cloned() else { continue };
            let Some(entry) = flow.host.claim(admission.now) else { continue };
            let Some(workflow) = flow.host.workflow().map(|workflow| workflow.id.clone()) else {
                continue;
            };
            self.put_quietly(flow.clone(), admission);
            claimed.push(ClaimedEntry { flow, workflow, entry });
        }
        claimed
    }

    pub(super) fn acknowledge_outbox(
        &mut self,
        flows: &BTreeMap<FlowId, OutboxAck>,
        admission: &Admission,
    ) -> Accepted {
        for (id, ack) in flows {
            let Some(mut flow) = self.flow(*id).cloned() else { continue };
            flow.host.acknowledge(ack, admission.now);
            self.put_quietly(flow, admission);
        }
        Accepted { name: "errands".to_owned(), status: "TAKEN" }
    }

    /// Saves the flow without an outbox entry for its workflow.
    fn put_quietly(&mut self, flow: Flow, admission: &Admission) {
        self.as_driver(flow.id, |draft| draft.put(flow, admission));
    }
}
