//! After a restore: what the channel was not asked about is neither sent nor released.

use std::collections::BTreeMap;

use super::*;

/// A provider's books: what it says about each reference.
type Provider = BTreeMap<String, Answer>;

fn restored(channel: &Channel, second: i64) -> Context<'_> {
    Context { restored: Some(Restored { at: at(0), report: None }), ..context(channel, at(second)) }
}

fn paid() -> Answer {
    Answer::Paid { provider_reference: None, reported: None }
}

/// Takes all due steps until this second, and answers every question from the provider's books. Returns the payout, its
/// bookings, and the references that were asked for and sent.
fn run(
    mut payout: Payout,
    channel: &Channel,
    provider: &Provider,
    until: i64,
) -> (Payout, Vec<Booking>, Vec<String>, Vec<String>) {
    let (mut booked, mut asked, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let mut second = 0;
    while let Some(due) = payout.due_at().filter(|due| *due <= at(until)) {
        second = second.max(due.duration_since(at(0)).as_secs());
        let step = step(&payout, &Event::Due, &restored(channel, second)).unwrap();
        booked.extend(step.bookings);
        payout = step.payout;
        match step.effect {
            Some(Effect::Query { attempt, lease_until }) => {
                let reference = payout.reference_of(attempt);
                let answer = provider.get(&reference).cloned().unwrap_or(Answer::NotFound);
                asked.push(reference);
                let event = Event::Queried { attempt, lease_until, answer };
                let step = super::step(&payout, &event, &restored(channel, second)).unwrap();
                booked.extend(step.bookings);
                payout = step.payout;
            }
            Some(Effect::Submit { attempt, .. }) => {
                sent.push(payout.reference_of(attempt));
                break;
            }
            None => second += 1,
        }
    }
    (payout, booked, asked, sent)
}

fn ready() -> Payout {
    payout(State::Ready { not_before: at(0) }, 0)
}

#[test]
fn a_payment_that_the_books_have_forgotten_is_found_and_not_sent_again() {
    let provider = Provider::from([("ref-1".to_owned(), paid())]);
    let (payout, booked, asked, sent) = run(ready(), &channel(), &provider, 1_000);
    assert_eq!(payout.state, State::Success);
    assert_eq!((booked, sent), (vec![Booking::Settle], vec![]));
    assert_eq!(asked, [1, 2, 3].map(|number| payout.reference_of(number)));
}

/// A channel does not always record what it refused: the attempt after it is asked about all the same.
#[test]
fn a_third_attempt_is_found_although_the_channel_knows_no_second_one() {
    let provider = Provider::from([(ready().reference_of(3), paid())]);
    let (payout, booked, _, sent) = run(ready(), &channel(), &provider, 1_000);
    assert_eq!((payout.state.status(), payout.settled), ("SUCCESS", Some(3)));
    assert_eq!((booked, sent), (vec![Booking::Settle], vec![]));
}

#[test]
fn a_second_attempt_that_the_books_do_not_know_is_found() {
    let second = ready().reference_of(2);
    let busy = Answer::NotPaid { is_retryable: true, detail: "busy".to_owned() };
    let provider = Provider::from([("ref-1".to_owned(), busy), (second, paid())]);
    let (payout, booked, asked, sent) = run(ready(), &channel(), &provider, 1_000);
    assert_eq!((payout.state.status(), payout.settled), ("SUCCESS", Some(2)));
    assert_eq!((booked, sent), (vec![Booking::Settle], vec![]));
    assert_eq!(asked.len(), 3, "the attempt after it is asked about as well");
}

#[test]
fn what_the_channel_cannot_prove_waits_until_the_restore_is_ended() {
    let channel = channel();
    let (payout, booked, _, sent) = run(ready(), &channel, &Provider::new(), 100_000);
    assert_eq!((payout.state.status(), payout.reason()), ("READY", Some("restored")));
    assert_eq!((booked, sent), (vec![], vec![]));
    let context = restored(&channel, 100_000);
    let refused = step(&payout, &Event::CancelAsked, &context).unwrap_err();
    assert_eq!(refused.code(), "rechecking");
    // The channel is ended: the payout goes on where it was.
    let due = payout.due_at().unwrap();
    let ended = super::context(&channel, due);
    let released = step(&payout, &Event::Due, &ended).unwrap();
    assert_eq!((released.effect, &released.payout.recheck), (None, &None), "into its queue");
    let sent = step(&released.payout, &Event::Due, &ended).unwrap();
    assert!(matches!(sent.effect, Some(Effect::Submit { attempt: 1, .. })));
}

#[test]
fn absence_counts_from_the_restore_and_not_from_what_the_books_know() {
    let channel = Channel { not_found_is_final: true, ..channel() };
    let (_, _, _, early) = run(ready(), &channel, &Provider::new(), 100);
    assert!(
        early.is_empty(),
        "the channel does not show yet what was sent just before the restore"
    );
    let (payout, booked, _, sent) = run(ready(), &channel, &Provider::new(), 1_000);
    assert_eq!((payout.state.status(), booked, sent.len()), ("SUBMITTING", vec![], 1));
    // A cancel is possible once absence is proven.
    let waiting = Payout { state: State::Scheduled { until: at(5_000) }, ..payout };
    let context = restored(&channel, 1_000);
    let waiting = Payout { attempts: ready().attempts, ..waiting };
    let cancelled = step(&waiting, &Event::CancelAsked, &context).unwrap();
    assert_eq!(cancelled.bookings, [Booking::Release]);
}

#[test]
fn a_channel_that_pays_a_reference_once_is_sent_it_again_but_nothing_is_released() {
    let channel = Channel { submit_is_idempotent: true, ..channel() };
    // A second attempt, sent just before the restore, is shown after the window.
    let (_, _, _, early) = run(ready(), &channel, &Provider::new(), 100);
    assert!(early.is_empty());
    let (payout, _, asked, sent) = run(ready(), &channel, &Provider::new(), 1_000);
    assert_eq!((asked.len(), sent), (6, vec!["ref-1".to_owned()]));
    let outcome = Outcome::Rejected { is_retryable: false, detail: "closed".to_owned() };
    let refused = Event::Submitted { attempt: 1, r#try: 1, outcome };
    let step = step(&payout, &refused, &restored(&channel, 1_000)).unwrap();
    assert_eq!((step.payout.state.status(), step.bookings), ("SUBMITTING", vec![]));
    assert!(step.payout.due_at() > Some(at(1_000)), "it asks again, later");
    let ended = context(&channel, step.payout.due_at().unwrap());
    let step = super::step(&step.payout, &Event::Due, &ended).unwrap();
    assert_eq!((step.payout.state.status(), step.bookings), ("FAILED", vec![Booking::Release]));
}

#[test]
fn no_decision_that_frees_money_is_made_before_the_channel_has_answered() {
    let channel = channel();
    let stuck = states().into_iter().find(|payout| name(&payout.state) == "STUCK Ambiguous");
    let stuck = stuck.unwrap();
    let decided = |decision| {
        let (actor, evidence) = ("ops".to_owned(), "looked".to_owned());
        let (needs_two, is_approver) = (false, true);
        let made_by = vec![];
        Event::Decided(ManualDecision {
            decision,
            actor,
            is_approver,
            made_by,
            evidence,
            needs_two,
        })
    };
    for decision in [Decision::ConfirmNotPaid, Decision::NewAttempt] {
        let refused = step(&stuck, &decided(decision), &restored(&channel, 100)).unwrap_err();
        assert_eq!(refused.code(), "rechecking");
    }
    let hurried = step(&stuck, &Event::RecheckAsked, &restored(&channel, 100)).unwrap().payout;
    assert_eq!(hurried.due_at(), Some(at(100)), "the channel is asked now, not in an hour");
    let provider = Provider::from([(stuck.reference_of(2), paid())]);
    let (payout, booked, _, _) = run(hurried, &channel, &provider, 1_000);
    assert_eq!(name(&payout.state), "STUCK Conflict", "attempt 1 may be paid as well");
    assert_eq!((payout.attempts.len(), booked), (2, vec![]));
    let confirmed = step(&stuck, &decided(Decision::ConfirmPaid), &restored(&channel, 100));
    assert_eq!(confirmed.unwrap().bookings, [Booking::Settle]);
}

#[test]
fn a_refusal_that_arrives_meanwhile_releases_nothing() {
    let channel = channel();
    for payout in states().into_iter().filter(|payout| !payout.state.is_final()) {
        let refused = received(1, Verdict::NotPaid { is_retryable: false });
        let step = step(&payout, &refused, &restored(&channel, 100)).unwrap();
        assert_eq!(step.bookings, [], "{:?}", payout.state);
    }
}

#[test]
fn a_report_is_evidence_for_what_it_lists_and_proof_of_absence_for_the_rest() {
    let channel = channel();
    let decide = |rows: &BTreeMap<String, Evidence>, payout: &Payout| {
        let report = Some(Restored { at: at(0), report: Some(rows) });
        step(payout, &Event::Due, &Context { restored: report, ..context(&channel, at(100)) })
    };
    let absent = decide(&BTreeMap::new(), &ready()).unwrap();
    assert_eq!(absent.payout.recheck.map(|it| it.stage), Some(Stage::Proven));
    let row = ReportedPayment {
        status: ReportedStatus::Paid,
        amount: Some("1500.00".to_owned()),
        currency: Some("PKR".to_owned()),
    };
    let rows = BTreeMap::from([("ref-1".to_owned(), row.evidence())]);
    assert_eq!(decide(&rows, &ready()).unwrap().bookings, [Booking::Settle]);
    let other = ReportedPayment { amount: Some("1.00".to_owned()), ..row.clone() };
    let rows = BTreeMap::from([("ref-1".to_owned(), other.evidence())]);
    assert_eq!(name(&decide(&rows, &ready()).unwrap().payout.state), "STUCK AmountDiffers");
    // A third attempt in the report, which the channel refused before: it is the settled one.
    let rows = BTreeMap::from([(ready().reference_of(3), row.evidence())]);
    let third = decide(&rows, &ready()).unwrap();
    assert_eq!((third.payout.settled, third.bookings), (Some(3), vec![Booking::Settle]));
}
