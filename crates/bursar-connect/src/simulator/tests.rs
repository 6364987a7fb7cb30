//! The guarantees of the provider, under every profile.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Action, Options, Order, Profile, Provider, Reply, State};
use crate::callback;
use bursar_core::payouts::attempt::Verdict;

const LATER: Duration = Duration::from_mins(10);

fn provider(profile: Profile, seed: u64) -> Provider {
    Provider::new(Options { seed, profile, is_idempotent: false }, true)
}

fn order(reference: &str) -> Order {
    let (amount, currency) = ("12.50".to_owned(), "PKR".to_owned());
    Order { reference: reference.to_owned(), amount, currency }
}

fn references() -> Vec<String> {
    (0..2_000).map(|number| format!("ref-{number}")).collect()
}

fn status_of(reply: &Reply) -> (u16, String) {
    match &reply.action {
        Action::Answer { status, body } => (*status, String::from_utf8_lossy(body).into_owned()),
        Action::HangUp | Action::Hold => (0, String::new()),
    }
}

#[test]
fn the_same_seed_behaves_the_same_way_again() {
    let run = |seed, backwards: bool| {
        let mut provider = provider(Profile::Hostile, seed);
        let mut references = references();
        if backwards {
            references.reverse();
        }
        let replies: BTreeMap<String, Reply> = references
            .into_iter()
            .map(|reference| {
                let reply = provider.submit(Duration::ZERO, &order(&reference));
                (reference, reply)
            })
            .collect();
        provider.advance(LATER);
        (replies, provider.books())
    };
    assert_eq!(run(7, false), run(7, true), "whatever the order of arrival");
    assert_ne!(run(7, false), run(8, false));
}

#[test]
fn a_hostile_provider_shows_every_failure() {
    let mut provider = provider(Profile::Hostile, 1);
    let mut seen: BTreeMap<(u16, bool, Option<State>), u32> = BTreeMap::new();
    for reference in references() {
        let reply = provider.submit(Duration::ZERO, &order(&reference));
        let state = provider.entry(&reference).map(|entry| entry.state);
        let key = (status_of(&reply).0, reply.action == Action::HangUp, state);
        *seen.entry(key).or_default() += 1;
    }
    for expected in [
        (200, false, Some(State::Paid)),
        (202, false, Some(State::Pending)),
        (400, false, Some(State::NotPaid)),
        (409, false, Some(State::Paid)),
        (500, false, Some(State::Paid)),
        (500, false, Some(State::NotPaid)),
        (503, false, None),
        // Garbage about a refusal.
        (200, false, Some(State::NotPaid)),
        (0, true, Some(State::Paid)),
        (0, true, None),
        (0, false, Some(State::Paid)),
        (0, false, None),
    ] {
        assert!(seen.contains_key(&expected), "{expected:?} is missing in {seen:?}");
    }
}

#[test]
fn answers_are_true() {
    let mut provider = provider(Profile::Hostile, 2);
    for reference in references() {
        let (status, body) = status_of(&provider.submit(Duration::ZERO, &order(&reference)));
        let state = provider.entry(&reference).map(|entry| entry.state);
        if body.contains(r#""status":"completed","client"#) {
            assert_eq!(state, Some(State::Paid), "{reference} {body}");
        }
        if status == 400 {
            assert_eq!(state, Some(State::NotPaid), "{reference} {body}");
        }
    }
    let before = provider.books();
    provider.advance(LATER);
    for was in before.payments {
        let is = provider.entry(&was.reference).unwrap();
        assert_ne!(is.state, State::Pending, "everything is finished in the end");
        assert!(was.state == State::Pending || was.state == is.state, "nothing flips: {was:?}");
    }
}

#[test]
fn a_reference_shows_up_within_five_seconds() {
    let mut provider = provider(Profile::Hostile, 3);
    let mut were_hidden = 0;
    for reference in references() {
        provider.submit(Duration::ZERO, &order(&reference));
        let is_processed = provider.entry(&reference).is_some();
        were_hidden += u32::from(
            is_processed && status_of(&provider.query(Duration::ZERO, &reference)).0 == 404,
        );
        for _ in 0..5 {
            let (status, _) = status_of(&provider.query(Duration::from_secs(5), &reference));
            assert_ne!((is_processed, status), (true, 404), "{reference}");
        }
    }
    assert!(were_hidden > 100, "only {were_hidden} were not found at first");
}

