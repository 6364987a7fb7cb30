//! One step: merges the evidence of an event, then `decide` decides from all knowledge.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::decide::{decide, due, next_attempt, settle};
use super::event::{Answer, Decision, Event, ManualDecision, Outcome, When};
use super::evidence::{merge, query_evidence, submission_evidence};
use super::recheck::{self, Restored};
use super::state::{Payout, Proposal, State, Wait};
use crate::flow::ReviewReason;
use crate::four_eyes::{Signature, completes};
use crate::payouts::attempt::{Attempt, Evidence, Source, Verdict};
use crate::payouts::channel::{Channel, LEASE_SLACK};
use crate::rejection::Rejection;

/// Inputs of a step besides the payout.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    pub now: Timestamp,
    /// When a submission that is planned now is sent.
    pub send_at: Timestamp,
    pub channel: &'c Channel,
    /// While it is frozen, no new submission is sent.
    pub is_frozen: bool,
    /// The restore that its channel is rechecked after.
    pub restored: Option<Restored<'c>>,
}

/// The payout after the step, its bookings, and the effect to run after the commit is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub payout: Payout,
    pub bookings: Vec<Booking>,
    pub effect: Option<Effect>,
}

/// A booking of a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booking {
    Reserve,
    Settle,
    Release,
    /// Reverts the release: the channel has paid nevertheless.
    TakeBackRelease,
    Return,
}

/// The ledger event that puts the money of a payout on hold.
pub(crate) const RESERVE: &str = "PAYOUT_RESERVE";

impl Booking {
    /// The ledger event of the booking; none for a revert.
    pub const fn rule(self) -> Option<&'static str> {
        match self {
            Self::Reserve => Some(RESERVE),
            Self::Settle => Some("PAYOUT_SETTLE"),
            Self::Release => Some("PAYOUT_RELEASE"),
            Self::Return => Some("PAYOUT_RETURN"),
            Self::TakeBackRelease => None,
        }
    }
}

/// A call to the channel after the commit is saved. After the lease ends it must not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Submit { attempt: u32, r#try: u32, lease_until: Timestamp },
    Query { attempt: u32, lease_until: Timestamp },
}

/// A limit against endless attempts by manual decisions.
pub const ATTEMPTS_MAX: u32 = 20;

