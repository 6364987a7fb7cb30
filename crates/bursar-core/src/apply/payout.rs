//! Payouts: made, cancelled, decided, and moved on by what channels say.

use std::sync::Arc;

use super::{Draft, Seen};
use crate::admit::CreatePayout;
use crate::attempt::Attempt;
use crate::effect::Effect;
use crate::flow::{Flow, FlowState, check_version};
use crate::host::Host;
use crate::idempotency::Key;
use crate::ids::{FlowId, PayoutId, reference};
use crate::ledger::{Admission, Posted, Revert, RevertOverdraft};
use crate::payout::{
    self, Advance, Booking, Cancellation, Context, Decision, Event, Payout, Resolution, State,
    advance,
};
use crate::rejection::Rejection;
use crate::request::{Answer, News, Reply, Report, Told};

impl Draft<'_> {
    pub(super) fn create_payout(
        &mut self,
        create: &CreatePayout<'_>,
        admission: &Admission,
    ) -> Answer {
        let CreatePayout { key, id, request_hash, terms, actor, workflow } = create;
        if let Some(replay) = self.replay(key, *request_hash) {
            return replay;
        }
        let (terms, bound) = terms.as_ref().map_err(Clone::clone)?;
        self.merchant_is_open(&terms.funds.merchant)?;
        self.ledger.post_bound(bound, admission)?;
        let state = match terms.scheduled_at {
            Some(until) if until > admission.now => State::Scheduled { until },
            Some(_) | None => State::Ready { not_before: admission.now },
        };
        let begins_at = terms.scheduled_at.map_or(admission.now, |at| at.max(admission.now));
        let host = match workflow {
            Some(workflow) => Host::driven_by(workflow),
            None => self.rules.hosting.of_payout(&terms.funds.merchant, key.words(), begins_at),
        };
        self.driving = Some(FlowId::from(*id));
        let name = id.to_string();
        let first = Attempt::new(1, reference(admission.now, &admission.seed, &name, 1));
        let payout = Payout {
            terms: Arc::clone(terms),
            attempts: vec![first],
            state,
            settled: None,
            case: None,
            hold_epoch: 1,
            released_by: None,
            proposal: None,
        };
        let flow = Flow {
            id: FlowId::from(*id),
            merchant: terms.funds.merchant.clone(),
            version: 1,
            sequence: 1,
            created_at: admission.now,
            updated_at: admission.now,
            state: FlowState::Payout(Box::new(payout)),
            parked: None,
            host,
        };
        let (id, seen) = (flow.id, Seen::new(&flow));
        self.tell_as(&flow, seen.text.clone(), admission);
        self.put(flow, admission);
        self.driving = None;
        if let Some(actor) = actor {
            self.note((actor, "payout.create"), &name, "", admission);
        }
        Ok(self.answer(key, *request_hash, id, seen))
    }

    /// Something was said about an attempt, by whoever ran an effect or by the channel itself.
    pub(super) fn report(&mut self, report: &Report, admission: &Admission) -> Answer {
        match &report.event {
            News::Payout(event) => self.advance_payout(report.flow, event, admission)?,
            News::Delivery(event) => {
                self.advance_delivery(report.flow, event, admission)?;
            }
        }
        let Some(flow) = self.flow(report.flow) else {
            return Err(Rejection::UnknownFlow { id: report.flow.to_string() });
        };
        Ok(Reply::Noted { name: flow.name(), status: flow.state.status() })
    }

    /// The same for somebody who knows only the reference that the channel was given.
    pub(super) fn hear(&mut self, told: &Told, admission: &Admission) -> Answer {
        let attempt = self.known_as(&told.channel, &told.reference).and_then(|flow| {
            let mut attempts = flow.state.payout()?.attempts.iter();
            let attempt = attempts.find(|attempt| attempt.reference == told.reference)?;
            Some((flow.id, attempt.clone()))
        });
        let Some((flow, attempt)) = attempt else {
            // Nobody knows whom an unreadable flow is known by: better asked again than told that it is not there.
            return Err(match self.unreadable.first() {
                Some(id) => Rejection::Unreadable { id: id.to_string() },
                None => Rejection::UnknownReference { reference: told.reference.clone() },
            });
        };
        // Said again in other bytes, it is still the same: what is kept grows with what is said, not with how often.
        let said =
            attempt.evidence().map(|(known, _)| known).find(|known| known.says(&told.evidence));
        let evidence = said.unwrap_or(&told.evidence).clone();
        let event = Event::Told { attempt: attempt.number, evidence };
        self.report(&Report { flow, event: event.into() }, admission)
    }

    pub(super) fn cancel_payout(
        &mut self,
        key: &Key,
        cancellation: &Cancellation,
        admission: &Admission,
    ) -> Answer {
        let Cancellation { id, expected_version, actor } = cancellation;
        let request_hash = cancellation.request_hash();
        if let Some(replay) = self.replay(key, request_hash) {
            return replay;
        }
        let flow = self.payout_at(*id, *expected_version)?.id;
        self.advance_payout(flow, &Event::CancelAsked, admission)?;
        self.note((actor, "payout.cancel"), &id.to_string(), "", admission);
        self.answer_about(key, request_hash, flow)
    }

    pub(super) fn resolve(
        &mut self,
        key: &Key,
        resolution: &Resolution,
        admission: &Admission,
    ) -> Answer {
        let request_hash = resolution.request_hash();
        if let Some(replay) = self.replay(key, request_hash) {
            return replay;
        }
        let flow = self.payout_at(resolution.id, Some(resolution.expected_version))?;
        let amount = flow.state.payout().map(|payout| payout.terms.funds.amount);
        let decision = Decision {
            ruling: resolution.ruling,
            actor: resolution.actor.clone(),
            is_approver: resolution.is_approver,
            evidence: resolution.evidence.clone(),
            needs_two: amount.is_some_and(|amount| self.rules.needs_two_people(amount)),
        };
        let flow = flow.id;
        self.advance_payout(flow, &Event::Decided(decision), admission)?;
        let decided = self.flow(flow).and_then(|flow| flow.state.payout());
        let is_proposal = decided.is_some_and(|payout| payout.proposal.is_some());
        let action = if is_proposal { "payout.propose" } else { resolution.action() };
        let name = resolution.id.to_string();
        self.note((&resolution.actor, action), &name, &resolution.evidence, admission);
        self.answer_about(key, request_hash, flow)
    }

    fn payout_at(&self, id: PayoutId, expected: Option<u64>) -> Result<&Flow, Rejection> {
        let flow = self.flow(FlowId::from(id));
        let flow = flow.filter(|flow| flow.state.payout().is_some());
        let Some(flow) = flow else {
            return Err(self.missing(id.into(), id.to_string()));
        };
        check_version(&id, expected, flow.version)?;
        Ok(flow)
    }

    /// One step: booked, kept, told if its status changed, with what must be done afterwards.
    pub(super) fn advance_payout(
        &mut self,
        id: FlowId,
        event: &Event,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let Some(flow) = self.flows.get(&id).map(Arc::clone) else {
            return Err(self.missing(id, id.to_string()));
        };
        if let Some(flow) = self.step_payout(&flow, event, admission)? {
            self.put(flow, admission);
        }
        Ok(())
    }

    /// The flow after a step; none if nothing has changed.
    fn step_payout(
        &mut self,
        flow: &Flow,
        event: &Event,
        admission: &Admission,
    ) -> Result<Option<Flow>, Rejection> {
        let Some(payout) = flow.state.payout() else {
            return Err(Rejection::UnknownFlow { id: flow.name() });
        };
        let Some(channel) = self.rules.channels.get(&payout.terms.channel) else {
            let known = self.rules.channels.keys().cloned().collect();
            let channel = payout.terms.channel.clone();
            return Err(Rejection::UnknownChannel { channel, known });
        };
        let name = flow.name();
        let (now, seed) = (admission.now, admission.seed);
        let is_frozen = self.control.is_frozen(&payout.terms.channel, &flow.merchant);
        let context = Context { now, seed, name: &name, channel, is_frozen };
        let Some(advance) = advance(payout, event, &context)? else { return Ok(None) };
        let Advance { step, is_told, is_new_version } = advance;
        if is_told {
            self.can_tell(&flow.merchant)?;
        }
        let mut payout = step.payout;
        self.book_all(&name, &mut payout, &step.bookings, admission)?;
        let flow = Flow {
            version: flow.version.saturating_add(u64::from(is_new_version)),
            sequence: flow.sequence.saturating_add(u64::from(is_told)),
            updated_at: if is_new_version { admission.now } else { flow.updated_at },
            state: FlowState::Payout(Box::new(payout)),
            parked: None,
            merchant: flow.merchant.clone(),
            id: flow.id,
            created_at: flow.created_at,
            host: flow.host.clone(),
        };
        if let (Some(effect), Some(payout)) = (step.effect, flow.state.payout()) {
            self.is_sent |= matches!(effect, payout::Effect::Submit { .. });
            self.effects.push(Effect::new(&flow, payout, effect));
        }
        if is_told {
            self.tell(&flow, admission);
        }
        Ok(Some(flow))
    }

    /// All bookings of a step, or none.
    fn book_all(
        &mut self,
        name: &str,
        payout: &mut Payout,
        bookings: &[Booking],
        admission: &Admission,
    ) -> Result<(), Rejection> {
        // Corrections book several times; a refusal half-way must leave nothing behind.
        let before = (bookings.len() > 1).then(|| self.ledger.clone());
        for booking in bookings {
            if let Err(rejection) = self.book_payout(name, payout, *booking, admission) {
                if let Some(before) = before {
                    self.ledger = before;
                }
                return Err(rejection);
            }
        }
        Ok(())
    }

    fn book_payout(
        &mut self,
        name: &str,
        payout: &mut Payout,
        booking: Booking,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let Some(rule) = booking.rule() else {
            let Some(id) = payout.released_by.take() else {
                return Err(Rejection::UnknownTransaction { reference: name.to_owned() });
            };
            let overdraft = RevertOverdraft::Allowed;
            let revert = Revert { id, overdraft, effective_at: None };
            self.ledger.revert(&self.rules.rulebook, &revert, admission)?;
            payout.hold_epoch = payout.hold_epoch.saturating_add(1);
            return Ok(());
        };
        let rule = self.rules.rulebook.rule(rule)?;
        let reference = epoch_name(name, payout.hold_epoch);
        let bound = rule.bind(&reference, &payout.terms.funds, None)?;
        let posted = self.ledger.post_bound(&bound, admission)?;
        if booking == Booking::Release {
            let (Posted::New(id) | Posted::Replayed(id)) = posted;
            payout.released_by = Some(id);
        }
        Ok(())
    }
}

/// The reference of what is booked for a hold in its epoch.
pub(crate) fn epoch_name(name: &str, epoch: u32) -> String {
    if epoch > 1 { format!("{name}#{epoch}") } else { name.to_owned() }
}
