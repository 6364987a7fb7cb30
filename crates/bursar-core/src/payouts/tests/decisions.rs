//! What people decide, and how long it stands.

use super::*;

/// An operator decides on the evidence. Repeated evidence changes nothing; new evidence does.
#[test]
fn a_decision_stands_until_new_evidence_arrives() {
    let channel = channel();
    let conflict = states().into_iter().find(|payout| name(&payout.state) == "STUCK Conflict");
    let decision = Decision::ConfirmNotPaid;
    let (actor, evidence) = ("ops".to_owned(), "looked".to_owned());
    let decided = Event::Decided(ManualDecision {
        decision,
        actor,
        evidence,
        needs_two: false,
        is_approver: true,
        made_by: vec![],
    });
    let failed = Answer::Failed { detail: "timeout".to_owned() };
    let noise = [
        decided,
        Event::Queried { attempt: 1, lease_until: at(100), answer: failed },
        Event::EvidenceReceived {
            attempt: 1,
            evidence: Evidence::new(Source::Submission, Verdict::Paid),
        },
        Event::EvidenceReceived {
            attempt: 1,
            evidence: Evidence::new(Source::Submission, Verdict::Accepted),
        },
    ];
    let (payout, booked) = after(conflict.unwrap(), &channel, &noise);
    assert_eq!((payout.state.status(), booked), ("FAILED", vec![Booking::Release]));
    let (payout, booked) = after(payout, &channel, &[received(1, Verdict::Paid)]);
    assert_eq!(payout.state, State::LateSuccess);
    assert_eq!(booked, [Booking::TakeBackRelease, Booking::Settle]);
}

#[test]
fn two_operators_must_make_the_same_decision() {
    let channel = channel();
    let stuck = states().into_iter().find(|payout| name(&payout.state) == "STUCK Ambiguous");
    let decided = |actor: &str, decision| {
        let (actor, evidence) = (actor.to_owned(), "looked".to_owned());
        Event::Decided(ManualDecision {
            decision,
            actor,
            evidence,
            needs_two: true,
            is_approver: true,
            made_by: vec![],
        })
    };
    let first = [decided("a", Decision::ConfirmNotPaid)];
    let (proposed, booked) = after(stuck.unwrap(), &channel, &first);
    assert_eq!((proposed.state.status(), booked), ("STUCK", vec![]));
    let again = step(&proposed, &first[0], &context(&channel, at(100)));
    assert_eq!(again.unwrap_err().code(), "second_person_needed");
    let (other, booked) = after(proposed.clone(), &channel, &[decided("b", Decision::ConfirmPaid)]);
    assert_eq!((other.state.status(), booked), ("STUCK", vec![]), "they do not agree");
    let (done, booked) = after(proposed, &channel, &[decided("b", Decision::ConfirmNotPaid)]);
    assert_eq!((done.state.status(), booked), ("FAILED", vec![Booking::Release]));
}
