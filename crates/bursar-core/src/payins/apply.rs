//! Pay-ins: books the reports of providers once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{NewPayIn, lookup};
use super::request::Take;
use super::state::{PayIn, ProviderReport, State, Terms, View};
use super::step::{BOOKING, Step, step};
use crate::flow::host::Host;
use crate::flow::request::unknown;
use crate::flow::{Change, Flow, FlowState, Kind as _};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::turn::{Draft, Given};

/// Maximum number of provider reports kept for one pay-in. Later reports take effect, but are not kept.
const REPORTS_MAX: usize = 64;

impl Take<'_> {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Self { id, new, terms, .. } = self;
        let request_hash = terms.request_hash();
        let replay = new.key.as_ref().and_then(|key| draft.replay::<PayIn>(key, request_hash));
        if let Some(replay) = replay {
            return replay;
        }
        let known = draft.known_as(&lookup(&terms.provider), &terms.reference);
        let found = known.and_then(|flow| Some((flow.clone(), flow.state.payin()?.clone())));
        let (flow, is_replay) = if let Some((flow, payin)) = found {
            check_same(&payin.terms, terms)?;
            self.report_again(flow, payin, draft, at)?
        } else {
            // A payment that is known already is booked, whatever the limit is now.
            draft.rules().check_size(terms.funds.amount)?;
            merchant_takes_payins(new, draft)?;
            (self.open(FlowId::from(*id), draft, at)?, false)
        };
        if let Some(actor) = new.actor.as_ref().filter(|_| !is_replay) {
            draft.note((actor, "payin.record"), &flow.name(), &terms.reference, at);
        }
        let Some(key) = &new.key else {
            let payin = flow.state.payin().ok_or_else(|| unknown(flow.id))?;
            return Ok(Given { view: Arc::new(payin.view(&flow)), is_replay });
        };
        // A repeated report under a new key: the commit saves the key alone.
        draft.mark_written(at);
        let given = draft.answer_about::<PayIn>(key, request_hash, flow.id)?;
        Ok(Given { is_replay, ..given })
    }

    /// The first report of the provider opens the pay-in.
    fn open(&self, id: FlowId, draft: &mut Draft<'_>, at: &Admission) -> Result<Flow, Rejection> {
        let Self { new, terms, bound, .. } = self;
        let (state, is_booked) = match step(State::Pending, new.said) {
            Step::Stays => (State::Pending, false),
            Step::Moves { state, is_booked } => (state, is_booked),
        };
        if is_booked {
            draft.post_bound(bound, at)?;
        }
        let said = BTreeMap::from([report(new, at)]);
        let payin = PayIn { terms: terms.clone(), state, said };
        let flow = Flow::new(id, &terms.funds.merchant, payin, Host::Engine, at.now);
        draft.emit(&flow, at);
        draft.put(flow.clone(), at);
        Ok(flow)
    }

    /// A further report. A repeated report changes nothing, and the reply is the current view.
    fn report_again(
        &self,
        flow: Flow,
        mut payin: PayIn,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(Flow, bool), Rejection> {
        let new = self.new;
        if payin.said.get(&new.event).is_some_and(|known| known.said == new.said) {
            return Ok((flow, true));
        }
        if payin.said.len() < REPORTS_MAX {
            payin.said.extend([report(new, at)]);
        }
        let (state, is_booked) = match step(payin.state, new.said) {
            Step::Stays => {
                let flow = Flow { state: FlowState::from(payin), ..flow };
                draft.put(flow.clone(), at);
                return Ok((flow, true));
            }
            Step::Moves { state, is_booked } => (state, is_booked),
        };
        draft.can_tell(&flow.merchant)?;
        if is_booked {
            // At the fee that was quoted with the first report.
            let rule = draft.rules().rulebook.rule(BOOKING)?;
            let bound = rule.bind(&flow.name(), &payin.terms.funds, None)?;
            draft.post_bound(&bound, at)?;
        }
        let change = Change { is_new_version: true, is_notified: true };
        let flow = flow.advanced(PayIn { state, ..payin }, change, at.now);
        draft.emit(&flow, at);
        draft.put(flow.clone(), at);
        Ok((flow, false))
    }
}

/// Money that a provider holds belongs to the merchant, closed or not. An operator cannot record a pay-in for a closed
/// merchant.
fn merchant_takes_payins(new: &NewPayIn, draft: &mut Draft<'_>) -> Result<(), Rejection> {
    match draft.merchant_is_open(&new.merchant) {
        Err(Rejection::MerchantClosed { .. }) if new.actor.is_none() => Ok(()),
        known => known,
    }
}

fn report(new: &NewPayIn, admission: &Admission) -> (String, ProviderReport) {
    (new.event.clone(), ProviderReport { said: new.said, at: admission.now })
}

/// One reference is one payment: another amount, currency or merchant under it is an error that an operator must see.
fn check_same(known: &Terms, reported: &Terms) -> Result<(), Rejection> {
    if known.request_hash() == reported.request_hash() {
        return Ok(());
    }
    let reference = reported.reference.clone();
    Err(Rejection::ReferenceReused { event: BOOKING.into(), reference })
}
