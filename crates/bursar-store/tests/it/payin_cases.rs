//! Reports of another amount, currency or merchant under a known reference: on every store they book nothing, and a person
//! is shown what was reported.

use bursar_core::flow::ReviewReason;
use bursar_core::idempotency::Key;
use bursar_core::payins::{
    Case, CloseCase, NewPayIn, OTHER_REPORTS_MAX, PayIn, ProviderStatus, Reply, ReportReply,
};
use bursar_core::turn::{self, ALERT_TALLIES, Answer, Body, Commit};
use bursar_store::{Browse, Query, ReviewFilter, Store};

use crate::desk::Desk;
use crate::stores::on_every_store;
use crate::workload::{registration, rules};

fn report(amount: &str) -> NewPayIn {
    let text = |text: &str| text.to_owned();
    NewPayIn {
        key: None,
        actor: None,
        merchant: text("m1"),
        provider: text("easy"),
        reference: text("r1"),
        currency: text("PKR"),
        amount: text(amount),
        said: ProviderStatus::Completed,
        event: format!("e-{amount}"),
    }
}

fn key(name: &str) -> Key {
    Key::new("ops".to_owned(), name.to_owned())
}

/// The code with which the sender of a report of other values is answered.
fn code(answer: &Answer) -> &'static str {
    match answer {
        Ok(turn::Reply::PayIns(Reply::Report(ReportReply::Differs(rejection)))) => rejection.code(),
        other => panic!("{other:?}"),
    }
}

async fn only_flow(desk: &mut Desk<'_, impl Store + Query>) -> (u64, PayIn) {
    let flows = desk.store.flows(None, 10).await.unwrap();
    let [flow] = flows.as_slice() else { panic!("{flows:?}") };
    (flow.version, flow.state.payin().unwrap().clone())
}

async fn case(desk: &mut Desk<'_, impl Store + Query>) -> Case {
    only_flow(desk).await.1.case.unwrap()
}

async fn close(
    desk: &mut Desk<'_, impl Store + Query>,
    (name, expected_version): (&str, u64),
) -> Answer {
    let flows = desk.store.flows(None, 10).await.unwrap();
    let id = flows[0].name().parse().unwrap();
    let (evidence, actor) = ("a typing error".to_owned(), "ann".to_owned());
    let close = CloseCase { key: key(name), id, evidence, expected_version, actor };
    desk.commit(close).await.answers.remove(0)
}

async fn is_listed(desk: &mut Desk<'_, impl Store + Browse>) -> bool {
    let filter = ReviewFilter { of: Some(("payin", ReviewReason::Case)), merchant: None };
    let listed = desk.store.reviews(&filter, None, 10).await.unwrap();
    let tallies = desk.store.tallies(ALERT_TALLIES).await.unwrap();
    let raised = tallies.get("alert/amount_differs/easy").is_some_and(|tally| tally.count == 1);
    assert_eq!(listed.len() == 1, raised, "{listed:?} {tallies:?}");
    raised
}

fn is_empty(commit: &Commit) -> bool {
    commit.time.is_none() && commit.flows.is_empty() && commit.events.is_empty()
}

