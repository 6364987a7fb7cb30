//! Mistakes in what is made of the evidence about an attempt.

use bursar_core::payouts::attempt::{Attempt, Evidence, Verdict};
use jiff::Timestamp;

use super::{Mistake, Plant, mistake};

pub(super) const MISTAKES: [Mistake; 3] = [
    mistake(
        "evidence-last-word-wins",
        "Only the last thing that was said about an attempt is kept.",
        Plant::Evidence(last_word),
    ),
    mistake(
        "evidence-counts-again",
        "The same word about an attempt counts each time that it is said.",
        Plant::Evidence(again),
    ),
    mistake(
        "evidence-is-withdrawn",
        "A word that it was not paid takes back the word that it was.",
        Plant::Evidence(withdrawn),
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
