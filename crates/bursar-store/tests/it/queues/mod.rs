//! Queues of payouts that wait to be sent, on every store: the turns of the merchants, freezes, times, and what is stored.

mod processes;
mod random;
mod scans;
mod weights;

use std::collections::BTreeMap;

use bursar_core::dispatch::{Queue, Rank};
use bursar_core::flow::{ClaimDue, Flow};
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::idempotency::Key;
use bursar_core::ledger::Post;
use bursar_core::payouts::{Cancel, Cancellation, Create, Outcome, submit_lane};
use bursar_core::rules::Rules;
use bursar_core::turn::Body;
use bursar_store::{Query, Store};
use jiff::{SignedDuration, Timestamp};

use crate::desk::{Desk, START};
use crate::payout_steps::new_payout;
use crate::payouts::{Payments, view};
use crate::stores::on_every_store;
use crate::workload::{event, registration, rules};

/// Registers a merchant with 250.00.
async fn open(desk: &mut Desk<'_, impl Store + Query>, merchant: &str) {
    desk.ask(registration(merchant)).await.unwrap();
    let mut event = event(desk.rules, "ADJUSTMENT_CREDIT", &format!("start-{merchant}"));
    event.variables.insert("merchantId".to_owned(), merchant.to_owned());
    desk.ask(Post { event, actor: None }).await.unwrap();
}

async fn desk_of<'r, S: Store + Query>(
    rules: &'r Rules,
    store: S,
    merchants: &[&str],
) -> Desk<'r, S> {
    let mut desk = Desk::new(rules, store, 0);
    for merchant in merchants {
        open(&mut desk, merchant).await;
    }
    desk
}

fn create(merchant: &str, name: &str, at: Option<Timestamp>) -> Create {
    let mut payout = new_payout(merchant, "0.10");
    payout.scheduled_at = at;
    let key = Key::new(merchant.to_owned(), name.to_owned());
    Create { key, payout, actor: None, workflow: None }
}

fn cancel(id: &str) -> Cancel {
    let cancellation =
        Cancellation { id: id.parse().unwrap(), expected_version: None, actor: "ops".to_owned() };
    Cancel { key: Key::new("ops".to_owned(), format!("cancel-{id}")), cancellation }
}

fn freeze(merchant: &str) -> FreezeChange {
    let action = FreezeAction::Freeze { reason: "odd numbers".to_owned() };
    let scope = Scope::Merchant(merchant.to_owned());
    FreezeChange { scope, by: Signature::new("a", true), action }
}

fn unfreeze(merchant: &str, actor: &str) -> FreezeChange {
    let action = FreezeAction::Unfreeze { reason: String::new() };
    let scope = Scope::Merchant(merchant.to_owned());
    FreezeChange { scope, by: Signature::new(actor, true), action }
}

/// Creates payouts that are due at once. Returns their names.
async fn pay(
    desk: &mut Desk<'_, impl Store + Query>,
    merchant: &str,
    names: std::ops::Range<u32>,
) -> Vec<String> {
    let mut made = Vec::new();
    for name in names {
        made.push(view(desk.ask(create(merchant, &name.to_string(), None)).await).id);
    }
    made
}

async fn claim(desk: &mut Desk<'_, impl Store + Query>, limit: u32, served: u64) -> Vec<String> {
    let reply = desk.ask(ClaimDue { lane: submit_lane("wallet"), limit, served }).await.unwrap();
    assert_eq!((reply.refused, reply.rest), (vec![], None));
    reply.flows
}

/// The merchants of claimed payouts, in order.
async fn merchants(desk: &mut Desk<'_, impl Store + Query>, claimed: &[String]) -> String {
    let flows = desk.store.flows(None, u32::MAX).await.unwrap();
    let owners: BTreeMap<String, String> =
        flows.into_iter().map(|flow| (flow.name(), flow.merchant)).collect();
    claimed.iter().map(|name| owners[name].as_str()).collect::<Vec<_>>().join(" ")
}

async fn queue(
    desk: &mut Desk<'_, impl Store + Query>,
    merchant: &str,
    rank: Rank,
) -> Option<Queue> {
    let queues = desk.store.queues().await.unwrap();
    let is_meant =
        |key: &bursar_core::dispatch::QueueKey| key.merchant == merchant && key.rank == rank;
    queues.into_iter().find(|(key, _)| is_meant(key)).map(|(_, queue)| queue)
}

async fn flows_of(desk: &mut Desk<'_, impl Store + Query>, merchant: &str) -> Vec<Flow> {
    let flows = desk.store.flows(None, u32::MAX).await.unwrap();
    flows.into_iter().filter(|flow| flow.merchant == merchant).collect()
}