async fn another_amount_books_nothing_and_opens_one_case(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.ask(registration("m2")).await.unwrap();
    desk.accepted(report("100")).await;
    let balance = desk.balance("merchants:m1:available:PKR").await;
    assert!(!is_listed(&mut desk).await);

    let commit = desk.commit(report("90")).await;
    assert_eq!(code(&commit.answers[0]), "reference_reused");
    let events: Vec<_> = commit.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!((commit.transactions.len(), events), (0, vec!["payin.success"]));
    assert!(commit.events[0].data.contains(r#""reason":"amount_differs""#), "{commit:?}");
    assert!(is_listed(&mut desk).await);

    // The same again, in other bytes and under other names, changes nothing.
    let again = [
        report("90"),
        NewPayIn { event: "e-9".to_owned(), ..report("90.00") },
        NewPayIn { key: Some(key("k")), actor: Some("ops".to_owned()), ..report("90.0") },
    ];
    for again in again {
        let commit = desk.commit(again).await;
        assert_eq!(code(&commit.answers[0]), "reference_reused");
        assert!(is_empty(&commit), "{commit:?}");
    }

    // Other values, also those that could not be booked. No further event: the case is the same.
    let text = |text: &str| text.to_owned();
    let others = [
        (NewPayIn { said: ProviderStatus::Failed, ..report("90") }, "reference_reused"),
        (NewPayIn { merchant: text("m2"), ..report("100") }, "reference_reused"),
        (NewPayIn { merchant: text("m9"), ..report("100") }, "reference_reused"),
        (NewPayIn { merchant: text("m-9!"), ..report("100") }, "bad_identifier"),
        (NewPayIn { currency: text("USD"), ..report("100") }, "reference_reused"),
        (NewPayIn { currency: text("rupees"), ..report("100") }, "bad_currency"),
        (report("0"), "nothing_to_pay"),
        (report("-1"), "nothing_to_pay"),
        (report(&"9".repeat(100_000)), "bad_amount"),
    ];
    for (number, (other, expected)) in others.iter().enumerate() {
        let event = format!("o{number}");
        let commit = desk.commit(NewPayIn { event, ..other.clone() }).await;
        assert_eq!(code(&commit.answers[0]), *expected);
        assert_eq!((commit.transactions.len(), commit.events.len()), (0, 0));
        assert_eq!(case(&mut desk).await.reports.len(), number + 2);
    }
    let (version, payin) = only_flow(&mut desk).await;
    assert_eq!((version, payin.said.len()), (11, 1));
    let longest = payin.case.unwrap().reports.iter().map(|report| report.amount.len()).max();
    assert_eq!(longest, Some(64));
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, balance);
    assert_eq!(desk.balance("merchants:m2:available:PKR").await, 0);

    // The provider's equal reports go on as before.
    desk.accepted(NewPayIn {
        said: ProviderStatus::Failed,
        event: "e-f".to_owned(),
        ..report("100")
    })
    .await;
    assert_eq!(only_flow(&mut desk).await.1.state.status(), "CONTRADICTED");
    assert!(is_listed(&mut desk).await);
    desk.assert_sound().await;
}

async fn a_case_is_closed_once_and_opened_again_by_another_report(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.accepted(report("100")).await;
    assert_eq!(close(&mut desk, ("c0", 1)).await.unwrap_err().code(), "no_open_case");
    desk.commit(report("90")).await;
    assert_eq!(close(&mut desk, ("c1", 1)).await.unwrap_err().code(), "stale_version");
    let closed = close(&mut desk, ("c1", 2)).await;
    let Ok(turn::Reply::PayIns(Reply::PayIn(given))) = &closed else { panic!("{closed:?}") };
    assert_eq!((given.view.version, given.is_replay), (3, false));
    assert_eq!(given.view.reason.as_deref(), Some("amount_differs"));
    let again = close(&mut desk, ("c1", 2)).await;
    let Ok(turn::Reply::PayIns(Reply::PayIn(again))) = &again else { panic!("{again:?}") };
    assert_eq!((&again.view, again.is_replay), (&given.view, true));
    assert_eq!(close(&mut desk, ("c2", 3)).await.unwrap_err().code(), "no_open_case");
    assert!(!is_listed(&mut desk).await);
    desk.assert_sound().await;

    assert!(is_empty(&desk.commit(report("90")).await), "a person has seen it");
    assert!(!is_listed(&mut desk).await);
    desk.commit(report("91")).await;
    assert!(is_listed(&mut desk).await, "another amount is news");
    assert_eq!(only_flow(&mut desk).await.0, 4);
    desk.assert_sound().await;

    // No provider makes a pay-in grow for ever; what is not kept still reaches a person.
    for amount in 200..230 {
        desk.commit(report(&amount.to_string())).await;
    }
    assert_eq!(case(&mut desk).await.reports.len(), OTHER_REPORTS_MAX);
    let version = only_flow(&mut desk).await.0;
    close(&mut desk, ("c3", version)).await.unwrap();
    desk.commit(report("300")).await;
    assert_eq!(case(&mut desk).await.reports.len(), OTHER_REPORTS_MAX);
    assert!(is_listed(&mut desk).await);
    desk.assert_sound().await;
}

/// The first report, two of other amounts, one of them again, and the end of the case, in one turn and in turns of their own.
async fn one_turn_and_many_turns_leave_the_same_case(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let bodies = ["100", "90", "80", "90", "100"].map(|amount| Body::from(report(amount)));
    let commit = desk.commit_all(bodies.to_vec()).await;
    for (answer, differs) in commit.answers.iter().zip([false, true, true, true, false]) {
        let reply = answer.as_ref().unwrap();
        let found = matches!(reply, turn::Reply::PayIns(Reply::Report(ReportReply::Differs(_))));
        assert_eq!(found, differs, "{answer:?}");
    }
    assert_eq!((commit.transactions.len(), commit.events.len()), (1, 2));
    let (version, payin) = only_flow(&mut desk).await;
    let amounts: Vec<_> =
        payin.case.unwrap().reports.into_iter().map(|report| report.amount).collect();
    assert_eq!((version, amounts), (3, vec!["90.00".to_owned(), "80.00".to_owned()]));
    assert!(is_listed(&mut desk).await);
    desk.assert_sound().await;
}

/// An adapter whose keys are the references of its provider.
async fn another_amount_under_the_same_key_is_kept_too(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let keyed = |amount| NewPayIn { key: Some(key("r1")), ..report(amount) };
    desk.accepted(keyed("100")).await;
    let commit = desk.commit(keyed("90")).await;
    assert_eq!(code(&commit.answers[0]), "idempotency_mismatch");
    assert!(is_listed(&mut desk).await);
    let commit = desk.commit(keyed("100")).await;
    assert!(is_empty(&commit), "the first reply is stored under the key");
    // A key of a report that differs stays free.
    let other = |amount| NewPayIn { key: Some(key("k2")), ..report(amount) };
    assert_eq!(code(&desk.commit(other("80")).await.answers[0]), "reference_reused");
    desk.accepted(other("100")).await;
    desk.assert_sound().await;
}

on_every_store! {
    another_amount_books_nothing_and_opens_one_case,
    a_case_is_closed_once_and_opened_again_by_another_report,
    one_turn_and_many_turns_leave_the_same_case,
    another_amount_under_the_same_key_is_kept_too,
}
