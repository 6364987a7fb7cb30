//! Changes to payouts: create, cancel, resolve, and advance by evidence from channels.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::advance::{Advance, advance};
use super::call::Call;
use super::event::{Event, ManualDecision, When};
use super::recheck::Restored;
use super::reported_payment::ReportedPayment;
use super::request::{AskAgain, Callback, Cancel, Cancellation, ReadyCreate, Reschedule, Resolve};
use super::state::{Payout, State};
use super::step::{ATTEMPTS_MAX, Booking, Context, Effect};
use super::view::View;
use crate::flow::host::{Host, Naming};
use crate::flow::request::unknown;
use crate::flow::{Accepted, Change, Flow, Kind as _, check_version};
use crate::four_eyes::Action;
use crate::ids::{FirstReferences, FlowId, PayoutId};
use crate::ledger::{Admission, Posted, Revert, RevertOverdraft, to_microseconds};
use crate::payouts::attempt::{Attempt, Evidence};
use crate::payouts::channel::Channel;
use crate::rejection::Rejection;
use crate::turn::{Draft, Given, RenderedReply};

impl ReadyCreate<'_> {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Self { create, id, request_hash, terms } = self;
        if let Some(replay) = draft.replay::<Payout>(&create.key, *request_hash) {
            return replay;
        }
        let (terms, bound) = terms.as_ref().map_err(Clone::clone)?;
        draft.merchant_is_open(&terms.funds.merchant)?;
        if create.actor.is_some() {
            draft.check_alone(Action::CreatePayout, Some(terms.funds.amount))?;
        }
        draft.post_bound(bound, at)?;
        let state = match terms.scheduled_at {
            Some(until) if until > at.now => State::Scheduled { until },
            Some(_) | None => State::Ready { not_before: at.now },
        };
        let begins_at = terms.scheduled_at.map_or(at.now, |time| time.max(at.now));
        let (merchant, key) = (&terms.funds.merchant, create.key.value());
        let host = match &create.workflow {
            Some(workflow) => Host::driven_by(workflow),
            None => draft.rules().hosting.start(
                &Payout::INFO,
                |naming| workflow_id(naming, merchant, key),
                begins_at,
            ),
        };
        let name = id.to_string();
        let references = FirstReferences::of(draft.rules().books);
        let first = Attempt::new(1, references.of_key(&create.key.digest()));
        let payout = Payout {
            terms: Arc::clone(terms),
            attempts: vec![first],
            state,
            settled: None,
            case: None,
            is_case_closed: false,
            hold_epoch: 1,
            released_by: None,
            proposal: None,
            is_urgent: false,
            recheck: None,
        };
        let id = FlowId::from(*id);
        let flow = Flow::new(id, merchant, payout, host, at.now);
        let rendered = RenderedReply::<Payout>::new(&flow).ok_or_else(|| unknown(id))?;
        draft.as_driver(id, |draft| {
            draft.emit_as(&flow, rendered.text.clone(), at);
            draft.put(flow, at);
        });
        if let Some(actor) = &create.actor {
            draft.note((actor, "payout.create"), &name, "", at);
        }
        Ok(draft.answer(&create.key, *request_hash, id, rendered))
    }
}

impl Callback {
    /// Evidence about an attempt, found by the reference that the channel was given.
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Accepted, Rejection> {
        let attempt = draft.known_as(&self.channel, &self.reference).and_then(|flow| {
            let mut attempts = flow.state.payout()?.attempts.iter();
            let attempt = attempts.find(|attempt| attempt.reference == self.reference)?;
            Some((flow.id, attempt.number))
        });
        let Some((id, attempt)) = attempt else {
            // The references of an unreadable flow are unknown, and it may be this one. A retry is safer than
            // `UnknownReference`.
            return Err(match draft.unreadable().first() {
                Some(id) => Rejection::Unreadable { id: id.to_string() },
                None => Rejection::UnknownReference { reference: self.reference.clone() },
            });
        };
        let evidence = self.evidence.clone();
        advance_payout(draft, id, &Event::EvidenceReceived { attempt, evidence }, at)?;
        let flow = draft.flow(id).ok_or_else(|| unknown(id))?;
        Ok(Accepted { name: flow.name(), status: flow.state.status() })
    }
}

