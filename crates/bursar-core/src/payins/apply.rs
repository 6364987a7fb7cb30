//! Pay-ins: books the reports of providers once, and keeps those that differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::case::{OtherReport, keep_report};
use super::event::{NewPayIn, lookup};
use super::request::{CloseCase, ReportReply, Take};
use super::state::{PayIn, ProviderReport, State, Terms, View};
use super::step::{BOOKING, Step, step};
use crate::flow::host::Host;
use crate::flow::request::unknown;
use crate::flow::{Change, Flow, FlowState, Kind as _, check_version};
use crate::four_eyes::Action;
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::ledger::rulebook::Bound;
use crate::rejection::Rejection;
use crate::turn::{Draft, Given};

/// Maximum number of provider reports kept for one pay-in. Later reports take effect, but are not kept.
const REPORTS_MAX: usize = 64;

impl Take<'_> {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<ReportReply, Rejection> {
        let new = self.new;
        let replay = self.replay(draft);
        if let Some(Ok(given)) = replay {
            return Ok(ReportReply::PayIn(given));
        }
        let known = draft.known_as(&lookup(&new.provider), &new.reference);
        let known = known.and_then(|flow| Some((flow.clone(), flow.state.payin()?.clone())));
        if let Some((flow, payin)) = &known {
            let report = OtherReport::new(new, at.now);
            if report.differs_from(&payin.terms) {
                keep_other(report, (flow, payin), new.actor.as_deref(), draft, at)?;
                return Ok(ReportReply::Differs(Box::new(self.rejection(replay))));
            }
        }
        if let Some(Err(rejection)) = replay {
            return Err(rejection);
        }
        let (terms, bound) = self.terms.as_ref().map_err(Clone::clone)?;
        let is_booked = known.as_ref().is_some_and(|(_, payin)| payin.state.is_booked());
        if new.actor.is_some() && !is_booked {
            draft.check_alone(Action::RecordPayIn, Some(terms.funds.amount))?;
        }
        let (flow, is_replay) = if let Some((flow, payin)) = known {
            self.report_again(flow, payin, draft, at)?
        } else {
            // A payment that is known already is booked, whatever the limit is now.
            draft.rules().check_size(terms.funds.amount)?;
            merchant_takes_payins(new, draft)?;
            (self.open((terms, bound), draft, at)?, false)
        };
        if let Some(actor) = new.actor.as_ref().filter(|_| !is_replay) {
            draft.note((actor, "payin.record"), &flow.name(), &terms.reference, at);
        }
        let Some(key) = &new.key else {
            let payin = flow.state.payin().ok_or_else(|| unknown(flow.id))?;
            let given = Given { view: Arc::new(payin.view(&flow)), is_replay };
            return Ok(ReportReply::PayIn(given));
        };
        // A repeated report under a new key: the commit saves the key alone.
        draft.mark_written(at);
        let given = draft.answer_about::<PayIn>(key, terms.request_hash(), flow.id)?;
        Ok(ReportReply::PayIn(Given { is_replay, ..given }))
    }

    /// The stored reply under the key of the caller.
    fn replay(&self, draft: &Draft<'_>) -> Option<Result<Given<View>, Rejection>> {
        let (key, (terms, _)) = self.new.key.as_ref().zip(self.terms.as_ref().ok())?;
        draft.replay::<PayIn>(key, terms.request_hash())
    }

    /// The answer to a report of other values. Its key stays free.
    fn rejection(&self, replay: Option<Result<Given<View>, Rejection>>) -> Rejection {
        match (replay, &self.terms) {
            (Some(Err(rejection)), _) => rejection,
            (Some(Ok(_)) | None, Err(rejection)) => rejection.clone(),
            (Some(Ok(_)) | None, Ok((terms, _))) => {
                let reference = terms.reference.clone();
                Rejection::ReferenceReused { event: BOOKING.into(), reference }
            }
        }
    }

    /// The first report of the provider opens the pay-in.
    fn open(
        &self,
        (terms, bound): (&Terms, &Bound<'_>),
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Flow, Rejection> {
        let (new, id) = (self.new, FlowId::from(self.id));
        let (state, is_booked) = match step(State::Pending, new.said) {
            Step::Stays => (State::Pending, false),
            Step::Moves { state, is_booked } => (state, is_booked),
        };
        if is_booked {
            draft.post_bound(bound, at)?;
        }
        let said = BTreeMap::from([report(new, at)]);
        let payin = PayIn { terms: terms.clone(), state, said, case: None };
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

/// One reference is one payment: another amount, currency or merchant under it books nothing, and opens a case.
fn keep_other(
    report: OtherReport,
    (flow, payin): (&Flow, &PayIn),
    actor: Option<&str>,
    draft: &mut Draft<'_>,
    at: &Admission,
) -> Result<(), Rejection> {
    let OtherReport { merchant, amount, currency, .. } = &report;
    let note = format!("{amount} {currency} for {merchant}");
    let Some(case) = keep_report(payin.case.as_ref(), report) else { return Ok(()) };
    let is_notified = payin.case.is_none();
    if is_notified {
        draft.can_tell(&flow.merchant)?;
    }
    let payin = PayIn { case: Some(case), ..payin.clone() };
    let flow = flow.advanced(payin, Change { is_new_version: true, is_notified }, at.now);
    if is_notified {
        draft.emit(&flow, at);
    }
    if let Some(actor) = actor {
        draft.note((actor, "payin.report_other"), &flow.name(), &note, at);
    }
    draft.put(flow, at);
    Ok(())
}

impl CloseCase {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let (id, request_hash) = (FlowId::from(self.id), self.request_hash());
        if let Some(replay) = draft.replay::<PayIn>(&self.key, request_hash) {
            return replay;
        }
        let (name, flow) = (self.id.to_string(), draft.shared(id));
        let Some((flow, payin)) = flow.as_ref().and_then(|it| Some((it, it.state.payin()?))) else {
            return Err(draft.missing(id, name));
        };
        check_version(&self.id, Some(self.expected_version), flow.version)?;
        let closed = payin.closed()?;
        draft.check_alone(Action::CloseCase, Some(payin.terms.funds.amount))?;
        let change = Change { is_new_version: true, is_notified: false };
        let flow = flow.advanced(closed, change, at.now);
        draft.put(flow, at);
        draft.note((&self.actor, "payin.close_case"), &name, &self.evidence, at);
        draft.answer_about::<PayIn>(&self.key, request_hash, id)
    }
}