#[test]
fn a_calm_provider_finishes_and_answers_correctly() {
    for profile in [Profile::Hostile, Profile::Flaky] {
        let mut provider = provider(profile, 4);
        for reference in references() {
            provider.submit(Duration::ZERO, &order(&reference));
        }
        provider.set_profile(Duration::from_millis(1), Profile::Calm);
        // At once: every query is answered. Five seconds later: nothing is pending.
        for (now, may_be_pending) in [(1, true), (5_001, false)] {
            for reference in references() {
                let (status, body) =
                    status_of(&provider.query(Duration::from_millis(now), &reference));
                let Some(entry) = provider.entry(&reference) else {
                    assert_eq!(status, 404, "{reference} {body}");
                    assert!(body.contains("TransactionNotFound"));
                    continue;
                };
                let word = match entry.state {
                    State::Paid => "completed",
                    State::NotPaid => "failed",
                    State::Pending => "pending",
                };
                assert_eq!(status, 200, "{reference} {body}");
                assert!(body.contains(&format!(r#""status":"{word}""#)), "{body}");
                assert!(may_be_pending || entry.state != State::Pending, "{entry:?}");
            }
        }
    }
}

#[test]
fn a_calm_provider_pays_at_once_and_says_so() {
    let mut provider = provider(Profile::Calm, 5);
    for reference in references() {
        let reply = provider.submit(Duration::ZERO, &order(&reference));
        assert_eq!((status_of(&reply).0, reply.after), (200, Duration::ZERO));
    }
    let books = provider.books();
    assert_eq!(books.payments.len(), references().len());
    assert!(books.payments.iter().all(|entry| entry.state == State::Paid && entry.times_paid == 1));
}

#[test]
fn a_silent_provider_takes_nothing_and_moves_nothing() {
    let mut provider = provider(Profile::Hostile, 6);
    for reference in references() {
        provider.submit(Duration::ZERO, &order(&reference));
    }
    provider.set_profile(Duration::ZERO, Profile::Silent);
    drop(provider.take_callbacks());
    let before = provider.books();
    assert_eq!(provider.submit(LATER, &order("new")).action, Action::Hold);
    assert_eq!(provider.query(LATER, "ref-1").action, Action::Hold);
    provider.advance(LATER);
    assert_eq!(provider.books(), before);
    assert_eq!((provider.next_at(), provider.take_callbacks().len()), (None, 0));

    provider.set_profile(LATER, Profile::Calm);
    provider.advance(LATER + Duration::from_secs(5));
    let books = provider.books();
    assert!(books.payments.iter().all(|entry| entry.state != State::Pending));
}

#[test]
fn a_second_submission_pays_again_unless_it_is_idempotent() {
    for (is_idempotent, times_paid) in [(false, 2), (true, 1)] {
        let options = Options { seed: 7, profile: Profile::Calm, is_idempotent };
        let mut provider = Provider::new(options, false);
        let first = provider.submit(Duration::ZERO, &order("r"));
        assert_eq!(provider.submit(Duration::ZERO, &order("r")), first, "answered as before");
        let entry = provider.entry("r").unwrap();
        assert_eq!((entry.submissions, entry.times_paid), (2, times_paid));
    }
}

#[test]
fn an_idempotent_provider_never_pays_twice() {
    let options = Options { seed: 8, profile: Profile::Hostile, is_idempotent: true };
    let mut provider = Provider::new(options, false);
    for reference in references() {
        for _ in 0..4 {
            provider.submit(Duration::ZERO, &order(&reference));
        }
    }
    provider.advance(LATER);
    assert!(provider.books().payments.iter().all(|entry| entry.times_paid <= 1));
}

/// Callbacks are late, doubled, missing or in the wrong order, but they can be read and they are true.
#[test]
fn callbacks_are_true_whatever_their_order() {
    let mut provider = provider(Profile::Hostile, 9);
    for reference in references() {
        provider.submit(Duration::ZERO, &order(&reference));
    }
    let mut verdicts_of: BTreeMap<String, Vec<Verdict>> = BTreeMap::new();
    while let Some(at) = provider.next_at() {
        provider.advance(at);
        for callback in provider.take_callbacks() {
            let callback = callback::parse(&callback.body).unwrap();
            verdicts_of.entry(callback.reference).or_default().push(callback.evidence.verdict);
        }
    }
    let books = provider.books();
    for (reference, verdicts) in &verdicts_of {
        let state = provider.entry(reference).unwrap().state;
        for verdict in verdicts {
            let is_true = match verdict {
                Verdict::Accepted => true,
                Verdict::Paid => state == State::Paid,
                Verdict::NotPaid { .. } => state == State::NotPaid,
                Verdict::NotSent { .. }
                | Verdict::Unknown { .. }
                | Verdict::Refused { .. }
                | Verdict::Returned
                | Verdict::AmountDiffers
                | Verdict::AmountMissing => false,
            };
            assert!(is_true, "{reference}: {verdict:?}, but it is {state:?}");
        }
    }
    let is_odd =
        |verdicts: &[Verdict]| verdicts.len() > 1 && verdicts.last() == Some(&Verdict::Accepted);
    assert!(verdicts_of.values().any(|verdicts| is_odd(verdicts)), "some come in the wrong order");
    assert!(verdicts_of.values().any(|verdicts| verdicts == &[Verdict::Paid, Verdict::Paid]));
    assert!(verdicts_of.len() < books.payments.len(), "some never come");
}