/// The second of three merchants has few payouts, and the third comes late with few.
async fn merchants_take_turns(store: impl Store + Query) {
    let rules = rules();
    let mut desk = desk_of(&rules, store, &["m1", "m2", "m3"]).await;
    let many = pay(&mut desk, "m1", 0..30).await;
    let few = pay(&mut desk, "m2", 0..3).await;
    let first = claim(&mut desk, 4, 0).await;
    assert_eq!(first, [&*many[0], &*few[0], &*many[1], &*few[1]], "each in its own order");
    assert_eq!(queue(&mut desk, "m1", Rank::Interactive).await.unwrap().waiting, 28);
    desk.assert_sound().await;
    let late = pay(&mut desk, "m3", 0..2).await;
    let next = claim(&mut desk, 6, 0).await;
    assert_eq!(merchants(&mut desk, &next).await, "m1 m2 m3 m1 m3 m1");
    assert_eq!([&next[2], &next[4]], [&late[0], &late[1]]);
    assert_eq!(queue(&mut desk, "m2", Rank::Interactive).await, None, "nothing waits in it");
    assert_eq!(queue(&mut desk, "m3", Rank::Interactive).await, None);
    let rest = claim(&mut desk, 100, 0).await;
    assert_eq!(rest, many[5..], "the order of one queue");
    assert_eq!(desk.store.queues().await.unwrap(), []);
    desk.assert_sound().await;
}

/// Payouts that are made in the turn of the claim take turns with those that waited.
async fn those_that_wait_take_turns_with_those_of_the_same_turn(store: impl Store + Query) {
    let rules = rules();
    let mut desk = desk_of(&rules, store, &["m1", "m2"]).await;
    let waiting = pay(&mut desk, "m2", 0..2).await;
    let bodies: Vec<Body> = vec![
        create("m1", "new", None).into(),
        ClaimDue::new(submit_lane("wallet"), 2).into(),
        ClaimDue::new(submit_lane("wallet"), 2).into(),
    ];
    let commit = desk.commit_all(bodies).await;
    let sent: Vec<String> = commit.effects.iter().map(|effect| effect.flow.to_string()).collect();
    let ids =
        |names: &[String]| names.iter().map(|it| it.replace("po_", "fl_")).collect::<Vec<_>>();
    let waiting = ids(&waiting);
    assert_eq!(sent.len(), 3);
    assert_eq!([&sent[0], &sent[2]], [&waiting[0], &waiting[1]], "{sent:?}");
    assert_eq!(desk.store.queues().await.unwrap(), []);
    desk.assert_sound().await;
}

/// A frozen merchant costs at most one commit. Its payouts are not written, and are sent in their order later.
async fn a_frozen_merchant_is_passed_over(store: impl Store + Query) {
    let rules = rules();
    let mut desk = desk_of(&rules, store, &["m1", "m2"]).await;
    let frozen = pay(&mut desk, "m1", 0..5).await;
    assert_eq!(claim(&mut desk, 1, 0).await, frozen[..1]);
    assert!(queue(&mut desk, "m1", Rank::Interactive).await.unwrap().pass.is_some());
    desk.accepted(freeze("m1")).await;
    let (flows, seq) = (flows_of(&mut desk, "m1").await, desk.store.head().await.unwrap().seq);
    for _ in 0..4 {
        assert_eq!(claim(&mut desk, 10, 0).await, [""; 0]);
    }
    assert_eq!(queue(&mut desk, "m1", Rank::Interactive).await.unwrap().pass, None);
    assert_eq!(desk.store.head().await.unwrap().seq, seq + 1, "it falls asleep once");
    let other = pay(&mut desk, "m2", 0..3).await;
    assert_eq!(claim(&mut desk, 2, 0).await, other[..2]);
    assert_eq!(claim(&mut desk, 2, 0).await, other[2..]);
    let seq = desk.store.head().await.unwrap().seq;
    assert_eq!(claim(&mut desk, 2, 0).await, [""; 0]);
    assert_eq!(desk.store.head().await.unwrap().seq, seq, "nothing was saved");
    assert_eq!(flows_of(&mut desk, "m1").await, flows, "no payout was written");
    desk.assert_sound().await;
    desk.accepted(unfreeze("m1", "b")).await;
    assert_eq!(claim(&mut desk, 2, 0).await, [""; 0], "one operator does not lift a freeze");
    desk.accepted(unfreeze("m1", "c")).await;
    assert_eq!(claim(&mut desk, 10, 0).await, frozen[1..]);
    desk.assert_sound().await;
}

