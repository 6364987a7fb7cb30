//! Mistakes in the machine of payouts: each is a wrapper that errs at one point, and is the shipped machine elsewhere.

use bursar_core::payouts::attempt::{Attempt, Verdict};
use bursar_core::payouts::{
    Advance, Answer, Booking, Context, Event, ManualDecision, Outcome, Payout, State, Step, advance,
};
use bursar_core::rejection::Rejection;
use jiff::Timestamp;

use super::evidence::without;
use super::{Mistake, Plant, mistake};

type Advanced = Result<Option<Advance>, Rejection>;

pub(super) const MISTAKES: [Mistake; 31] = [
    mistake(
        "release-on-timeout",
        "A timeout counts as a failure: the hold is released.",
        Plant::Payout(|payout, event, context| {
            let mistaken = is_timeout(payout, event).then(|| failed(payout));
            mistaken.map_or_else(|| advance(payout, event, context), done)
        }),
    ),
    mistake(
        "resend-on-timeout",
        "After a timeout the same is sent again, whatever the channel promises.",
        Plant::Payout(|payout, event, context| {
            let mistaken = is_timeout(payout, event).then(|| ready(payout));
            mistaken.map_or_else(|| advance(payout, event, context), done)
        }),
    ),
    mistake(
        "failover-on-timeout",
        "After a timeout another attempt is made.",
        Plant::Payout(|payout, event, context| {
            if is_timeout(payout, event) && payout.attempts.len() < 2 {
                let mut payout = payout.clone();
                payout.attempts.push(Attempt::new(2, "second".to_owned()));
                return done(ready(&payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "poll-error-is-success",
        "A query without an answer counts as a payment.",
        Plant::Payout(|payout, event, context| {
            let is_error = matches!(event, Event::Queried { answer: Answer::Failed { .. }, .. });
            if is_error && !payout.state.is_final() {
                return done(moved(payout, State::Success, &[Booking::Settle]));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "amount-ignored",
        "What the channel says that it paid is not compared with what was asked for.",
        Plant::Payout(|payout, event, context| advance(payout, &without_amount(event), context)),
    ),
    mistake(
        "own-fault-counts",
        "A try that this machine could not send counts like one that the channel did not take.",
        Plant::Payout(|payout, event, context| advance(payout, &as_theirs(event), context)),
    ),
    mistake(
        "not-found-is-final-at-once",
        "What the channel does not find is given back, although it may be on its way.",
        Plant::Payout(|payout, event, context| {
            let is_absent = matches!(event, Event::Queried { answer: Answer::NotFound, .. });
            if is_absent && !payout.state.is_final() {
                return done(failed(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "cancel-without-looking",
        "A cancellation always succeeds while the payout is not over.",
        Plant::Payout(|payout, event, context| {
            if *event == Event::CancelAsked && !payout.state.is_final() {
                return done(moved(payout, State::Cancelled, &[Booking::Release]));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "last-write-wins",
        "A callback replaces what was known instead of being added to it.",
        Plant::Payout(last_write_wins),
    ),
    mistake(
        "stale-is-ready",
        "What waited too long is made ready and sent once more.",
        Plant::Payout(|payout, event, context| {
            let was_sent = payout.attempts.iter().any(|attempt| attempt.tries > 0);
            let is_waiting =
                !matches!(payout.state, State::Ready { .. }) && !payout.state.is_final();
            if *event == Event::Due && was_sent && is_waiting {
                return done(ready(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "settle-twice",
        "Every callback that says paid books it again.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Success && reports(event, Verdict::Paid) {
                return done(moved(payout, State::Success, &[Booking::Settle]));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "release-twice",
        "Every callback that says failed gives the money back again.",
        Plant::Payout(|payout, event, context| {
            let is_failed = matches!(payout.state, State::Failed { .. });
            if is_failed && reports(event, Verdict::NotPaid { is_retryable: false }) {
                return done(failed(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "denial-is-a-return",
        "What was settled and is then said to have failed is given to the merchant as if it had come back.",
        Plant::Payout(|payout, event, context| {
            let is_denied = reports(event, Verdict::NotPaid { is_retryable: false });
            if payout.state == State::Success && is_denied {
                return done(moved(payout, State::Returned, &[Booking::Return]));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "return-twice",
        "Every callback about a return gives the merchant what came back once more.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Returned && reports(event, Verdict::Returned) {
                return done(moved(payout, State::Returned, &[Booking::Return]));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "failure-keeps-the-hold",
        "A payout fails and its hold is not released.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.step.bookings.retain(|booking| *booking != Booking::Release);
            })
        }),
    ),
    mistake(
        "late-success-without-taking-back",
        "What is paid after it was given back is booked as if it had never been given back.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.step.bookings.retain(|booking| *booking != Booking::TakeBackRelease);
            })
        }),
    ),
    mistake(
        "late-success-is-silent",
        "What is paid after it was given back is not looked at any more.",
        Plant::Payout(|payout, event, context| {
            let is_over = matches!(payout.state, State::Failed { .. } | State::Cancelled);
            changed(advance(payout, event, context), |next| {
                if is_over {
                    next.step.payout.state = payout.state.clone();
                    next.step.payout.case = None;
                    next.step.bookings.clear();
                    next.is_notified = false;
                }
            })
        }),
    ),
    mistake(
        "closed-case-stays-closed",
        "A case that was closed once is not opened again by another discrepancy.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.step.payout.is_case_closed |= payout.is_case_closed;
            })
        }),
    ),
    mistake(
        "return-overlooked",
        "A return that arrives before the payment is booked as paid, and no more.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                let is_settled = next.step.bookings.contains(&Booking::Settle);
                if is_settled && next.step.payout.state == State::Returned {
                    next.step.payout.state = State::Success;
                    next.step.bookings.retain(|booking| *booking != Booking::Return);
                }
            })
        }),
    ),
    mistake(
        "try-not-counted",
        "A submission goes out without being counted.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                if let State::Submitting { .. } = next.step.payout.state {
                    next.step.payout.attempts.clone_from(&payout.attempts);
                }
            })
        }),
    ),
    mistake(
        "decisions-ignored",
        "Decisions about a stuck payout are ignored.",
        Plant::Payout(|payout, event, context| match event {
            Event::Decided(_) => Ok(None),
            Event::Due
            | Event::Submitted { .. }
            | Event::Queried { .. }
            | Event::EvidenceReceived { .. }
            | Event::RecheckAsked
            | Event::CancelAsked
            | Event::CutOff
            | Event::Rescheduled(_) => advance(payout, event, context),
        }),
    ),
    mistake(
        "end-is-left",
        "A callback that comes late makes what is over live again.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Success && reports(event, Verdict::Accepted) {
                return done(ready(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "event-omitted",
        "A failure is booked without an event.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.is_notified &= !matches!(next.step.payout.state, State::Failed { .. });
            })
        }),
    ),
    mistake(
        "event-repeated",
        "Every query to the channel emits an event.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| next.is_notified = true)
        }),
    ),
    mistake(
        "freeze-ignored",
        "What is frozen is sent.",
        Plant::Payout(|payout, event, context| {
            advance(payout, event, &Context { is_frozen: false, ..*context })
        }),
    ),
    mistake(
        "same-reference",
        "Another attempt goes out under the reference of the first.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                let first = next.step.payout.attempts.first().map(|one| one.reference.clone());
                let last = next.step.payout.attempts.last_mut();
                if let Some((last, first)) = last.zip(first) {
                    last.reference = first;
                }
            })
        }),
    ),
    mistake(
        "duplicate-is-failure",
        "A channel that says it has this reference already is taken to have refused it.",
        Plant::Payout(|payout, event, context| {
            let is_duplicate =
                matches!(event, Event::Submitted { outcome: Outcome::Duplicate, .. });
            if is_duplicate && !payout.state.is_final() {
                return done(failed(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mistake(
        "stale-decision",
        "A decision counts, whichever version was looked at.",
        Plant::Version(|_, _| Ok(())),
    ),
    mistake(
        "news-without-version",
        "What a callback says does not make a new version.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.is_new_version &= !matches!(event, Event::EvidenceReceived { .. });
            })
        }),
    ),
    mistake(
        "proposal-outlives-news",
        "What one of two has decided still counts when there is news.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                let is_stuck = matches!(next.step.payout.state, State::Stuck { .. });
                if is_stuck && !matches!(event, Event::Decided(_)) {
                    next.step.payout.proposal.clone_from(&payout.proposal);
                }
            })
        }),
    ),
    mistake(
        "one-person-twice",
        "Where two must agree, one may agree with themselves.",
        Plant::Payout(|payout, event, context| match (event, &payout.proposal) {
            (Event::Decided(decision), Some(proposal))
                if proposal.decision == decision.decision =>
            {
                let decision = ManualDecision { needs_two: false, ..decision.clone() };
                advance(payout, &Event::Decided(decision), context)
            }
            (event, _) => advance(payout, event, context),
        }),
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "the form of every answer")]
const fn done(next: Advance) -> Advanced {
    Ok(Some(next))
}

