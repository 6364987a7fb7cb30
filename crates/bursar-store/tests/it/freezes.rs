//! Freezes on every store: one operator freezes, two operators unfreeze.

use std::collections::BTreeSet;

use bursar_core::dispatch::Blocked;
use bursar_core::flow::{Accepted, ClaimDue};
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::payouts::submit_lane;
use bursar_core::rejection::Rejection;
use bursar_store::{Query, Store};
use jiff::SignedDuration;

use crate::desk::Desk;
use crate::payouts::{Payments, call, code, create, paid, view};
use crate::stores::on_every_store;
use crate::workload::rules;

/// While a freeze is in force, no payout is submitted, and payouts that were submitted before proceed.
async fn what_is_frozen_is_not_sent(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    let (_, sent) = payments.submit("a", "10").await;
    let waiting = view(payments.desk.ask(create("b", "10")).await);
    for scope in
        [Scope::Global, Scope::Channel("wallet".to_owned()), Scope::Merchant("m1".to_owned())]
    {
        let change = |actor: &str, action| FreezeChange {
            scope: scope.clone(),
            by: Signature::new(actor, true),
            action,
        };
        let freeze = change("a", FreezeAction::Freeze { reason: "odd numbers".to_owned() });
        assert_eq!(status(payments.desk.ask(freeze).await), "FROZEN");
        payments.desk.now += SignedDuration::from_mins(1);
        assert_eq!(payments.claim(&submit_lane("wallet")).await, [], "{scope} is frozen");
        assert_eq!(
            status(
                payments
                    .desk
                    .ask(change("b", FreezeAction::Unfreeze { reason: String::new() }))
                    .await
            ),
            "UNFREEZE_PROPOSED"
        );
        let again =
            payments.desk.ask(change("b", FreezeAction::Unfreeze { reason: String::new() })).await;
        assert_eq!(code(again), "second_person_needed");
        payments.desk.now += SignedDuration::from_mins(1);
        assert_eq!(payments.claim(&submit_lane("wallet")).await, [], "{scope} is still frozen");
        assert_eq!(
            status(
                payments
                    .desk
                    .ask(change("c", FreezeAction::Unfreeze { reason: String::new() }))
                    .await
            ),
            "OPEN"
        );
    }
    assert_eq!(payments.submitted(&sent, paid()).await, "SUCCESS");
    payments.desk.now += SignedDuration::from_mins(1);
    let effects = payments.claim(&submit_lane("wallet")).await;
    assert_eq!(call(&effects[0]).reference, waiting.reference, "the payout was only delayed");
    let history = payments.desk.store.history(0, 1_000).await.unwrap();
    let audit = history.iter().flat_map(|commit| &commit.audit);
    let actions: Vec<&str> = audit.map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions[1..], ["freeze", "unfreeze.propose", "unfreeze"].repeat(3));
    payments.desk.assert_sound().await;
}

/// Payouts of a frozen channel are neither written nor reordered, however often the engine looks.
async fn what_waits_for_a_frozen_channel_is_not_written(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    let mut references = Vec::new();
    for name in ["a", "b", "c"] {
        let mut create = create(name, "10");
        let at = (name != "b").then(|| payments.desk.now + SignedDuration::from_secs(5));
        create.payout.scheduled_at = at;
        references.push(view(payments.desk.ask(create).await).reference);
    }
    let change = |actor: &str, action| FreezeChange {
        scope: Scope::Channel("wallet".to_owned()),
        by: Signature::new(actor, true),
        action,
    };
    let freeze = change("a", FreezeAction::Freeze { reason: "odd numbers".to_owned() });
    payments.desk.ask(freeze).await.unwrap();
    let before = payments.desk.store.head().await.unwrap().seq;
    for _ in 0..3 {
        payments.desk.now += SignedDuration::from_mins(1);
        let claim = ClaimDue::new(submit_lane("wallet"), 100);
        let reply = payments.desk.ask(claim).await.unwrap();
        let is_frozen = reply.rest.is_some_and(|rest| rest.why == Blocked::Frozen);
        assert!(is_frozen && reply.flows.is_empty(), "{reply:?}");
    }
    assert_eq!(payments.desk.store.head().await.unwrap().seq, before, "nothing was saved");
    for actor in ["b", "c"] {
        let action = FreezeAction::Unfreeze { reason: String::new() };
        payments.desk.ask(change(actor, action)).await.unwrap();
    }
    let effects = payments.claim(&submit_lane("wallet")).await;
    let sent: Vec<&str> = effects.iter().map(|effect| &*call(effect).reference).collect();
    let [a, b, c] = &references[..] else { panic!() };
    assert_eq!(sent[0], b, "it was due first");
    assert_eq!(BTreeSet::from_iter(&sent[1..]), BTreeSet::from([&&**a, &&**c]));
    payments.desk.assert_sound().await;
}

fn status(answer: Result<Accepted, Rejection>) -> &'static str {
    answer.unwrap().status
}

on_every_store! { what_is_frozen_is_not_sent, what_waits_for_a_frozen_channel_is_not_written, }
