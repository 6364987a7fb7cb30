//! Decisions from knowledge. Money is settled only if it was paid, and released only if it was not.

use jiff::Timestamp;

use super::evidence::{NewEvidence, merge};
use super::recheck::decide_held;
use super::state::{Discrepancy, Known, Payout, State, StuckReason, Wait};
use super::step::{Booking, Context, Effect, Step, asked, later};
use crate::payouts::attempt::{Attempt, Evidence, Knowledge, Source, Verdict};
use crate::payouts::channel::LEASE_SLACK;

/// The timer of the payout has expired.
pub(super) fn due(mut payout: Payout, context: &Context<'_>) -> Step {
    let now = context.now;
    if payout.due_at().is_none_or(|due| now < due) {
        return Step::stays(payout);
    }
    match payout.state {
        State::Scheduled { .. } | State::Ready { .. } if payout.may_be_sent() => {
            submit(payout, context)
        }
        // A restore has held back what follows from the evidence.
        State::Scheduled { .. } | State::Ready { .. } => decide(payout, None, context),
        State::Submitting { .. } => {
            // The worker did not report before the lease ended: it is unknown whether the try was sent.
            let (number, r#try) =
                payout.latest().map_or((0, 0), |attempt| (attempt.number, attempt.tries));
            let detail = Some("no answer in time".to_owned());
            let verdict = Verdict::Unknown { r#try };
            let evidence = Evidence { detail, ..Evidence::new(Source::Submission, verdict) };
            let new_evidence = merge(&mut payout, number, evidence, context);
            decide(payout, new_evidence, context)
        }
        State::Unconfirmed { wait, .. }
        | State::Processing { wait, .. }
        | State::Stuck { wait, .. } => match wait {
            Wait::Until(_) => ask(payout, context),
            Wait::Asking { .. } => {
                // The query is lost, which is no evidence.
                asked(&mut payout, false, context);
                decide(payout, None, context)
            }
        },
        State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Expired
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// The next try of the latest attempt: saved first, sent afterwards.
fn submit(mut payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    if context.is_frozen {
        let not_before = later(context.now, clocks.poll_interval);
        let is_scheduled = matches!(payout.state, State::Scheduled { .. });
        let scheduled = State::Scheduled { until: not_before };
        let state = if is_scheduled { scheduled } else { State::Ready { not_before } };
        return Step::to(payout, state, &[]);
    }
    let lease_until = later(context.send_at, clocks.submit_timeout.saturating_add(LEASE_SLACK));
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
        | State::Expired
        | State::Returned
        | State::LateSuccess => return Step::stays(payout),
    }
    let attempt = payout.latest().map_or(0, |attempt| attempt.number);
    let effect = Some(Effect::Query { attempt, lease_until });
    Step { effect, ..Step::stays(payout) }
}

pub(super) fn decide(
    payout: Payout,
    new_evidence: Option<NewEvidence>,
    context: &Context<'_>,
) -> Step {
    match &payout.state {
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
            if payout.is_held(context) =>
        {
            decide_held(payout, context)
        }
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. } => decide_live(payout, context),
        State::Success | State::LateSuccess | State::Returned => {
            decide_settled(payout, new_evidence)
        }
        State::Failed { .. } | State::Cancelled | State::Expired => {
            decide_released(payout, new_evidence)
        }
    }
}

/// The money is settled for one attempt. Evidence about that attempt may return it; contradicting evidence, and another
/// amount, are discrepancies.
fn decide_settled(mut payout: Payout, new_evidence: Option<NewEvidence>) -> Step {
    let is_other = payout.reports_other_amount();
    if payout.state != State::Returned && payout.was_returned(payout.settled) && !is_other {
        return Step::to(payout, State::Returned, &[Booking::Return]);
    }
    let case = new_evidence.and_then(|new_evidence| match new_evidence.verdict {
        Verdict::Paid | Verdict::Returned | Verdict::AmountDiffers | Verdict::AmountMissing
            if Some(new_evidence.attempt) != payout.settled =>
        {
            Some(Discrepancy::PaidTwice)
        }
        Verdict::AmountDiffers => Some(Discrepancy::AmountDiffers),
        // How much came back is for an operator to find out.
        Verdict::Returned if is_other => Some(Discrepancy::AmountDiffers),
        Verdict::NotPaid { .. } | Verdict::Refused { .. } if payout.is_contradicted() => {
            Some(Discrepancy::Contradicted)
        }
        Verdict::Paid
        | Verdict::Returned
        | Verdict::NotPaid { .. }
        | Verdict::NotSent { .. }
        | Verdict::Unknown { .. }
        | Verdict::Refused { .. }
        | Verdict::Accepted
        | Verdict::AmountMissing => None,
    });
    // The most severe discrepancy stays.
    payout.case = payout.case.max(case);
    payout.is_case_closed &= case.is_none();
    Step::stays(payout)
}

/// Settles the money for this attempt. Evidence of the return may arrive before the evidence of the payment.
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
        Some(Discrepancy::PaidTwice)
    } else {
        (state == State::LateSuccess).then_some(Discrepancy::PaidAfterRelease)
    };
    Step::to(
        Payout { settled: Some(attempt), case, is_case_closed: false, ..payout },
        state,
        &bookings,
    )
}

