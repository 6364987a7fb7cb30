//! One step: what an event says is merged or taken note of, then `decide` looks at all that is known.

use jiff::{SignedDuration, Timestamp};

use super::decide::{decide, due, next_attempt, settle};
use super::event::{Answer, Decision, Event, Outcome, Ruling};
use super::state::{Payout, Proposal, State, Wait};
use crate::attempt::{Attempt, Evidence, Source, Verdict};
use crate::channel::{Channel, LEASE_SLACK};
use crate::control::is_same_person;
use crate::ids::Seed;
use crate::rejection::Rejection;

/// What a step may look at besides the payout.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    pub now: Timestamp,
    pub seed: Seed,
    /// The payout's own, so that what one request makes for several payouts is different.
    pub name: &'c str,
    pub channel: &'c Channel,
    /// Nothing new is sent while it is.
    pub is_frozen: bool,
}

/// The payout afterwards, what the ledger must book for it, and what must be done once that is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub payout: Payout,
    pub bookings: Vec<Booking>,
    pub effect: Option<Effect>,
}

/// What the ledger does for a payout, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booking {
    Reserve,
    Settle,
    Release,
    /// The release is reverted: the money had left after all.
    TakeBackRelease,
    Return,
}

impl Booking {
    /// The event whose rule moves the money; none takes a transaction back.
    pub const fn rule(self) -> Option<&'static str> {
        match self {
            Self::Reserve => Some("PAYOUT_RESERVE"),
            Self::Settle => Some("PAYOUT_SETTLE"),
            Self::Release => Some("PAYOUT_RELEASE"),
            Self::Return => Some("PAYOUT_RETURN"),
            Self::TakeBackRelease => None,
        }
    }
}

/// What goes to the channel once the step is saved. Too late after the lease: then it must not be done at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Submit { attempt: u32, r#try: u32, lease_until: Timestamp },
    Query { attempt: u32, lease_until: Timestamp },
}

/// More would be a loop, whatever people decide.
const ATTEMPTS_MAX: usize = 20;

