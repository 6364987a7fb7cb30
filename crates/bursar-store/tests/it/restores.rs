//! A restore of the books on every store: what is held back, what a report proves, and the two people who end it.

use bursar_core::flow::{Accepted, ClaimDue};
use bursar_core::four_eyes::Signature;
use bursar_core::ids::{BooksId, FirstReferences, PayoutId};
use bursar_core::payouts::{
    Answer, Cancel, Cancellation, LANE, Order, ReportedPayment, ReportedStatus, submit_lane,
};
use bursar_core::rejection::Rejection;
use bursar_core::restores::{ReportRows, RestoreAction, RestoreChange};
use bursar_store::{Query, Store};
use jiff::SignedDuration;

use crate::desk::Desk;
use crate::payouts::{Payments, call, code, create, key, view};
use crate::stores::on_every_store;
use crate::workload::rules;

fn change(actor: &str, action: RestoreAction) -> RestoreChange {
    let by = Signature::new(actor, true);
    RestoreChange { by, action }
}

fn status(answer: Result<Accepted, Rejection>) -> &'static str {
    answer.unwrap().status
}

/// A payout that waits is asked about, is not cancelled, and goes on when two people have ended the recheck.
async fn what_is_rechecked_is_not_sent(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    let waiting = view(payments.desk.ask(create("a", "10")).await);
    let begin = change("ops", RestoreAction::Begin { reason: "a copy".to_owned() });
    assert_eq!(status(payments.desk.ask(begin).await), "RECHECKING");
    let restore = payments.desk.store.control().await.unwrap().restore.unwrap();
    assert!(restore.is_open_for("wallet") && restore.last_seq > 0, "{restore:?}");
    let cancel = || {
        let id = waiting.id.parse().unwrap();
        let cancellation = Cancellation { id, expected_version: None, actor: "m".to_owned() };
        Cancel { key: key("cancel"), cancellation }
    };
    assert_eq!(code(payments.desk.ask(cancel()).await), "rechecking");
    for lane in [submit_lane("wallet"), LANE.to_owned(), LANE.to_owned()] {
        let effects = payments.claim(&lane).await;
        assert_eq!(effects.len(), 1, "one question at a time");
        assert_eq!(call(&effects[0]).order, Order::Query);
        payments.queried(&effects[0], Answer::NotFound).await;
        payments.desk.now += SignedDuration::from_secs(1);
    }
    assert_eq!(code(payments.desk.ask(cancel()).await), "rechecking", "it proves nothing");
    let end = |actor| change(actor, RestoreAction::End { channel: Some("wallet".to_owned()) });
    assert_eq!(status(payments.desk.ask(end("a")).await), "END_PROPOSED");
    assert_eq!(code(payments.desk.ask(end("a")).await), "second_person_needed");
    assert_eq!(status(payments.desk.ask(end("b")).await), "ENDED");
    payments.desk.now += SignedDuration::from_hours(1);
    assert_eq!(payments.claim(LANE).await, [], "it goes back into its queue");
    let effects = payments.claim(&submit_lane("wallet")).await;
    assert!(matches!(call(&effects[0]).order, Order::Submit { .. }), "{effects:?}");
    assert_eq!(call(&effects[0]).reference, waiting.reference);
}

/// A report counts when two people have loaded it: it settles what it lists, and proves the absence of the rest.
async fn a_report_proves_what_was_paid(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    let listed = view(payments.desk.ask(create("a", "10")).await);
    let from = payments.desk.now - SignedDuration::from_hours(1);
    let begin = change("ops", RestoreAction::Begin { reason: "a copy".to_owned() });
    payments.desk.accepted(begin).await;
    let absent = view(payments.desk.ask(create("b", "10")).await);
    payments.desk.now += SignedDuration::from_hours(2);
    let row = ReportedPayment {
        status: ReportedStatus::Paid,
        amount: Some("10.00".to_owned()),
        currency: Some("PKR".to_owned()),
    };
    let rows = vec![(listed.reference.clone(), row)];
    let report = "d1".to_owned();
    let rows = ReportRows { actor: "a".to_owned(), channel: "wallet".to_owned(), report, rows };
    payments.desk.accepted(rows.clone()).await;
    payments.desk.accepted(rows).await;
    let to = payments.desk.now;
    let report = |actor: &str, digest: &str| {
        let (channel, digest) = ("wallet".to_owned(), digest.to_owned());
        change(actor, RestoreAction::Report { channel, from, to, digest, rows: 1 })
    };
    assert_eq!(status(payments.desk.ask(report("a", "d1")).await), "REPORT_PROPOSED");
    assert_eq!(code(payments.desk.ask(report("a", "d1")).await), "second_person_needed");
    assert_eq!(status(payments.desk.ask(report("b", "d2")).await), "REPORT_PROPOSED");
    assert_eq!(status(payments.desk.ask(report("a", "d1")).await), "REPORT_PROPOSED");
    assert_eq!(status(payments.desk.ask(report("b", "d1")).await), "REPORTED");
    payments.claim(&submit_lane("wallet")).await;
    let id: PayoutId = listed.id.parse().unwrap();
    let flow = payments.desk.store.flow(id.into()).await.unwrap().unwrap();
    assert_eq!(flow.state.status(), "SUCCESS");
    let effects = payments.claim(&submit_lane("wallet")).await;
    assert_eq!(call(&effects[0]).reference, absent.reference, "it goes out at once");
    assert_eq!(effects.len(), 1);
}

/// A repeated request is created and claimed in one turn, which has not read what the report lists about it.
async fn a_report_is_read_before_a_repeated_request_is_sent(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let from = desk.now - SignedDuration::from_hours(1);
    desk.accepted(change("ops", RestoreAction::Begin { reason: "a copy".to_owned() })).await;
    desk.now += SignedDuration::from_hours(2);
    let repeated = create("lost", "10");
    let reference = FirstReferences::of(BooksId::NONE).of_key(&repeated.key.digest());
    let (status, amount, currency) = (ReportedStatus::Paid, None, None);
    let rows = vec![(reference, ReportedPayment { status, amount, currency })];
    let (channel, digest) = ("wallet".to_owned(), "d1".to_owned());
    let rows = ReportRows {
        actor: "a".to_owned(),
        channel: channel.clone(),
        report: digest.clone(),
        rows,
    };
    desk.accepted(rows).await;
    let to = desk.now;
    for actor in ["a", "b"] {
        let (channel, digest) = (channel.clone(), digest.clone());
        let report = RestoreAction::Report { channel, from, to, digest, rows: 1 };
        desk.accepted(change(actor, report)).await;
    }
    let claim = || ClaimDue::new(submit_lane("wallet"), 10);
    let bodies = vec![repeated.into(), claim().into(), claim().into()];
    let effects = desk.commit_all(bodies).await.effects;
    assert!(effects.iter().all(|effect| call(effect).order == Order::Query), "{effects:?}");
    for lane in [submit_lane("wallet"), LANE.to_owned()] {
        desk.now += SignedDuration::from_hours(1);
        let effects = desk.commit(ClaimDue::new(lane, 10)).await.effects;
        assert!(effects.iter().all(|effect| call(effect).order == Order::Query), "{effects:?}");
    }
    let flows = desk.store.flows(None, 10).await.unwrap();
    let statuses: Vec<_> = flows.iter().map(|flow| flow.state.status()).collect();
    assert!(statuses.contains(&"SUCCESS"), "the report says that it was paid: {statuses:?}");
}

on_every_store! {
    a_report_is_read_before_a_repeated_request_is_sent,
    what_is_rechecked_is_not_sent,
    a_report_proves_what_was_paid,
}
