//! Mistakes in the small machines, and around the large one.

use bursar_core::attempt::{Attempt, Evidence, Verdict};
use bursar_core::payin::{self, Said};
use bursar_core::reservation::{self, Booking, Event};
use jiff::Timestamp;

use super::{Mutation, Plant, mutation};
use crate::verify::payout::People;

pub(super) const MUTATIONS: [Mutation; 13] = [
    mutation(
        "save-after-send",
        "A submission is saved after it was sent.",
        Plant::World(|profile| profile.sends_before_saving = true),
    ),
    mutation(
        "lease-ignored",
        "A process that wakes up late sends what is no longer its own.",
        Plant::World(|profile| profile.sends_after_lease = true),
    ),
    Mutation {
        name: "channel-flips",
        sentence: "A channel that promised that what failed stays failed pays it all the same.",
        plant: Plant::World(|profile| profile.flips = true),
        residual: Some(
            "No machine can prevent this: the money was given back on the channel's own word. When the channel says so, \
             the payout becomes LATE_SUCCESS, the merchant owes the money and a case is open. Declare failed_is_final = \
             false for such a channel, and nothing is attempted twice without a person.",
        ),
    },
    Mutation {
        name: "person-errs",
        sentence: "One person alone decides what is not so.",
        plant: Plant::World(|profile| profile.people = People::Wrong),
        residual: Some(
            "No machine can prevent this: somebody who may decide was wrong. It is seen as soon as the channel says \
             otherwise, and a case is open. Above the limit of [review] two people must agree.",
        ),
    },
    mutation(
        "evidence-last-word-wins",
        "Only the last thing that was said about an attempt is kept.",
        Plant::Attempt(last_word),
    ),
    mutation(
        "evidence-counts-again",
        "The same word about an attempt counts each time that it is said.",
        Plant::Attempt(again),
    ),
    mutation(
        "evidence-is-withdrawn",
        "A word that it was not paid takes back the word that it was.",
        Plant::Attempt(withdrawn),
    ),
    mutation(
        "payin-booked-twice",
        "A pay-in that was denied and is confirmed again is credited again.",
        Plant::PayIn(|state, said| match (state, said) {
            (payin::State::Contradicted, Said::Completed) => {
                payin::Step::Moves { state: payin::State::Collected, is_booked: true }
            }
            (state, said) => payin::step(state, said),
        }),
    ),
    mutation(
        "payin-failed-is-final",
        "A pay-in that failed stays failed, although it was paid after all.",
        Plant::PayIn(|state, said| match (state, said) {
            (payin::State::Failed, Said::Completed) => payin::Step::Stays,
            (state, said) => payin::step(state, said),
        }),
    ),
    mutation(
        "payin-denied-in-vain",
        "A pay-in that is denied after it was booked looks as if nothing had been said.",
        Plant::PayIn(|state, said| match (state, said) {
            (payin::State::Collected, Said::Failed) => payin::Step::Stays,
            (state, said) => payin::step(state, said),
        }),
    ),
    mutation(
        "reservation-expires-early",
        "A reservation that is woken before its time gives the money back.",
        Plant::Reservation(|id, known, event, now| {
            let now = if event == Event::Due { Timestamp::MAX } else { now };
            reservation::step(id, known, event, now)
        }),
    ),
    mutation(
        "reservation-expires-when-settled",
        "A reservation expires although it was settled.",
        Plant::Reservation(|id, known, event, now| match (known.state, event) {
            (reservation::State::Settled, Event::Due) => {
                let (state, booking) = (reservation::State::Expired, Booking::Release);
                Ok(reservation::Step::Moves { state, booking })
            }
            (_, event) => reservation::step(id, known, event, now),
        }),
    ),
    mutation(
        "reservation-settled-twice",
        "A reservation is settled once more for everybody who asks.",
        Plant::Reservation(|id, known, event, now| match (known.state, event) {
            (reservation::State::Settled, Event::SettlementAsked) => {
                let (state, booking) = (reservation::State::Settled, Booking::Settle);
                Ok(reservation::Step::Moves { state, booking })
            }
            (_, event) => reservation::step(id, known, event, now),
        }),
    ),
];

fn last_word(attempt: &mut Attempt, evidence: Evidence, at: Timestamp) -> bool {
    let is_news = attempt.clone().merge(evidence.clone(), at);
    if is_news {
        *attempt = without(attempt, |_| true);
        attempt.merge(evidence, at);
    }
    is_news
}

fn again(attempt: &mut Attempt, evidence: Evidence, at: Timestamp) -> bool {
    attempt.merge(evidence, at);
    true
}

fn withdrawn(attempt: &mut Attempt, evidence: Evidence, at: Timestamp) -> bool {
    if let Verdict::NotPaid { .. } = evidence.verdict {
        *attempt = without(attempt, |verdict| verdict == Verdict::Paid);
    }
    attempt.merge(evidence, at)
}

/// The same attempt, as if this had never been said.
pub(super) fn without(attempt: &Attempt, is_unsaid: impl Fn(Verdict) -> bool) -> Attempt {
    let mut fresh = Attempt::new(attempt.number, attempt.reference.clone());
    (fresh.tries, fresh.sent_by, fresh.ended) = (attempt.tries, attempt.sent_by, attempt.ended);
    for (evidence, at) in attempt.evidence().filter(|(said, _)| !is_unsaid(said.verdict)) {
        fresh.merge(evidence.clone(), *at);
    }
    fresh
}