/// The money was released. If the channel paid nevertheless, the merchant owes it. Only new evidence can show that: an
/// operator who decided otherwise has seen the rest.
fn decide_released(mut payout: Payout, new_evidence: Option<NewEvidence>) -> Step {
    let Some(NewEvidence { attempt, verdict }) = new_evidence else { return Step::stays(payout) };
    match verdict {
        // How much of it the merchant owes is for an operator to find out.
        Verdict::Paid | Verdict::Returned | Verdict::AmountDiffers | Verdict::AmountMissing
            if payout.reports_other_amount() || verdict == Verdict::AmountMissing =>
        {
            payout.case = payout.case.max(Some(Discrepancy::AmountDiffers));
            payout.is_case_closed = false;
            Step::stays(payout)
        }
        Verdict::Paid | Verdict::Returned => {
            let bookings = vec![Booking::TakeBackRelease, Booking::Settle];
            settle(payout, attempt, State::LateSuccess, bookings)
        }
        Verdict::NotSent { .. }
        | Verdict::Unknown { .. }
        | Verdict::Refused { .. }
        | Verdict::Accepted
        | Verdict::AmountDiffers
        | Verdict::AmountMissing
        | Verdict::NotPaid { .. } => Step::stays(payout),
    }
}

pub(super) fn decide_live(payout: Payout, context: &Context<'_>) -> Step {
    let now = context.now;
    match payout.known() {
        Known::Conflict | Known::Latest(Knowledge::Conflict) => {
            stuck(payout, StuckReason::Conflict, context)
        }
        Known::Latest(Knowledge::AmountDiffers) => {
            stuck(payout, StuckReason::AmountDiffers, context)
        }
        Known::Latest(Knowledge::Paid | Knowledge::Returned) => {
            let attempt = payout.paid_attempt();
            settle(payout, attempt, State::Success, vec![Booking::Settle])
        }
        // The evidence may be about an earlier try; the try that is out must end first.
        Known::Latest(Knowledge::NotPaid { .. }) if is_tried_again(&payout) => {
            waits_for_try(payout, context)
        }
        Known::Latest(Knowledge::NotPaid { is_retryable }) => {
            let attempts = u32::try_from(payout.attempts.len()).unwrap_or(u32::MAX);
            let clocks = &context.channel.clocks;
            let may_retry = is_retryable && context.channel.failed_is_final;
            if may_retry && attempts < clocks.attempts_max {
                let not_before = later(now, clocks.retry_after(attempts));
                return next_attempt(payout, not_before);
            }
            let refusal = payout.latest().and_then(Attempt::refusal);
            let reason = refusal.unwrap_or("refused by the channel").to_owned();
            Step::to(payout, State::Failed { reason }, &[Booking::Release])
        }
        Known::Latest(Knowledge::Accepted | Knowledge::AmountMissing) => accepted(payout, context),
        Known::Latest(Knowledge::Unknown) => unknown(payout, context),
        Known::Latest(Knowledge::InFlight) => Step::stays(payout),
        Known::Latest(Knowledge::NotSent) => not_sent(payout, context),
    }
}

fn is_tried_again(payout: &Payout) -> bool {
    payout.latest().is_some_and(|attempt| attempt.tries > 1 && attempt.is_last_try_out())
}

/// The worker of the last try may have crashed, so its outcome may never arrive: after the deadline an operator must
/// look.
fn waits_for_try(payout: Payout, context: &Context<'_>) -> Step {
    if let State::Processing { deadline, wait: Wait::Until(_), .. } = payout.state
        && deadline <= context.now
    {
        return stuck(payout, StuckReason::Pending, context);
    }
    Step::stays(payout)
}

/// The channel accepted it: wait for the outcome until the deadline.
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
        | State::Expired
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// The outcome is unknown. The payout is queried, and sent again only if the channel guarantees idempotent submission.
fn unknown(payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    let (tries, counted) =
        payout.latest().map_or((0, 0), |attempt| (attempt.tries, attempt.counted_tries()));
    match &payout.state {
        State::Submitting { .. }
            if context.channel.submit_is_idempotent
                && (counted < clocks.tries_max || is_ours(&payout)) =>
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
        | State::Expired
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// Proven: the channel has nothing. The same reference may be tried again, up to the maximum; tries that this machine could
/// not send do not count.
fn not_sent(payout: Payout, context: &Context<'_>) -> Step {
    let clocks = &context.channel.clocks;
    let (tries, counted) =
        payout.latest().map_or((0, 0), |attempt| (attempt.tries, attempt.counted_tries()));
    match &payout.state {
        State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
            if counted < clocks.tries_max || is_ours(&payout) =>
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
        | State::Expired
        | State::Returned
        | State::LateSuccess => Step::stays(payout),
    }
}

/// The last try was not made for a reason of this machine: the next one is.
fn is_ours(payout: &Payout) -> bool {
    payout.latest().is_some_and(Attempt::was_last_try_ours)
}

/// Enters STUCK with this reason; already stuck for it, keeps the current poll timer.
fn stuck(payout: Payout, reason: StuckReason, context: &Context<'_>) -> Step {
    if matches!(payout.state, State::Stuck { reason: known, .. } if known == reason) {
        return Step::stays(payout);
    }
    let wait = Wait::Until(later(context.now, context.channel.clocks.review_poll()));
    Step::to(payout, State::Stuck { reason, wait }, &[])
}

/// Another attempt under a new reference, with the same hold.
pub(super) fn next_attempt(mut payout: Payout, not_before: Timestamp) -> Step {
    let number = payout.latest().map_or(0, |attempt| attempt.number).saturating_add(1);
    payout.attempts.push(Attempt::new(number, payout.reference_of(number)));
    Step::to(payout, State::Ready { not_before }, &[])
}