impl Cancel {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Self { key, cancellation } = self;
        let Cancellation { id, expected_version, actor } = cancellation;
        let request_hash = cancellation.request_hash();
        if let Some(replay) = draft.replay::<Payout>(key, request_hash) {
            return replay;
        }
        let flow = payout_at(draft, *id, *expected_version)?.id;
        advance_payout(draft, flow, &Event::CancelAsked, at)?;
        draft.note((actor, "payout.cancel"), &id.to_string(), "", at);
        draft.answer_about::<Payout>(key, request_hash, flow)
    }
}

impl Resolve {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Self { key, resolution } = self;
        let request_hash = resolution.request_hash();
        if let Some(replay) = draft.replay::<Payout>(key, request_hash) {
            return replay;
        }
        let flow = payout_at(draft, resolution.id, Some(resolution.expected_version))?;
        let amount = flow.state.payout().map(|payout| payout.terms.funds.amount);
        let decision = ManualDecision {
            decision: resolution.decision,
            actor: resolution.actor.clone(),
            is_approver: resolution.is_approver,
            made_by: resolution.made_by.clone(),
            evidence: resolution.evidence.clone(),
            needs_two: amount.is_some_and(|amount| draft.rules().needs_two_people(amount)),
        };
        let flow = flow.id;
        advance_payout(draft, flow, &Event::Decided(decision), at)?;
        let decided = draft.flow(flow).and_then(|flow| flow.state.payout());
        let is_proposal = decided.is_some_and(|payout| payout.proposal.is_some());
        let action = if is_proposal { "payout.propose" } else { resolution.action() };
        let name = resolution.id.to_string();
        draft.note((&resolution.actor, action), &name, &resolution.evidence, at);
        draft.answer_about::<Payout>(key, request_hash, flow)
    }
}

impl Reschedule {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Self { id, when, expected_version, actor, reason } = self;
        let when = match when {
            When::Urgent => When::Urgent,
            When::At(time) => When::At(to_microseconds(*time)),
        };
        let flow = payout_at(draft, *id, *expected_version)?.id;
        advance_payout(draft, flow, &Event::Rescheduled(when), at)?;
        let action = match when {
            When::Urgent => "payout.expedite",
            When::At(_) => "payout.reschedule",
        };
        draft.note((actor, action), &id.to_string(), reason, at);
        let flow = draft.flow(flow).ok_or_else(|| unknown(FlowId::from(*id)))?;
        let payout = flow.state.payout().ok_or_else(|| unknown(flow.id))?;
        Ok(Given { view: Arc::new(View::new(flow, payout)), is_replay: false })
    }
}

impl AskAgain {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Accepted, Rejection> {
        let id = FlowId::from(self.id);
        advance_payout(draft, id, &Event::RecheckAsked, at)?;
        let flow = draft.flow(id).ok_or_else(|| unknown(id))?;
        Ok(Accepted { name: flow.name(), status: flow.state.status() })
    }
}

fn payout_at<'d>(
    draft: &'d Draft<'_>,
    id: PayoutId,
    expected: Option<u64>,
) -> Result<&'d Flow, Rejection> {
    let flow = draft.flow(FlowId::from(id));
    let flow = flow.filter(|flow| flow.state.payout().is_some());
    let Some(flow) = flow else {
        return Err(draft.missing(id.into(), id.to_string()));
    };
    check_version(&id, expected, flow.version)?;
    Ok(flow)
}

fn advance_payout(
    draft: &mut Draft<'_>,
    id: FlowId,
    event: &Event,
    at: &Admission,
) -> Result<(), Rejection> {
    let Some(flow) = draft.shared(id) else {
        return Err(draft.missing(id, id.to_string()));
    };
    let payout = flow.state.payout().ok_or_else(|| unknown(id))?;
    payout.advance(&flow, event, draft, at)
}

