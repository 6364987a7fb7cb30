//! Reservations: made, decided by somebody, or over because their time has come.

use super::{Draft, Seen};
use crate::admit::Reserve;
use crate::flow::{Flow, FlowState, check_version};
use crate::host::Host;
use crate::idempotency::Key;
use crate::ids::{FlowId, ReservationId};
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::request::Answer;
use crate::reservation::{Booking, Decision, Event, Reservation, State, Step, step};

impl Draft<'_> {
    pub(super) fn reserve(&mut self, reserve: &Reserve<'_>, admission: &Admission) -> Answer {
        let Reserve { key, id, terms, bound } = reserve;
        let request_hash = terms.request_hash();
        if let Some(replay) = self.replay(key, request_hash) {
            return replay;
        }
        if terms.expires_at <= admission.now {
            return Err(Rejection::ExpiresInThePast { expires_at: terms.expires_at });
        }
        self.ledger.post_bound(bound, admission)?;
        let reservation = Reservation { terms: terms.clone(), state: State::Held };
        let flow = Flow {
            id: FlowId::from(*id),
            merchant: terms.funds.merchant.clone(),
            version: 1,
            sequence: 1,
            created_at: admission.now,
            updated_at: admission.now,
            state: FlowState::Reservation(reservation),
            parked: None,
            host: Host::Engine,
        };
        let (id, seen) = (flow.id, Seen::new(&flow));
        self.tell_as(&flow, seen.text.clone(), admission);
        self.put(flow, admission);
        Ok(self.answer(key, request_hash, id, seen))
    }

    pub(super) fn decide(
        &mut self,
        key: &Key,
        decision: &Decision,
        admission: &Admission,
    ) -> Answer {
        let request_hash = decision.request_hash();
        if let Some(replay) = self.replay(key, request_hash) {
            return replay;
        }
        let id = decision.id;
        let Some(flow) = self.flow(FlowId::from(id)).cloned() else {
            return Err(Rejection::UnknownFlow { id: id.to_string() });
        };
        check_version(&id, decision.expected_version, flow.version)?;
        self.advance_reservation(flow, decision.verdict.event(), admission)?;
        let action = decision.verdict.action();
        self.note((&decision.actor, action), &id.to_string(), &decision.note, admission);
        self.answer_about(key, request_hash, FlowId::from(id))
    }

    /// One step of a flow: booked, kept and told, if there is anything to do.
    pub(super) fn advance_reservation(
        &mut self,
        flow: Flow,
        event: Event,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let FlowState::Reservation(reservation) = &flow.state else {
            return Err(Rejection::UnknownFlow { id: flow.name() });
        };
        let id = ReservationId::from_uuid(flow.id.uuid());
        let (state, booking) = match step(id, reservation, event, admission.now)? {
            Step::Stays => return Ok(()),
            Step::Moves { state, booking } => (state, booking),
        };
        self.book(id, reservation, booking, admission)?;
        let reservation = Reservation { terms: reservation.terms.clone(), state };
        let flow = Flow {
            version: flow.version.saturating_add(1),
            sequence: flow.sequence.saturating_add(1),
            updated_at: admission.now,
            state: FlowState::Reservation(reservation),
            parked: None,
            ..flow
        };
        self.tell(&flow, admission);
        self.put(flow, admission);
        Ok(())
    }

    fn book(
        &mut self,
        id: ReservationId,
        reservation: &Reservation,
        booking: Booking,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let rule = self.rules.rulebook.rule(booking.rule())?;
        let bound = rule.bind(&id.to_string(), &reservation.terms.funds, None)?;
        self.ledger.post_bound(&bound, admission)?;
        Ok(())
    }
}
