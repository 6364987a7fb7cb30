//! Reverts: once, with their holds, and never with money that is already spent.

use super::{Desk, trial_balance};
use crate::ledger::{HoldState, Posted, REVERT, Revert, RevertOverdraft};

#[test]
fn a_transaction_is_taken_back_once() {
    let mut desk = Desk::funded();
    let before = desk.balances();
    let id = desk.must("ADJUSTMENT_CREDIT", "c1", "amount=10");
    let revert = desk.must(REVERT, &id.to_string(), "");
    assert_eq!(desk.ledger.transaction(revert).unwrap().reverts, Some(id));
    assert_eq!(
        desk.balances(),
        format!(
            "{}\nexpenses:adjustment:PKR 0.00\n{}",
            before.split_once('\n').unwrap().0,
            before.split_once('\n').unwrap().1
        )
    );
    assert_eq!(desk.post(REVERT, &id.to_string(), ""), Ok(Posted::Replayed(revert)));
    let answers = [
        desk.refuse(REVERT, &revert.to_string(), "").replace(&revert.to_string(), "[id]"),
        desk.refuse(REVERT, "tx_00000000000070008000000000000000", ""),
        desk.refuse(REVERT, "c1", ""),
        desk.refuse(REVERT, &id.to_string(), "amount=1"),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_revert_refuses_what_is_already_spent() {
    let mut desk = Desk::new();
    let id = desk.must("PAYIN_COLLECTION", "r1", "gross=100 fee=0 vat=0");
    desk.must("REFUND", "f1", "amount=60");
    insta::assert_snapshot!(desk.refuse(REVERT, &id.to_string(), ""));
}

#[test]
fn reverting_a_reserve_ends_its_hold() {
    let mut desk = Desk::funded();
    let id = desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=0 vat=0");
    let revert = desk.must(REVERT, &id.to_string(), "");
    let (_, hold) = desk.ledger.holds().next().unwrap();
    assert_eq!(hold.state, HoldState::Ended { by: revert });
    assert!(desk.refuse("PAYOUT_SETTLE", "p1", "amount=100 fee=0 vat=0").starts_with("hold_ended"));
}

#[test]
fn a_late_success_takes_the_release_back_and_settles() {
    let mut desk = Desk::funded();
    desk.must("PAYOUT_RESERVE", "p1", "amount=900 fee=0 vat=0");
    let release = desk.must("PAYOUT_RELEASE", "p1", "amount=900 fee=0 vat=0");
    desk.must("REFUND", "f1", "amount=500");
    // The merchant has spent the money, so an ordinary revert is rejected, but the channel has paid.
    assert!(desk.refuse(REVERT, &release.to_string(), "").starts_with("missing_funds"));
    let admission = desk.admission();
    let revert = Revert { id: release, overdraft: RevertOverdraft::Allowed, effective_at: None };
    desk.ledger.revert(&desk.rulebook, &revert, &admission).unwrap();
    let (_, hold) = desk.ledger.holds().next().unwrap();
    assert_eq!((hold.state, hold.epoch), (HoldState::Open, 2));
    desk.must("PAYOUT_SETTLE", "p1", "amount=900 fee=0 vat=0");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "-400.00");
    assert_eq!(desk.balance("assets:bank:b1:PKR"), "-400.00");
    assert!(trial_balance(&desk.ledger, None).is_balanced);
}

#[test]
fn what_was_taken_back_is_not_answered_as_if_it_held() {
    let mut desk = Desk::funded();
    desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=0 vat=0");
    let release = desk.must("PAYOUT_RELEASE", "p1", "amount=100 fee=0 vat=0");
    let revert = desk.must(REVERT, &release.to_string(), "");
    // The first release, repeated, must not end the reopened hold, and must not get its old reply.
    let answer = desk.refuse("PAYOUT_RELEASE", "p1", "amount=100 fee=0 vat=0");
    insta::assert_snapshot!(answer.replace(&revert.to_string(), "[id]"));
    assert!(
        desk.refuse("PAYOUT_RELEASE", "p1#1", "amount=100 fee=0 vat=0")
            .starts_with("hold_not_found")
    );
    let opened = desk.refuse("PAYOUT_RESERVE", "p1#2", "amount=1 fee=0 vat=0");
    assert!(opened.starts_with("epoch_in_reference"), "{opened}");
    desk.must("PAYOUT_RELEASE", "p1#2", "amount=100 fee=0 vat=0");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "1000.00");
    assert!(desk.refuse("PAYOUT_SETTLE", "p1", "amount=100 fee=0 vat=0").starts_with("hold_ended"));
}

#[test]
fn only_the_end_of_a_hold_is_reverted_with_overdraft() {
    let mut desk = Desk::new();
    let payin = desk.must("PAYIN_COLLECTION", "r1", "gross=100 fee=0 vat=0");
    desk.must("REFUND", "f1", "amount=60");
    let admission = desk.admission();
    let revert = Revert { id: payin, overdraft: RevertOverdraft::Allowed, effective_at: None };
    let rejection = desk.ledger.revert(&desk.rulebook, &revert, &admission).unwrap_err();
    assert_eq!(rejection.code(), "missing_funds");
}

#[test]
fn one_request_may_make_several_transactions() {
    let mut desk = Desk::funded();
    desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=0 vat=0");
    let release = desk.must("PAYOUT_RELEASE", "p1", "amount=100 fee=0 vat=0");
    let admission = desk.admission();
    let revert = Revert { id: release, overdraft: RevertOverdraft::Allowed, effective_at: None };
    desk.ledger.revert(&desk.rulebook, &revert, &admission).unwrap();
    desk.admitted -= 1;
    desk.ticks -= 1;
    desk.must("PAYOUT_SETTLE", "p1", "amount=100 fee=0 vat=0");
}