/// To another state, with everything that belongs to it.
fn moved(payout: &Payout, state: State, bookings: &[Booking]) -> Advance {
    let is_notified = payout.state.status() != state.status();
    let next = Payout { state, proposal: None, ..payout.clone() };
    let step = Step { payout: next, bookings: bookings.to_vec(), effect: None };
    Advance { step, is_notified, is_new_version: true }
}

fn failed(payout: &Payout) -> Advance {
    moved(payout, State::Failed { reason: String::new() }, &[Booking::Release])
}

fn ready(payout: &Payout) -> Advance {
    moved(payout, State::Ready { not_before: Timestamp::UNIX_EPOCH }, &[])
}

fn changed(next: Advanced, change: impl FnOnce(&mut Advance)) -> Advanced {
    next.map(|next| {
        next.map(|mut next| {
            change(&mut next);
            next
        })
    })
}

fn is_timeout(payout: &Payout, event: &Event) -> bool {
    matches!(payout.state, State::Submitting { .. })
        && matches!(event, Event::Due | Event::Submitted { outcome: Outcome::Unknown { .. }, .. })
}

fn reports(event: &Event, verdict: Verdict) -> bool {
    matches!(event, Event::EvidenceReceived { evidence, .. } if evidence.verdict == verdict)
}

fn last_write_wins(payout: &Payout, event: &Event, context: &Context<'_>) -> Advanced {
    let mut payout = payout.clone();
    if let Event::EvidenceReceived { attempt, .. } = event {
        for known in payout.attempts.iter_mut().filter(|known| known.number == *attempt) {
            *known = without(known, |_| true);
        }
    }
    advance(&payout, event, context)
}

fn without_amount(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::Submitted { outcome: Outcome::Paid { reported, .. }, .. }
        | Event::Queried { answer: Answer::Paid { reported, .. }, .. } => *reported = None,
        Event::EvidenceReceived { evidence, .. } => evidence.reported = None,
        Event::Submitted { .. }
        | Event::Queried { .. }
        | Event::Due
        | Event::CancelAsked
        | Event::CutOff
        | Event::Rescheduled(_)
        | Event::RecheckAsked
        | Event::Decided(_) => {}
    }
    event
}

fn as_theirs(event: &Event) -> Event {
    let mut event = event.clone();
    if let Event::Submitted { outcome: Outcome::NotSent { is_ours, .. }, .. } = &mut event {
        *is_ours = false;
    }
    event
}
