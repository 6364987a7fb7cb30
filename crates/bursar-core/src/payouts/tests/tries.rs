//! Several tries of one attempt: what the outcome of one proves about the others.

use super::*;

/// A try with an unknown outcome may still arrive: the refusal of another try does not allow a new reference.
#[test]
fn the_refusal_of_one_try_proves_nothing_about_another() {
    let channel = Channel { submit_is_idempotent: true, ..channel() };
    let start = payout(State::Submitting { lease_until: at(100) }, 1);
    let (resent, _) = after(start, &channel, &[Event::Due]);
    assert_eq!(resent.state.status(), "READY", "the same reference may be sent again");
    let again = step(&resent, &Event::Due, &context(&channel, at(200))).unwrap().payout;
    let outcome = Outcome::Rejected { is_retryable: true, detail: "busy".to_owned() };
    let refused = Event::Submitted { attempt: 1, r#try: 2, outcome };
    let (unsure, booked) = after(again.clone(), &channel, &[refused]);
    assert_eq!((unsure.attempts.len(), booked), (1, vec![]));
    assert_eq!(unsure.state.status(), "READY");
    let duplicate = Event::Submitted { attempt: 1, r#try: 2, outcome: Outcome::Duplicate };
    assert_eq!(after(again, &channel, &[duplicate]).0.state.status(), "PROCESSING");
}

/// “Accepted” names no try: a repeated try must not count as out after its call has ended.
#[test]
fn an_accepted_second_try_that_fails_ends_the_payout() {
    let channel = Channel { submit_is_idempotent: true, ..channel() };
    let again = payout(State::Submitting { lease_until: at(100) }, 2);
    let received = |verdict| Event::EvidenceReceived {
        attempt: 1,
        evidence: Evidence::new(Source::Callback, verdict),
    };
    let failed = received(Verdict::NotPaid { is_retryable: false });
    let accepted = Event::Submitted { attempt: 1, r#try: 2, outcome: Outcome::Duplicate };
    let (ended, booked) = after(again.clone(), &channel, &[accepted, failed.clone()]);
    assert_eq!((ended.state.status(), booked), ("FAILED", vec![Booking::Release]));

    let (out, booked) = after(again, &channel, &[received(Verdict::Accepted), failed.clone()]);
    assert_eq!((out.state.status(), booked), ("PROCESSING", vec![]));
    let late = step(&out, &failed, &context(&channel, at(10_000))).unwrap();
    assert_eq!((late.payout.state.status(), late.bookings), ("STUCK", vec![]));
}
