//! Flows that workflows of a Temporal cluster drive: the same steps, made when the workflow looks, and the errands of the
//! relay that tells the cluster what happened meanwhile.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Draft;
use super::delivery::{Went, room};
use crate::delivery;
use crate::drive::{Carried, Drive, Driven, Job, Look, Next, Refused};
use crate::flow::{Flow, FlowState};
use crate::host::Taken;
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::payout;
use crate::rejection::Rejection;
use crate::request::{Answer, Busy, News, Reply};

/// What a look came to.
enum Looked {
    On,
    /// The endpoint is left alone until then.
    Blocked(Timestamp),
    /// The endpoint takes no more at the moment.
    Full,
    /// What must be done was refused; the flow is set aside for a while.
    Refused(Rejection),
}

impl Draft<'_> {
    pub(super) fn drive(&mut self, drive: &Drive, admission: &Admission) -> Answer {
        match drive {
            Drive::Look(look) => {
                self.driving = Some(look.flow);
                let driven = self.look(look, admission);
                self.driving = None;
                driven.map(|driven| Reply::Driven(Box::new(driven)))
            }
            Drive::Carry { lane, limit } => Ok(self.carry(lane, *limit, admission)),
            Drive::Taken { flows } => Ok(self.taken(flows, admission)),
            Drive::Refused(refused) => {
                let Refused { actor, action, resource, note } = refused;
                self.ledger.touch(admission.now);
                self.note((actor, action), resource, note, admission);
                Ok(Reply::Noted { name: resource.clone(), status: "REFUSED" })
            }
        }
    }

    /// The workflow of a flow looks at it: what is due is done, and what must be done in the world is its job.
    fn look(&mut self, look: &Look, admission: &Admission) -> Result<Driven, Rejection> {
        let (id, now, told) = (look.flow, admission.now, self.told);
        let Some(flow) = self.flow(id) else {
            return Err(self.missing(id, id.to_string()));
        };
        if flow.host.is_engine() {
            let next = Next::new(self.rules, flow, now);
            return Ok(Driven::watched(flow.clone(), next));
        }
        let looked = match &look.news {
            Some(News::Payout(event)) => {
                self.advance_payout(id, event, admission)?;
                Looked::On
            }
            Some(News::Delivery(event)) => {
                let before = flow.state.status();
                self.advance_delivery(id, event, admission)?;
                self.note_cancelled(id, before, event, admission);
                Looked::On
            }
            None => self.look_without_news(id, look.hands, admission),
        };
        let Some(mut flow) = self.flow(id).cloned() else {
            return Err(self.missing(id, id.to_string()));
        };
        let mut is_changed = flow.host.heard();
        let mut next = Next::new(self.rules, &flow, now);
        let (mut is_full, mut refused) = (false, None);
        match looked {
            Looked::On => {}
            Looked::Full => is_full = true,
            Looked::Blocked(until) => {
                is_changed |= flow.host.rests_until(until);
                next = next.map(|next| Next { at: next.at.max(until), ..next });
            }
            Looked::Refused(rejection) => refused = Some(rejection),
        }
        if is_changed {
            self.put(flow.clone(), admission);
        }
        Ok(Driven { flow, job: self.job(id), next, tells: self.told > told, is_full, refused })
    }

    /// Whoever cancels a workflow is known to the cluster alone; that it was done goes on the record here.
    fn note_cancelled(
        &mut self,
        id: FlowId,
        before: &str,
        event: &delivery::Event,
        admission: &Admission,
    ) {
        let Some(flow) = self.flow(id) else { return };
        if *event == delivery::Event::CalledOff && flow.state.status() != before {
            let name = flow.name();
            self.note(("temporal", "delivery.cancel"), &name, "", admission);
        }
    }

    /// What is due is done, as far as there are hands for it. What is refused is set aside for a while.
    fn look_without_news(
        &mut self,
        id: FlowId,
        hands: Option<Busy>,
        admission: &Admission,
    ) -> Looked {
        let now = admission.now;
        let Some(flow) = self.flow(id) else { return Looked::On };
        let next = Next::new(self.rules, flow, now).filter(|next| next.at <= now);
        let Some(next) = next.filter(|next| hands.is_some() || !next.r#move.is_job()) else {
            return Looked::On;
        };
        let stepped = match &flow.state {
            FlowState::Payout(_) => {
                self.advance_payout(id, &payout::Event::Due, admission).map(|()| Went::On)
            }
            FlowState::Delivery(delivery) => {
                let endpoint = self.endpoint(delivery.terms.endpoint);
                let busy = hands.unwrap_or_default();
                let is_full = endpoint.is_some_and(|endpoint| {
                    endpoint.is_enabled() && next.r#move.is_job() && room(endpoint, busy) == 0
                });
                if is_full {
                    return Looked::Full;
                }
                self.advance_delivery(id, &delivery::Event::Due, admission)
            }
            // Nobody outside drives these.
            FlowState::Reservation(_) | FlowState::PayIn(_) => Ok(Went::On),
        };
        match stepped {
            Ok(Went::On) => Looked::On,
            Ok(Went::Blocked(until)) => Looked::Blocked(until),
            Err(rejection) => {
                if let Some(flow) = self.flow(id).cloned() {
                    self.put(flow.park(now), admission);
                }
                Looked::Refused(rejection)
            }
        }
    }

    /// What the step of this flow has planned, taken from what the engine would do.
    fn job(&mut self, id: FlowId) -> Option<Job> {
        let call = self.effects.pop_if(|effect| effect.flow == id);
        let parcel = self.parcels.pop_if(|parcel| parcel.flow == id);
        call.map(Job::Call).or(parcel.map(|parcel| Job::Send(Box::new(parcel))))
    }

    fn carry(&mut self, lane: &str, limit: u32, admission: &Admission) -> Reply {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut carried = Vec::new();
        for id in self.due(lane, admission.now, limit) {
            let Some(mut flow) = self.flow(id).cloned() else { continue };
            let Some(errand) = flow.host.carry(admission.now) else { continue };
            let Some(workflow) = flow.host.workflow().map(|workflow| workflow.id.clone()) else {
                continue;
            };
            self.put_quietly(flow.clone(), admission);
            carried.push(Carried { flow, workflow, errand });
        }
        Reply::Carried(carried)
    }

    fn taken(&mut self, flows: &BTreeMap<FlowId, Taken>, admission: &Admission) -> Reply {
        for (id, taken) in flows {
            let Some(mut flow) = self.flow(*id).cloned() else { continue };
            flow.host.taken(taken, admission.now);
            self.put_quietly(flow, admission);
        }
        Reply::Noted { name: "errands".to_owned(), status: "TAKEN" }
    }

    /// Its workflow is not told of this.
    fn put_quietly(&mut self, flow: Flow, admission: &Admission) {
        self.driving = Some(flow.id);
        self.put(flow, admission);
        self.driving = None;
    }
}