pub fn step(payout: &Payout, event: &Event, context: &Context<'_>) -> Result<Step, Rejection> {
    let mut payout = payout.clone();
    match event {
        Event::Due if payout.due_at().is_none_or(|due| context.now < due) => {
            Ok(Step::stays(payout))
        }
        Event::Due => Ok(match context.restored {
            Some(restored) if payout.is_held(context) => recheck::due(payout, restored, context),
            None if payout.recheck.is_some() => recheck::release(payout, context),
            Some(_) | None => due(payout, context),
        }),
        Event::RecheckAsked => Ok(match context.restored {
            Some(restored) if payout.is_held(context) => recheck::hurry(payout, restored, context),
            Some(_) | None => Step::stays(payout),
        }),
        Event::Submitted { attempt, r#try, .. } if !was_planned(&payout, *attempt, *r#try) => {
            // As evidence, it would be about a try that is not made yet.
            Ok(Step::stays(payout))
        }
        Event::Submitted { attempt, r#try, outcome: Outcome::NotSent { is_ours: true, .. } } => {
            end_try(&mut payout, *attempt, *r#try);
            not_sent_by_us(&mut payout, *attempt, *r#try);
            Ok(decide(payout, None, context))
        }
        Event::Submitted { attempt, r#try, outcome } => {
            end_try(&mut payout, *attempt, *r#try);
            let evidence = submission_evidence(*r#try, outcome);
            let new_evidence = merge(&mut payout, *attempt, evidence, context);
            Ok(decide(payout, new_evidence, context))
        }
        Event::Queried { attempt, lease_until, answer }
            if payout.recheck_question() == Some((*attempt, *lease_until)) =>
        {
            Ok(match context.restored {
                Some(restored) if payout.is_held(context) => {
                    recheck::answered(payout, answer, restored, context)
                }
                Some(_) | None => recheck::answered_late(payout, *attempt, answer, context),
            })
        }
        Event::Queried { attempt, lease_until, answer } => {
            // A lost question of a recheck may be about an attempt that the books do not know.
            let new_evidence = query_evidence(answer)
                .and_then(|evidence| recheck::found(&mut payout, *attempt, evidence, context));
            // A repeated answer, or an answer to an expired query, counts as evidence only; it does not move the timer.
            if payout.state.question() == Some(*lease_until) {
                asked(&mut payout, *answer == Answer::NotFound, context);
            }
            Ok(decide(payout, new_evidence, context))
        }
        Event::EvidenceReceived { attempt, evidence } => {
            let new_evidence = merge(&mut payout, *attempt, evidence.clone(), context);
            Ok(decide(payout, new_evidence, context))
        }
        Event::CancelAsked => cancel(payout, context),
        Event::CutOff => Ok(expire(payout, context)),
        Event::Rescheduled(when) => reschedule(payout, *when, context),
        Event::Decided(decision) => ruled(payout, decision, context),
    }
}

impl Step {
    pub(super) fn to(payout: Payout, state: State, bookings: &[Booking]) -> Self {
        let payout = Payout { state, proposal: None, ..payout };
        Self { payout, bookings: bookings.to_vec(), effect: None }
    }

    pub(super) fn stays(payout: Payout) -> Self {
        Self { payout, bookings: Vec::new(), effect: None }
    }
}

fn end_try(payout: &mut Payout, number: u32, r#try: u32) {
    let mut attempts = payout.attempts.iter_mut();
    if let Some(attempt) = attempts.find(|attempt| attempt.number == number) {
        attempt.ended = attempt.ended.max(Some(r#try));
    }
}

fn not_sent_by_us(payout: &mut Payout, number: u32, r#try: u32) {
    let mut attempts = payout.attempts.iter_mut();
    if let Some(attempt) = attempts.find(|attempt| attempt.number == number) {
        attempt.ours.insert(r#try);
    }
}

fn was_planned(payout: &Payout, number: u32, r#try: u32) -> bool {
    payout.attempts.iter().any(|attempt| attempt.number == number && r#try <= attempt.tries)
}

/// Schedules the next query, or ends the queries.
pub(super) fn asked(payout: &mut Payout, is_not_found: bool, context: &Context<'_>) {
    let clocks = &context.channel.clocks;
    let until = |after: SignedDuration| Wait::Until(later(context.now, after));
    match &mut payout.state {
        State::Unconfirmed { asked, not_found, wait } => {
            *asked = asked.saturating_add(1);
            *not_found = if is_not_found { not_found.saturating_add(1) } else { 0 };
            let index = usize::try_from(*asked).unwrap_or(usize::MAX);
            let after = clocks.requeries.get(index).or(clocks.requeries.last());
            *wait = until(after.copied().unwrap_or(clocks.poll_interval));
            if *not_found >= NOT_FOUND_MIN && is_absence_proven(payout, context) {
                disprove_tries(payout, context.now);
            }
        }
        State::Processing { polls, wait, .. } => {
            *polls = polls.saturating_add(1);
            *wait = until(clocks.poll_after(*polls));
        }
        State::Stuck { wait, .. } => *wait = until(clocks.review_poll()),
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Expired
        | State::Returned
        | State::LateSuccess => {}
    }
}

/// How often in a row the channel must answer “not found”.
const NOT_FOUND_MIN: u32 = 2;

/// Whether “not found” proves absence: the channel guarantees it, and its visibility window has passed.
///
/// The window is real time, and clocks differ from it: a clock may run a tenth too fast, and the clock of another
/// process may differ by some seconds.
fn is_absence_proven(payout: &Payout, context: &Context<'_>) -> bool {
    let Channel { visibility_window, not_found_is_final, clocks, .. } = context.channel;
    let sent_by = payout.latest().and_then(|attempt| attempt.sent_by);
    let lease = clocks.submit_timeout.saturating_add(LEASE_SLACK);
    let tenth = lease.saturating_add(*visibility_window).checked_div(10).unwrap_or_default();
    let wait = visibility_window.saturating_add(tenth).saturating_add(LEASE_SLACK);
    let is_shown = sent_by.is_some_and(|sent_by| later(sent_by, wait) < context.now);
    // A restore has lost what was sent last.
    *not_found_is_final && is_shown && !payout.is_held(context)
}

fn disprove_tries(payout: &mut Payout, now: Timestamp) {
    let Some(attempt) = payout.attempts.last_mut() else { return };
    for r#try in
        (1..=attempt.tries).filter(|r#try| !attempt.ours.contains(r#try)).collect::<Vec<_>>()
    {
        let detail = Some("the channel does not know it".to_owned());
        let evidence =
            Evidence { detail, ..Evidence::new(Source::Query, Verdict::NotSent { r#try }) };
        attempt.merge(evidence, now);
    }
}

/// A payout that the channel may pay cannot be cancelled.
fn cancel(payout: Payout, context: &Context<'_>) -> Result<Step, Rejection> {
    let is_live = payout.attempts.iter().any(Attempt::is_live) || payout.was_paid();
    match payout.state {
        State::Scheduled { .. } | State::Ready { .. } if !is_live && payout.is_held(context) => {
            Err(Rejection::Rechecking { channel: context.channel.name.clone() })
        }
        State::Scheduled { .. } | State::Ready { .. } if !is_live => {
            Ok(Step::to(payout, State::Cancelled, &[Booking::Release]))
        }
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Expired
        | State::Returned
        | State::LateSuccess => Err(Rejection::NotCancellable { status: payout.state.status() }),
    }
}

/// Moves a payout that waits to be sent.
fn reschedule(mut payout: Payout, when: When, context: &Context<'_>) -> Result<Step, Rejection> {
    let status = payout.state.status();
    if cancel(payout.clone(), context).is_err() {
        return Err(Rejection::NotWaiting { status });
    }
    payout.is_urgent |= when == When::Urgent;
    let now = context.now;
    let state = match (when, &payout.state) {
        (When::Urgent, _) => State::Ready { not_before: now },
        (When::At(until), state) => {
            // The pause before a retry stays.
            let earliest = if let State::Ready { not_before } = state { *not_before } else { now };
            Arc::make_mut(&mut payout.terms).scheduled_at = Some(until);
            let is_later = until > now.max(earliest);
            if is_later {
                State::Scheduled { until }
            } else {
                State::Ready { not_before: earliest }
            }
        }
    };
    Ok(Step::to(payout, state, &[]))
}

/// Ends a payout that missed its cut-off. What may have been sent, or waits for an answer after a restore, goes on.
fn expire(payout: Payout, context: &Context<'_>) -> Step {
    match cancel(payout.clone(), context) {
        Ok(step) => Step { payout: Payout { state: State::Expired, ..step.payout }, ..step },
        Err(_) => Step::stays(payout),
    }
}

/// An operator decides about a stuck payout, or closes a case. Where two are needed, the first decision is only a proposal.
fn ruled(
    payout: Payout,
    manual: &ManualDecision,
    context: &Context<'_>,
) -> Result<Step, Rejection> {
    let ManualDecision { decision, evidence, needs_two, .. } = manual;
    let status = payout.state.status();
    let reason = match (decision, &payout.state) {
        (Decision::CloseCase, _) if payout.review() == Some(ReviewReason::Case) => None,
        (Decision::CloseCase, _) => return Err(Rejection::NoOpenCase { status }),
        (_, State::Stuck { reason, .. }) => Some(*reason),
        (_, _) => return Err(Rejection::NotStuck { status }),
    };
    let frees_money = match decision {
        Decision::ConfirmNotPaid | Decision::NewAttempt => true,
        Decision::ConfirmPaid | Decision::KeepWaiting | Decision::CloseCase => false,
    };
    if frees_money && payout.is_held(context) {
        return Err(Rejection::Rechecking { channel: context.channel.name.clone() });
    }
    if *needs_two && !is_second(&payout, manual)? {
        let ManualDecision { decision, actor, is_approver, made_by, .. } = manual.clone();
        let proposal = Some(Proposal { decision, actor, is_approver, made_by });
        return Ok(Step::stays(Payout { proposal, ..payout }));
    }
    let number = match decision {
        Decision::ConfirmPaid => payout.paid_attempt(),
        Decision::ConfirmNotPaid
        | Decision::KeepWaiting
        | Decision::NewAttempt
        | Decision::CloseCase => payout.latest().map_or(0, |attempt| attempt.number),
    };
    let evidence_of = |verdict| Evidence {
        detail: Some(evidence.clone()),
        ..Evidence::new(Source::Operator, verdict)
    };
    let mut payout = payout;
    match decision {
        Decision::ConfirmPaid => {
            merge(&mut payout, number, evidence_of(Verdict::Paid), context);
            Ok(settle(payout, number, State::Success, vec![Booking::Settle]))
        }
        Decision::ConfirmNotPaid => {
            let verdict = Verdict::NotPaid { is_retryable: false };
            merge(&mut payout, number, evidence_of(verdict), context);
            let state = State::Failed { reason: "confirmed_not_paid".to_owned() };
            Ok(Step::to(payout, state, &[Booking::Release]))
        }
        Decision::CloseCase => {
            Ok(Step::stays(Payout { is_case_closed: true, proposal: None, ..payout }))
        }
        Decision::KeepWaiting => {
            let reason = reason.ok_or(Rejection::NotStuck { status })?;
            let wait = Wait::Until(later(context.now, context.channel.clocks.review_poll()));
            Ok(Step::to(payout, State::Stuck { reason, wait }, &[]))
        }
        Decision::NewAttempt => {
            let number = payout.latest().map_or(0, |attempt| attempt.number);
            if payout.was_paid() || number >= ATTEMPTS_MAX {
                return Err(Rejection::NoNewAttempt { attempts: payout.attempts.len() });
            }
            let verdict = Verdict::NotPaid { is_retryable: true };
            merge(&mut payout, number, evidence_of(verdict), context);
            Ok(next_attempt(payout, context.now))
        }
    }
}

/// Whether the decision repeats the pending proposal of another person, one of them an approver.
fn is_second(payout: &Payout, manual: &ManualDecision) -> Result<bool, Rejection> {
    let ManualDecision { decision, actor, is_approver, made_by, .. } = manual.clone();
    let Some(first) = payout.proposal.clone().filter(|first| first.decision == decision) else {
        return Ok(false);
    };
    let second = Signature { actor, is_approver, made_by, key: None };
    let Proposal { actor, is_approver, made_by, .. } = first;
    completes(&Signature { actor, is_approver, made_by, key: None }, &second)
}

pub(super) fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}