pub fn step(payout: &Payout, event: &Event, context: &Context<'_>) -> Result<Step, Rejection> {
    let mut payout = payout.clone();
    match event {
        Event::Due => Ok(due(payout, context)),
        Event::Submitted { attempt, r#try, .. } if !was_planned(&payout, *attempt, *r#try) => {
            // Taken for evidence, it would speak about a try that is still to come.
            Ok(Step::stays(payout))
        }
        Event::Submitted { attempt, r#try, outcome } => {
            end_try(&mut payout, *attempt, *r#try);
            let evidence = submission_evidence(*r#try, outcome);
            let news = merge(&mut payout, *attempt, evidence, context.now);
            Ok(decide(payout, news, context))
        }
        Event::Queried { attempt, lease_until, answer } => {
            let evidence = query_evidence(answer);
            let news =
                evidence.and_then(|evidence| merge(&mut payout, *attempt, evidence, context.now));
            // An answer that comes twice, or to a question that was given up, counts as evidence and not as an answer.
            if payout.state.question() == Some(*lease_until) {
                asked(&mut payout, *answer == Answer::NotFound, context);
            }
            Ok(decide(payout, news, context))
        }
        Event::Told { attempt, evidence } => {
            let news = merge(&mut payout, *attempt, evidence.clone(), context.now);
            Ok(decide(payout, news, context))
        }
        Event::CancelAsked => cancel(payout),
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

fn submission_evidence(r#try: u32, outcome: &Outcome) -> Evidence {
    let source = Source::Submission;
    let (verdict, provider_reference, detail) = match outcome {
        Outcome::NotSent { detail } => (Verdict::NotSent { r#try }, None, Some(detail.clone())),
        Outcome::Rejected { is_retryable, detail } => {
            let verdict = Verdict::Refused { r#try, is_retryable: *is_retryable };
            (verdict, None, Some(detail.clone()))
        }
        Outcome::Accepted { provider_reference } => {
            (Verdict::Accepted, provider_reference.clone(), None)
        }
        Outcome::Paid { provider_reference } => (Verdict::Paid, provider_reference.clone(), None),
        // It has this reference; what it does with it, questions will tell.
        Outcome::Duplicate => (Verdict::Accepted, None, Some("duplicate".to_owned())),
        Outcome::Unknown { detail } => (Verdict::Unknown { r#try }, None, Some(detail.clone())),
    };
    Evidence { source, verdict, provider_reference, detail, digest: None }
}

fn was_planned(payout: &Payout, number: u32, r#try: u32) -> bool {
    payout.attempts.iter().any(|attempt| attempt.number == number && r#try <= attempt.tries)
}

/// Evidence that was not known before.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    pub(super) attempt: u32,
    pub(super) verdict: Verdict,
}

/// Evidence about an attempt that does not exist is about nothing.
pub(super) fn merge(
    payout: &mut Payout,
    number: u32,
    evidence: Evidence,
    now: Timestamp,
) -> Option<News> {
    let verdict = evidence.verdict;
    let attempt = payout.attempts.iter_mut().find(|attempt| attempt.number == number)?;
    attempt.merge(evidence, now).then_some(News { attempt: number, verdict })
}

/// What an answer proves, if anything.
fn query_evidence(answer: &Answer) -> Option<Evidence> {
    let source = Source::Query;
    match answer {
        Answer::Paid { provider_reference } => Some(Evidence {
            provider_reference: provider_reference.clone(),
            ..Evidence::new(source, Verdict::Paid)
        }),
        Answer::NotPaid { is_retryable, detail } => Some(Evidence {
            detail: Some(detail.clone()),
            ..Evidence::new(source, Verdict::NotPaid { is_retryable: *is_retryable })
        }),
        Answer::Pending { provider_reference } => Some(Evidence {
            provider_reference: provider_reference.clone(),
            ..Evidence::new(source, Verdict::Accepted)
        }),
        Answer::Returned { detail } => Some(Evidence {
            detail: Some(detail.clone()),
            ..Evidence::new(source, Verdict::Returned)
        }),
        Answer::NotFound | Answer::Failed { .. } => None,
    }
}

/// The next question, or the end of questions.
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
        | State::Returned
        | State::LateSuccess => {}
    }
}

/// How often in a row the channel must say that it knows nothing.
const NOT_FOUND_MIN: u32 = 2;

/// Whether “not found” means that it never will be: the channel says so, and has had the time to see it.
///
/// That time is real, and the clock that we read is not quite: it may run a tenth too fast, and another process may have
/// read one that is some seconds apart.
fn is_absence_proven(payout: &Payout, context: &Context<'_>) -> bool {
    let Channel { visibility_window, not_found_is_final, clocks, .. } = context.channel;
    let sent_by = payout.latest().and_then(|attempt| attempt.sent_by);
    let lease = clocks.submit_timeout.saturating_add(LEASE_SLACK);
    let tenth = lease.saturating_add(*visibility_window).checked_div(10).unwrap_or_default();
    let wait = visibility_window.saturating_add(tenth).saturating_add(LEASE_SLACK);
    *not_found_is_final && sent_by.is_some_and(|sent_by| later(sent_by, wait) < context.now)
}

fn disprove_tries(payout: &mut Payout, now: Timestamp) {
    let Some(attempt) = payout.attempts.last_mut() else { return };
    for r#try in 1..=attempt.tries {
        let detail = Some("the channel does not know it".to_owned());
        let evidence =
            Evidence { detail, ..Evidence::new(Source::Query, Verdict::NotSent { r#try }) };
        attempt.merge(evidence, now);
    }
}

/// Nothing that the channel may pay is cancelled.
fn cancel(payout: Payout) -> Result<Step, Rejection> {
    let is_live = payout.attempts.iter().any(Attempt::is_live) || payout.was_paid();
    match payout.state {
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
        | State::Returned
        | State::LateSuccess => Err(Rejection::NotCancellable { status: payout.state.status() }),
    }
}

/// A person decides, once it is stuck; where two are needed, the first only proposes.
fn ruled(payout: Payout, decision: &Decision, context: &Context<'_>) -> Result<Step, Rejection> {
    let State::Stuck { reason, .. } = payout.state else {
        return Err(Rejection::NotStuck { status: payout.state.status() });
    };
    let Decision { ruling, actor, is_approver, evidence, needs_two } = decision;
    if *needs_two {
        match &payout.proposal {
            Some(proposal)
                if proposal.ruling == *ruling && is_same_person(&proposal.actor, actor) =>
            {
                return Err(Rejection::SecondPersonNeeded { actor: actor.clone() });
            }
            Some(proposal)
                if proposal.ruling == *ruling && !proposal.is_approver && !is_approver =>
            {
                return Err(Rejection::ApproverNeeded { actor: actor.clone() });
            }
            Some(proposal) if proposal.ruling == *ruling => {}
            Some(_) | None => {
                let (ruling, actor, is_approver) = (*ruling, actor.clone(), *is_approver);
                let proposal = Some(Proposal { ruling, actor, is_approver });
                return Ok(Step::stays(Payout { proposal, ..payout }));
            }
        }
    }
    let number = match ruling {
        Ruling::ConfirmPaid => payout.paid_attempt(),
        Ruling::ConfirmNotPaid | Ruling::KeepWaiting | Ruling::NewAttempt => {
            payout.latest().map_or(0, |attempt| attempt.number)
        }
    };
    let said = |verdict| Evidence {
        detail: Some(evidence.clone()),
        ..Evidence::new(Source::Operator, verdict)
    };
    let mut payout = payout;
    match ruling {
        Ruling::ConfirmPaid => {
            merge(&mut payout, number, said(Verdict::Paid), context.now);
            Ok(settle(payout, number, State::Success, vec![Booking::Settle]))
        }
        Ruling::ConfirmNotPaid => {
            let verdict = Verdict::NotPaid { is_retryable: false };
            merge(&mut payout, number, said(verdict), context.now);
            let state = State::Failed { reason: "confirmed_not_paid".to_owned() };
            Ok(Step::to(payout, state, &[Booking::Release]))
        }
        Ruling::KeepWaiting => {
            let wait = Wait::Until(later(context.now, context.channel.clocks.review_poll()));
            Ok(Step::to(payout, State::Stuck { reason, wait }, &[]))
        }
        Ruling::NewAttempt => {
            if payout.was_paid() || payout.attempts.len() >= ATTEMPTS_MAX {
                return Err(Rejection::NoNewAttempt { attempts: payout.attempts.len() });
            }
            let verdict = Verdict::NotPaid { is_retryable: true };
            merge(&mut payout, number, said(verdict), context.now);
            Ok(next_attempt(payout, context.now, context))
        }
    }
}

pub(super) fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}
