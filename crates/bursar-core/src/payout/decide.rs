//! What follows from what is known. Money is settled only if it was paid, released only if it was not.

use jiff::Timestamp;

use super::state::{Case, Known, Payout, State, StuckReason, Wait};
use super::step::{Booking, Context, Effect, News, Step, asked, later, merge};
use crate::attempt::{Attempt, Evidence, Knowledge, Source, Verdict};
use crate::channel::LEASE_SLACK;
use crate::ids::reference;

/// Time has passed.
pub(super) fn due(mut payout: Payout, context: &Context<'_>) -> Step {
    let now = context.now;
    if payout.state.due().is_none_or(|due| now < due) {
        return Step::stays(payout);
    }
    match payout.state {
        State::Scheduled { .. } => Step::to(payout, State::Ready { not_before: now }, &[]),
        State::Ready { .. } => submit(payout, context),
        State::Submitting { .. } => {
            // Whoever had it has not come back: nobody knows whether it was sent.
            let (number, r#try) =
                payout.latest().map_or((0, 0), |attempt| (attempt.number, attempt.tries));
            let detail = Some("no answer in time".to_owned());
            let verdict = Verdict::Unknown { r#try };
            let evidence = Evidence { detail, ..Evidence::new(Source::Submission, verdict) };
            let news = merge(&mut payout, number, evidence, now);
            decide(payout, news, context)
        }
        State::Unconfirmed { wait, .. }
        | State::Processing { wait, .. }
        | State::Stuck { wait, .. } => match wait {
            Wait::Until(_) => ask(payout, context),
            Wait::Asking { .. } => {
                // The question is lost; that is evidence of nothing.
                asked(&mut payout, false, context);
                decide(payout, None, context)
            }
        },
        State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// The next try of the latest attempt: saved first, sent afterwards.
fn submit(mut payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    if context.is_frozen {
        let not_before = later(context.now, clocks.poll_interval);
        return Step::to(payout, State::Ready { not_before }, &[]);
    }
    let lease_until = later(context.now, clocks.submit_timeout.saturating_add(LEASE_SLACK));
    let Some(attempt) = payout.attempts.last_mut() else { return Step::stays(payout) };
    attempt.tries = attempt.tries.saturating_add(1);
    attempt.sent_by = Some(lease_until);
    let effect = Effect::Submit { attempt: attempt.number, r#try: attempt.tries, lease_until };
    let step = Step::to(payout, State::Submitting { lease_until }, &[]);
    Step { effect: Some(effect), ..step }
}

fn ask(mut payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    let lease_until = later(context.now, clocks.query_timeout.saturating_add(LEASE_SLACK));
    match &mut payout.state {
        State::Unconfirmed { wait, .. }
        | State::Processing { wait, .. }
        | State::Stuck { wait, .. } => *wait = Wait::Asking { lease_until },
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => return Step::stays(payout),
    }
    let attempt = payout.latest().map_or(0, |attempt| attempt.number);
    let effect = Some(Effect::Query { attempt, lease_until });
    Step { effect, ..Step::stays(payout) }
}

pub(super) fn decide(payout: Payout, news: Option<News>, context: &Context<'_>) -> Step {
    match &payout.state {
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. } => decide_live(payout, context),
        State::Success | State::LateSuccess | State::Returned => decide_settled(payout, news),
        State::Failed { .. } | State::Cancelled => decide_released(payout, news),
    }
}

/// The money has left for one attempt. What is said about that one may bring it back; what does not fit is a case.
fn decide_settled(mut payout: Payout, news: Option<News>) -> Step {
    if payout.state != State::Returned && payout.was_returned(payout.settled) {
        return Step::to(payout, State::Returned, &[Booking::Return]);
    }
    let case = news.and_then(|news| match news.verdict {
        Verdict::Paid | Verdict::Returned if Some(news.attempt) != payout.settled => {
            Some(Case::PaidTwice)
        }
        Verdict::NotPaid { .. } | Verdict::Refused { .. } if payout.is_contradicted() => {
            Some(Case::Contradicted)
        }
        Verdict::Paid
        | Verdict::Returned
        | Verdict::NotPaid { .. }
        | Verdict::NotSent { .. }
        | Verdict::Unknown { .. }
        | Verdict::Refused { .. }
        | Verdict::Accepted => None,
    });
    // The worst of them stays.
    payout.case = payout.case.max(case);
    Step::stays(payout)
}

/// The money leaves for this attempt. What was paid may have come back before anybody said that it was paid.
pub(super) fn settle(
    payout: Payout,
    attempt: u32,
    state: State,
    mut bookings: Vec<Booking>,
) -> Step {
    let state = if payout.was_returned(Some(attempt)) {
        bookings.push(Booking::Return);
        State::Returned
    } else {
        state
    };
    let paid = payout.attempts.iter().filter(|known| known.was_paid()).count();
    let case = if paid > 1 {
        Some(Case::PaidTwice)
    } else {
        (state == State::LateSuccess).then_some(Case::PaidAfterRelease)
    };
    Step::to(Payout { settled: Some(attempt), case, ..payout }, state, &bookings)
}

/// The money was given back. If the channel has paid all the same, the merchant owes it.
/// Only news can say so: a person who ruled otherwise has seen the rest.
fn decide_released(payout: Payout, news: Option<News>) -> Step {
    let Some(News { attempt, verdict }) = news else { return Step::stays(payout) };
    match verdict {
        Verdict::Paid | Verdict::Returned => {
            let bookings = vec![Booking::TakeBackRelease, Booking::Settle];
            settle(payout, attempt, State::LateSuccess, bookings)
        }
        Verdict::NotSent { .. }
        | Verdict::Unknown { .. }
        | Verdict::Refused { .. }
        | Verdict::Accepted
        | Verdict::NotPaid { .. } => Step::stays(payout),
    }
}

fn decide_live(payout: Payout, context: &Context<'_>) -> Step {
    let now = context.now;
    match payout.known() {
        Known::Conflict | Known::Latest(Knowledge::Conflict) => {
            stuck(payout, StuckReason::Conflict, context)
        }
        Known::Latest(Knowledge::Paid | Knowledge::Returned) => {
            let attempt = payout.paid_attempt();
            settle(payout, attempt, State::Success, vec![Booking::Settle])
        }
        // What is said may be about an earlier try; the one that is out must come back first.
        Known::Latest(Knowledge::NotPaid { .. }) if is_tried_again(&payout) => {
            waits_for_try(payout, context)
        }
        Known::Latest(Knowledge::NotPaid { is_retryable }) => {
            let attempts = u32::try_from(payout.attempts.len()).unwrap_or(u32::MAX);
            let clocks = &context.channel.clocks;
            let may_retry = is_retryable && context.channel.failed_is_final;
            if may_retry && attempts < clocks.attempts_max {
                let not_before = later(now, clocks.retry_after(attempts));
                return next_attempt(payout, not_before, context);
            }
            let refusal = payout.latest().and_then(Attempt::refusal);
            let reason = refusal.unwrap_or("refused by the channel").to_owned();
            Step::to(payout, State::Failed { reason }, &[Booking::Release])
        }
        Known::Latest(Knowledge::Accepted) => accepted(payout, context),
        Known::Latest(Knowledge::Unknown) => unknown(payout, context),
        Known::Latest(Knowledge::InFlight) => Step::stays(payout),
        Known::Latest(Knowledge::NotSent) => not_sent(payout, context),
    }
}

fn is_tried_again(payout: &Payout) -> bool {
    payout.latest().is_some_and(|attempt| attempt.tries > 1 && attempt.is_last_try_out())
}

/// Whoever made the last try may be gone and never say how it ended: then a person must look.
fn waits_for_try(payout: Payout, context: &Context<'_>) -> Step {
    if let State::Processing { deadline, wait: Wait::Until(_), .. } = payout.state
        && deadline <= context.now
    {
        return stuck(payout, StuckReason::Pending, context);
    }
    Step::stays(payout)
}

/// The channel has it: wait for the end, for a while.
fn accepted(payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    match &payout.state {
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. } => {
            let deadline = later(context.now, clocks.poll_deadline);
            let wait = Wait::Until(later(context.now, clocks.poll_interval));
            Step::to(payout, State::Processing { polls: 0, deadline, wait }, &[])
        }
        State::Processing { deadline, wait: Wait::Until(_), .. } if *deadline <= context.now => {
            stuck(payout, StuckReason::Pending, context)
        }
        State::Processing { .. }
        | State::Stuck { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// Nobody knows. It is never sent again, unless the channel promises that this is safe; it is asked for.
fn unknown(payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    let tries = payout.latest().map_or(0, |attempt| attempt.tries);
    match &payout.state {
        State::Submitting { .. }
            if context.channel.submit_is_idempotent && tries < clocks.tries_max =>
        {
            let not_before = later(context.now, clocks.retry_after(tries));
            Step::to(payout, State::Ready { not_before }, &[])
        }
        State::Submitting { .. } => {
            let first = clocks.requeries.first().copied().unwrap_or(clocks.poll_interval);
            let wait = Wait::Until(later(context.now, first));
            Step::to(payout, State::Unconfirmed { asked: 0, not_found: 0, wait }, &[])
        }
        State::Unconfirmed { asked, wait: Wait::Until(_), .. }
            if usize::try_from(*asked).unwrap_or(usize::MAX) >= clocks.requeries.len() =>
        {
            stuck(payout, StuckReason::Ambiguous, context)
        }
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// Proven: the channel has nothing. It may be tried again under the same reference, a few times.
fn not_sent(payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    let tries = payout.latest().map_or(0, |attempt| attempt.tries);
    match &payout.state {
        State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
            if tries < clocks.tries_max =>
        {
            let not_before = later(context.now, clocks.retry_after(tries));
            Step::to(payout, State::Ready { not_before }, &[])
        }
        State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. } => {
            let reason = "the channel could not be reached".to_owned();
            Step::to(payout, State::Failed { reason }, &[Booking::Release])
        }
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// A person must look. Whoever looks already goes on looking.
fn stuck(payout: Payout, reason: StuckReason, context: &Context<'_>) -> Step {
    if matches!(payout.state, State::Stuck { reason: known, .. } if known == reason) {
        return Step::stays(payout);
    }
    let wait = Wait::Until(later(context.now, context.channel.clocks.review_poll()));
    Step::to(payout, State::Stuck { reason, wait }, &[])
}

/// Another attempt under a new reference, with the same hold.
pub(super) fn next_attempt(
    mut payout: Payout,
    not_before: Timestamp,
    context: &Context<'_>,
) -> Step {
    let number = payout.latest().map_or(0, |attempt| attempt.number).saturating_add(1);
    let reference = reference(context.now, &context.seed, context.name, number);
    payout.attempts.push(Attempt::new(number, reference));
    Step::to(payout, State::Ready { not_before }, &[])
}
