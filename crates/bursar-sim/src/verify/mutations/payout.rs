//! Mistakes in the machine of payouts: a wrapper that errs where the mistake is, and is the real one elsewhere.

use bursar_core::attempt::{Attempt, Verdict};
use bursar_core::payout::{
    Advance, Answer, Booking, Context, Decision, Event, Outcome, Payout, State, Step, advance,
};
use bursar_core::rejection::Rejection;
use jiff::Timestamp;

use super::small::without;
use super::{Mutation, Plant, mutation};

type Advanced = Result<Option<Advance>, Rejection>;

pub(super) const MUTATIONS: [Mutation; 28] = [
    mutation(
        "release-on-timeout",
        "A timeout is taken for a failure: the money is given back.",
        Plant::Payout(|payout, event, context| {
            let mistaken = is_timeout(payout, event).then(|| failed(payout));
            mistaken.map_or_else(|| advance(payout, event, context), done)
        }),
    ),
    mutation(
        "resend-on-timeout",
        "After a timeout the same is sent again, whatever the channel promises.",
        Plant::Payout(|payout, event, context| {
            let mistaken = is_timeout(payout, event).then(|| ready(payout));
            mistaken.map_or_else(|| advance(payout, event, context), done)
        }),
    ),
    mutation(
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
    mutation(
        "poll-error-is-success",
        "A question that is not answered is taken for a payment.",
        Plant::Payout(|payout, event, context| {
            let is_error = matches!(event, Event::Queried { answer: Answer::Failed { .. }, .. });
            if is_error && !payout.state.is_final() {
                return done(moved(payout, State::Success, &[Booking::Settle]));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
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
    mutation(
        "cancel-without-looking",
        "Whatever is not over is cancelled when somebody asks.",
        Plant::Payout(|payout, event, context| {
            if *event == Event::CancelAsked && !payout.state.is_final() {
                return done(moved(payout, State::Cancelled, &[Booking::Release]));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "last-write-wins",
        "A callback replaces what was known instead of being added to it.",
        Plant::Payout(last_write_wins),
    ),
    mutation(
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
    mutation(
        "settle-twice",
        "Every callback that says paid books it again.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Success && tells(event, Verdict::Paid) {
                return done(moved(payout, State::Success, &[Booking::Settle]));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "release-twice",
        "Every callback that says failed gives the money back again.",
        Plant::Payout(|payout, event, context| {
            let is_failed = matches!(payout.state, State::Failed { .. });
            if is_failed && tells(event, Verdict::NotPaid { is_retryable: false }) {
                return done(failed(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "denial-is-a-return",
        "What was settled and is then said to have failed is given to the merchant as if it had come back.",
        Plant::Payout(|payout, event, context| {
            let is_denied = tells(event, Verdict::NotPaid { is_retryable: false });
            if payout.state == State::Success && is_denied {
                return done(moved(payout, State::Returned, &[Booking::Return]));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "return-twice",
        "Every callback about a return gives the merchant what came back once more.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Returned && tells(event, Verdict::Returned) {
                return done(moved(payout, State::Returned, &[Booking::Return]));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "failure-keeps-the-hold",
        "A payout fails and nobody gives the money back.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.step.bookings.retain(|booking| *booking != Booking::Release);
            })
        }),
    ),
    mutation(
        "late-success-without-taking-back",
        "What is paid after it was given back is booked as if it had never been given back.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.step.bookings.retain(|booking| *booking != Booking::TakeBackRelease);
            })
        }),
    ),
    mutation(
        "late-success-is-silent",
        "What is paid after it was given back is not looked at any more.",
        Plant::Payout(|payout, event, context| {
            let is_over = matches!(payout.state, State::Failed { .. } | State::Cancelled);
            changed(advance(payout, event, context), |next| {
                if is_over {
                    next.step.payout.state = payout.state.clone();
                    next.step.payout.case = None;
                    next.step.bookings.clear();
                    next.is_told = false;
                }
            })
        }),
    ),
    mutation(
        "return-overlooked",
        "What came back before anybody said that it was paid is booked as paid, and no more.",
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
    mutation(
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
    mutation(
        "people-are-not-heard",
        "What people decide about a payout that is stuck is put aside.",
        Plant::Payout(|payout, event, context| match event {
            Event::Decided(_) => Ok(None),
            Event::Due
            | Event::Submitted { .. }
            | Event::Queried { .. }
            | Event::Told { .. }
            | Event::CancelAsked => advance(payout, event, context),
        }),
    ),
    mutation(
        "end-is-left",
        "A callback that comes late makes what is over live again.",
        Plant::Payout(|payout, event, context| {
            if payout.state == State::Success && tells(event, Verdict::Accepted) {
                return done(ready(payout));
            }
            advance(payout, event, context)
        }),
    ),
    mutation(
        "tell-nobody",
        "A failure is booked and not told.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.is_told &= !matches!(next.step.payout.state, State::Failed { .. });
            })
        }),
    ),
    mutation(
        "tell-again",
        "The merchant is told about every question to the channel.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| next.is_told = true)
        }),
    ),
    mutation(
        "freeze-ignored",
        "What is frozen is sent.",
        Plant::Payout(|payout, event, context| {
            advance(payout, event, &Context { is_frozen: false, ..*context })
        }),
    ),
    mutation(
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
    mutation(
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
    mutation(
        "stale-decision",
        "A decision counts, whichever version was looked at.",
        Plant::Version(|_, _| Ok(())),
    ),
    mutation(
        "news-without-version",
        "What a callback says does not make a new version.",
        Plant::Payout(|payout, event, context| {
            changed(advance(payout, event, context), |next| {
                next.is_new_version &= !matches!(event, Event::Told { .. });
            })
        }),
    ),
    mutation(
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
    mutation(
        "one-person-twice",
        "Where two must agree, one may agree with themselves.",
        Plant::Payout(|payout, event, context| match (event, &payout.proposal) {
            (Event::Decided(decision), Some(proposal)) if proposal.ruling == decision.ruling => {
                let decision = Decision { needs_two: false, ..decision.clone() };
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
    let is_told = payout.state.status() != state.status();
    let next = Payout { state, proposal: None, ..payout.clone() };
    let step = Step { payout: next, bookings: bookings.to_vec(), effect: None };
    Advance { step, is_told, is_new_version: true }
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

fn tells(event: &Event, verdict: Verdict) -> bool {
    matches!(event, Event::Told { evidence, .. } if evidence.verdict == verdict)
}

fn last_write_wins(payout: &Payout, event: &Event, context: &Context<'_>) -> Advanced {
    let mut payout = payout.clone();
    if let Event::Told { attempt, .. } = event {
        for known in payout.attempts.iter_mut().filter(|known| known.number == *attempt) {
            *known = without(known, |_| true);
        }
    }
    advance(&payout, event, context)
}