/// More frozen merchants than a claim looks at, all of them before the one that is open.
async fn many_frozen_merchants_hold_up_a_claim_or_two(store: impl Store + Query) {
    let rules = rules();
    let names = ["m1", "m2", "m3", "m4", "m5", "m6"];
    let mut desk = desk_of(&rules, store, &names).await;
    for name in names {
        pay(&mut desk, name, 0..9).await;
    }
    // All are awake, and the last has the greatest turn.
    for served in 0..11 {
        claim(&mut desk, 1, served).await;
    }
    let passes = desk.store.queues().await.unwrap();
    assert!(passes.iter().all(|(_, queue)| queue.pass.is_some()), "{passes:?}");
    let open = passes.iter().max_by_key(|(_, queue)| queue.pass).unwrap().0.merchant.clone();
    for name in names.into_iter().filter(|name| *name != open) {
        desk.accepted(freeze(name)).await;
    }
    let seq = desk.store.head().await.unwrap().seq;
    let (mut sent, mut claims) = (Vec::new(), 0);
    while sent.is_empty() && claims < 5 {
        sent = claim(&mut desk, 3, 0).await;
        claims += 1;
    }
    assert!(!sent.is_empty());
    assert_eq!(merchants(&mut desk, &sent).await, vec![&*open; sent.len()].join(" "));
    let more = claim(&mut desk, 3, 0).await;
    assert_eq!(merchants(&mut desk, &more).await, [&*open; 3].join(" "));
    assert!(claims <= 2, "{claims} claims");
    assert_eq!(desk.store.head().await.unwrap().seq, seq + claims + 1);
    desk.assert_sound().await;
}

/// Scheduled payouts wait for their time, and then for payouts whose callers wait.
async fn scheduled_payouts_wait_for_their_time(store: impl Store + Query) {
    let rules = rules();
    let mut desk = desk_of(&rules, store, &["m1", "m2"]).await;
    let at = START + SignedDuration::from_hours(1);
    let mut scheduled = Vec::new();
    for (name, at) in [("second", at + SignedDuration::from_secs(1)), ("first", at)] {
        scheduled.push(view(desk.ask(create("m1", name, Some(at))).await).id);
    }
    let found = queue(&mut desk, "m1", Rank::Scheduled).await.unwrap();
    assert_eq!((found.waiting, found.first.0, found.pass), (2, at, None));
    assert_eq!(claim(&mut desk, 10, 13).await, [""; 0]);
    desk.now = at - SignedDuration::from_secs(2);
    assert_eq!(claim(&mut desk, 10, 13).await, [""; 0], "a second before");
    let interactive = pay(&mut desk, "m2", 0..2).await;
    desk.now = at + SignedDuration::from_secs(1);
    let seq = desk.store.head().await.unwrap().seq;
    let sent = claim(&mut desk, 3, 0).await;
    assert_eq!(sent, [&*interactive[0], &*interactive[1], &*scheduled[1]]);
    assert_eq!(desk.store.head().await.unwrap().seq, seq + 1);
    desk.assert_sound().await;
    let more = pay(&mut desk, "m2", 2..4).await;
    assert_eq!(claim(&mut desk, 1, 13).await, scheduled[..1], "the floor of the rank");
    assert_eq!(claim(&mut desk, 9, 13).await, more);
    desk.assert_sound().await;
}

/// Queues follow their flows: the first is cancelled, is not sent and retried, is refused and deferred.
async fn queues_follow_their_flows(store: impl Store + Query) {
    let rules = rules();
    let broken = Rules { channels: BTreeMap::new(), ..rules.clone() };
    let mut desk = desk_of(&rules, store, &["m1"]).await;
    let ids = pay(&mut desk, "m1", 0..6).await;
    desk.accepted(cancel(&ids[0])).await;
    desk.assert_sound().await;
    let found = queue(&mut desk, "m1", Rank::Interactive).await.unwrap();
    assert_eq!((found.waiting, found.first.1.to_string()), (5, ids[1].replace("po_", "fl_")));
    desk.accepted(cancel(&ids[3])).await;
    desk.assert_sound().await;
    assert_eq!(queue(&mut desk, "m1", Rank::Interactive).await.unwrap().waiting, 4);

    let mut payments = Payments { desk };
    let effects = payments.desk.commit(ClaimDue::new(submit_lane("wallet"), 1)).await.effects;
    payments.desk.assert_sound().await;
    let not_sent = Outcome::NotSent { detail: "connection refused".to_owned(), is_ours: false };
    assert_eq!(payments.submitted(&effects[0], not_sent).await, "READY");
    let mut desk = payments.desk;
    desk.assert_sound().await;
    let found = queue(&mut desk, "m1", Rank::Interactive).await.unwrap();
    assert_eq!((found.waiting, found.first.1.to_string()), (4, ids[2].replace("po_", "fl_")));

    desk.rules = &broken;
    let refused = desk.claim(&submit_lane("wallet"), 2).await.refused;
    assert_eq!(refused.len(), 2);
    desk.assert_sound().await;
    let found = queue(&mut desk, "m1", Rank::Interactive).await.unwrap();
    assert_eq!(found.waiting, 4, "they wait for longer");
    desk.rules = &rules;
    desk.now += SignedDuration::from_hours(1);
    let sent = claim(&mut desk, 10, 0).await;
    assert_eq!(sent.len(), 4);
    assert_eq!(desk.store.queues().await.unwrap(), []);
    desk.assert_sound().await;
}

on_every_store! {
    merchants_take_turns,
    those_that_wait_take_turns_with_those_of_the_same_turn,
    a_frozen_merchant_is_passed_over,
    many_frozen_merchants_hold_up_a_claim_or_two,
    scheduled_payouts_wait_for_their_time,
    queues_follow_their_flows,
}