impl Payout {
    /// Makes one step: books it, saves the payout, emits its event, and adds its effect.
    pub(super) fn advance(
        &self,
        flow: &Flow,
        event: &Event,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        let rules = draft.rules();
        let Some(channel) = rules.channels.get(&self.terms.channel) else {
            let known = rules.channels.keys().cloned().collect();
            let channel = self.terms.channel.clone();
            return Err(Rejection::UnknownChannel { channel, known });
        };
        let name = flow.name();
        let is_frozen = draft.control().is_frozen(&self.terms.channel, &flow.merchant);
        let rows = self.reported(flow.id, channel, draft);
        let restored = self.restored(draft).map(|at| Restored { at, report: rows.as_ref() });
        let send_time = draft.send_time();
        let send_at = send_time.map_or(at.now, |time| time.at);
        let context = Context { now: at.now, send_at, channel, is_frozen, restored };
        let Some(advance) = advance(self, event, &context)? else { return Ok(()) };
        let Advance { step, is_notified, is_new_version } = advance;
        if is_notified {
            draft.can_tell(&flow.merchant)?;
        }
        let mut payout = step.payout;
        payout.book_all(&name, &step.bookings, draft, at)?;
        if matches!(step.effect, Some(Effect::Submit { .. }))
            || step.bookings.contains(&Booking::Release)
        {
            draft.rely_on_control();
        }
        if let Some(effect) = step.effect {
            draft.send(Call::effect(flow, &payout, effect, (at.now, send_time)));
        }
        let flow = flow.advanced(payout, Change { is_new_version, is_notified }, at.now);
        if is_notified {
            draft.emit(&flow, at);
        }
        draft.put(flow, at);
        Ok(())
    }

    /// The restore that its channel is rechecked after.
    fn restored(&self, draft: &Draft<'_>) -> Option<Timestamp> {
        let restore = draft.control().restore.as_ref();
        restore.filter(|restore| restore.is_open_for(&self.terms.channel)).map(|it| it.at)
    }

    /// What a report lists about its attempts, if there is one that proves absence and the turn has read all its rows: none for
    /// a payout or a report of this turn, or if a row cannot be read.
    fn reported(
        &self,
        id: FlowId,
        channel: &Channel,
        draft: &Draft<'_>,
    ) -> Option<BTreeMap<String, Evidence>> {
        let restore = draft.control_as_read().restore.as_ref()?;
        let is_same = Some(restore) == draft.control().restore.as_ref();
        let report = restore.proof(&channel.name, channel.shown_at(restore.at))?;
        let mut rows = BTreeMap::new();
        for number in 1..=ATTEMPTS_MAX {
            let reference = self.reference_of(number);
            let key = ReportedPayment::key(&channel.name, &report.digest, &reference);
            draft.check_readable(key.kind, &key.id).ok()?;
            let row = draft.record(key.kind, &key.id).and_then(|it| it.content.reported_payment());
            rows.extend(row.map(|row| (reference, row.evidence())));
        }
        (is_same && draft.was_read(id)).then_some(rows)
    }

    fn book_all(
        &mut self,
        name: &str,
        bookings: &[Booking],
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        match bookings {
            [] => Ok(()),
            [booking] => self.book(name, *booking, draft, at),
            // A correction makes several bookings; a rejection in the middle must roll all of them back.
            [_, _, ..] => draft.all_or_nothing(|draft| {
                bookings.iter().try_for_each(|booking| self.book(name, *booking, draft, at))
            }),
        }
    }

    fn book(
        &mut self,
        name: &str,
        booking: Booking,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        let Some(rule) = booking.rule() else {
            let Some(id) = self.released_by.take() else {
                return Err(Rejection::UnknownTransaction { reference: name.to_owned() });
            };
            let overdraft = RevertOverdraft::Allowed;
            draft.revert(&Revert { id, overdraft, effective_at: None }, at)?;
            self.hold_epoch = self.hold_epoch.saturating_add(1);
            return Ok(());
        };
        let rule = draft.rules().rulebook.rule(rule)?;
        let reference = epoch_name(name, self.hold_epoch);
        let bound = rule.bind(&reference, &self.terms.funds, None)?;
        let posted = draft.post_bound(&bound, at)?;
        if booking == Booking::Release {
            let (Posted::New(id) | Posted::Replayed(id)) = posted;
            self.released_by = Some(id);
        }
        Ok(())
    }
}

/// The booking reference of a hold in its epoch.
pub(super) fn epoch_name(name: &str, epoch: u32) -> String {
    if epoch > 1 { format!("{name}#{epoch}") } else { name.to_owned() }
}

fn workflow_id(naming: Naming, merchant: &str, key: &str) -> String {
    match naming {
        Naming::ByMerchant => format!("disbursement-{merchant}-{key}"),
        Naming::ByKey => format!("disbursement-{key}"),
    }
}
