//! Pay-ins: what providers say, booked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Draft, Seen};
use crate::admit::TakePayIn;
use crate::flow::{Flow, FlowState};
use crate::host::Host;
use crate::idempotency::FlowReply;
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::payin::{BOOKING, Heard, NewPayIn, PayIn, State, Step, Terms, lookup, step};
use crate::rejection::Rejection;
use crate::request::{Answer, Reply};

/// Words of a provider that are kept for one pay-in. Later ones count, but leave no trace of their own.
const SAID_MAX: usize = 64;

impl Draft<'_> {
    pub(super) fn take_payin(&mut self, take: &TakePayIn<'_>, admission: &Admission) -> Answer {
        let TakePayIn { id, payin: new, terms, .. } = take;
        let request_hash = terms.request_hash();
        if let Some(replay) = new.key.as_ref().and_then(|key| self.replay(key, request_hash)) {
            return replay;
        }
        let known = self.known_as(&lookup(&terms.provider), &terms.reference);
        let found = known.and_then(|flow| Some((flow.clone(), flow.state.payin()?.clone())));
        let (flow, is_replay) = if let Some((flow, payin)) = found {
            check_same(&payin.terms, terms)?;
            self.hear_again(flow, payin, take, admission)?
        } else {
            self.merchant_takes_payins(new)?;
            (self.open_payin(FlowId::from(*id), take, admission)?, false)
        };
        if let Some(actor) = new.actor.as_ref().filter(|_| !is_replay) {
            self.note((actor, "payin.record"), &flow.name(), &terms.reference, admission);
        }
        if let Some(key) = &new.key {
            // Said again under a new key: the key is worth a commit of its own.
            self.ledger.touch(admission.now);
            self.answer(key, request_hash, flow.id, Seen::new(&flow));
        }
        Ok(Reply::Flow { reply: Arc::new(FlowReply::new(&flow)), is_replay })
    }

    /// Money that a provider has is the merchant's, closed or not; people record nothing new for one that is closed.
    fn merchant_takes_payins(&mut self, new: &NewPayIn) -> Result<(), Rejection> {
        match self.merchant_is_open(&new.merchant) {
            Err(Rejection::MerchantClosed { .. }) if new.actor.is_none() => Ok(()),
            known => known,
        }
    }

    /// The first word about it.
    fn open_payin(
        &mut self,
        id: FlowId,
        take: &TakePayIn<'_>,
        admission: &Admission,
    ) -> Result<Flow, Rejection> {
        let TakePayIn { payin: new, terms, bound, .. } = take;
        let (state, is_booked) = match step(State::Pending, new.said) {
            Step::Stays => (State::Pending, false),
            Step::Moves { state, is_booked } => (state, is_booked),
        };
        if is_booked {
            self.ledger.post_bound(bound, admission)?;
        }
        let said = BTreeMap::from([heard(new, admission)]);
        let payin = PayIn { terms: terms.clone(), state, said };
        let flow = Flow {
            id,
            merchant: terms.funds.merchant.clone(),
            version: 1,
            sequence: 1,
            created_at: admission.now,
            updated_at: admission.now,
            state: FlowState::PayIn(Box::new(payin)),
            parked: None,
            host: Host::Engine,
        };
        self.tell(&flow, admission);
        self.put(flow.clone(), admission);
        Ok(flow)
    }

    /// Another word about it, or the same once more: then nothing happens, and it is answered as it stands.
    fn hear_again(
        &mut self,
        flow: Flow,
        mut payin: PayIn,
        take: &TakePayIn<'_>,
        admission: &Admission,
    ) -> Result<(Flow, bool), Rejection> {
        let new = &take.payin;
        if payin.said.get(&new.event).is_some_and(|known| known.said == new.said) {
            return Ok((flow, true));
        }
        if payin.said.len() < SAID_MAX {
            payin.said.extend([heard(new, admission)]);
        }
        let (state, is_booked) = match step(payin.state, new.said) {
            Step::Stays => {
                let flow = Flow { state: FlowState::PayIn(Box::new(payin)), ..flow };
                self.put(flow.clone(), admission);
                return Ok((flow, true));
            }
            Step::Moves { state, is_booked } => (state, is_booked),
        };
        self.can_tell(&flow.merchant)?;
        if is_booked {
            // At the price that was quoted with the first word.
            let rule = self.rules.rulebook.rule(BOOKING)?;
            let bound = rule.bind(&flow.name(), &payin.terms.funds, None)?;
            self.ledger.post_bound(&bound, admission)?;
        }
        let flow = Flow {
            version: flow.version.saturating_add(1),
            sequence: flow.sequence.saturating_add(1),
            updated_at: admission.now,
            state: FlowState::PayIn(Box::new(PayIn { state, ..payin })),
            ..flow
        };
        self.tell(&flow, admission);
        self.put(flow.clone(), admission);
        Ok((flow, false))
    }
}

fn heard(new: &NewPayIn, admission: &Admission) -> (String, Heard) {
    (new.event.clone(), Heard { said: new.said, at: admission.now })
}

/// One reference is one payment: another amount, currency or merchant under it is a mistake that somebody must see.
fn check_same(known: &Terms, told: &Terms) -> Result<(), Rejection> {
    if known.request_hash() == told.request_hash() {
        return Ok(());
    }
    let reference = told.reference.clone();
    Err(Rejection::ReferenceReused { event: BOOKING.into(), reference })
}
