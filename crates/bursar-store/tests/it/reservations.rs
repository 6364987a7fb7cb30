//! Reservations on every store: their lives, their keys, and several processes that wake them.

use std::cell::Cell;
use std::sync::Arc;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::idempotency::{FlowReply, Key};
use bursar_core::ids::{FlowId, ReservationId};
use bursar_core::ledger::Event;
use bursar_core::request::{Answer, Body, Reply, Woken};
use bursar_core::reservation::{Decision, LANE, NewReservation, Verdict, View};
use bursar_core::rules::Rules;
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::{Desk, START};
use crate::scratch::Scratch;
use crate::workload::{block_on, concurrently, post, rules};

fn key(key: &str) -> Key {
    Key::new("m1".to_owned(), key.to_owned())
}

/// 10.00 with a fee of 0.50 for an hour.
fn reserve(key: Key, amount: &str) -> Body {
    let text = |text: &str| text.to_owned();
    let reservation = NewReservation {
        merchant: text("m1"),
        bank: text("b1"),
        currency: text("PKR"),
        amount: text(amount),
        fee: text("0.50"),
        vat: text("0"),
        expires_at: START + SignedDuration::from_hours(1),
    };
    Body::Reserve { key, reservation }
}

fn decide(key: Key, id: &str, verdict: Verdict, expected_version: Option<u64>) -> Body {
    let (actor, note) = ("ops".to_owned(), "the bank confirmed".to_owned());
    let id = id.parse().unwrap();
    Body::Decide { key, decision: Decision { id, verdict, expected_version, actor, note } }
}

fn view(answer: Answer) -> View {
    match answer.unwrap() {
        Reply::Flow { reply, .. } => match Arc::unwrap_or_clone(reply) {
            FlowReply::Reservation(view) => view,
            FlowReply::PayIn(view) => panic!("{view:?}"),
            FlowReply::Payout(view) => panic!("{view:?}"),
            FlowReply::Delivery(view) => panic!("{view:?}"),
        },
        reply => panic!("{reply:?}"),
    }
}

fn code(answer: Answer) -> &'static str {
    answer.unwrap_err().code()
}

const AVAILABLE: &str = "merchants:m1:available:PKR";
const HELD: &str = "holds:payout:m1:PKR";
const BANK: &str = "assets:bank:b1:PKR";

/// Reserved and settled, reserved and released, reserved and forgotten.
async fn lives(mut desk: Desk<'_, impl Store + Query>) {
    desk.fund().await;
    let settled = view(desk.ask(reserve(key("a"), "10")).await);
    let released = view(desk.ask(reserve(key("b"), "20")).await);
    let forgotten = view(desk.ask(reserve(key("c"), "30")).await);
    assert_eq!((settled.status.as_str(), settled.version, settled.is_final), ("HELD", 1, false));
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 - 1_050 - 2_050 - 3_050);
    assert_eq!(desk.balance(HELD).await, 1_050 + 2_050 + 3_050);
    assert_eq!(desk.store.due().await.unwrap().len(), 3);

    let ended = view(desk.ask(decide(key("s"), &settled.id, Verdict::Settle, Some(1))).await);
    assert_eq!((ended.status.as_str(), ended.version, ended.is_final), ("SETTLED", 2, true));
    assert_eq!(desk.balance(BANK).await, -1_000, "the money has left");
    let ended = view(desk.ask(decide(key("r"), &released.id, Verdict::Release, None)).await);
    assert_eq!(ended.status, "RELEASED");

    assert_eq!(desk.wake(LANE, 10).await, Woken::default(), "nothing is due yet");
    desk.now = START + SignedDuration::from_hours(1);
    assert_eq!(desk.wake(LANE, 10).await.flows, [forgotten.id.as_str()]);
    assert_eq!(desk.wake(LANE, 10).await, Woken::default(), "it is over");
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 - 1_050);
    assert_eq!(desk.balance(HELD).await, 0);
    assert_eq!(desk.store.due().await.unwrap(), []);

    let events = desk.store.events(Cursor::default(), 100).await.unwrap();
    let told: Vec<(&str, &str, u64)> = events
        .iter()
        .map(|(_, event)| (event.kind.as_str(), event.resource.as_str(), event.sequence))
        .collect();
    let (a, b, c) = (settled.id.as_str(), released.id.as_str(), forgotten.id.as_str());
    assert_eq!(
        told,
        [
            ("reservation.held", a, 1),
            ("reservation.held", b, 1),
            ("reservation.held", c, 1),
            ("reservation.settled", a, 2),
            ("reservation.released", b, 2),
            ("reservation.expired", c, 2),
        ]
    );
    let history = desk.store.history(0, 100).await.unwrap();
    let audit: Vec<_> = history.iter().flat_map(|commit| &commit.audit).collect();
    let actions: Vec<&str> = audit.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["reservation.settle", "reservation.release"], "time is nobody's decision");
    assert_eq!((audit[0].actor.as_str(), audit[0].note.as_str()), ("ops", "the bank confirmed"));
    desk.assert_sound().await;
}

/// The same key and request: the same reply. Another request: refused. A refusal leaves the key free.
async fn keys(mut desk: Desk<'_, impl Store + Query>) {
    assert_eq!(code(desk.ask(reserve(key("a"), "10")).await), "missing_funds");
    desk.fund().await;
    let first = desk.ask(reserve(key("a"), "10")).await.unwrap();
    let Reply::Flow { reply, is_replay: false } = first else { panic!("{first:?}") };
    let again = desk.ask(reserve(key("a"), "10.00")).await.unwrap();
    assert_eq!(again, Reply::Flow { reply: Arc::clone(&reply), is_replay: true });
    assert_eq!(code(desk.ask(reserve(key("a"), "11")).await), "idempotency_mismatch");
    let other = Key::new("m2".to_owned(), "a".to_owned());
    let FlowReply::Reservation(first) = &*reply else { panic!("it is a reservation") };
    let second = view(desk.ask(reserve(other, "10")).await);
    assert_ne!(second.id, first.id, "the keys of two callers are apart");

    let stale = decide(key("d"), &first.id, Verdict::Settle, Some(7));
    assert_eq!(code(desk.ask(stale).await), "stale_version");
    let settle = decide(key("d"), &first.id, Verdict::Settle, Some(1));
    let settled = view(desk.ask(settle.clone()).await);
    assert_eq!(view(desk.ask(settle).await), settled, "told once more, not done once more");
    let release = decide(key("e"), &first.id, Verdict::Release, None);
    assert_eq!(code(desk.ask(release).await), "flow_ended");
    // A replay long after its time: still what was answered then.
    desk.now = START + SignedDuration::from_hours(100);
    assert_eq!(view(desk.ask(reserve(key("a"), "10")).await), *first);
    assert_eq!(code(desk.ask(reserve(key("late"), "10")).await), "expires_in_the_past");
    assert_eq!(desk.balance(BANK).await, -1_000);
    desk.assert_sound().await;
}

/// What a flow has booked is changed by the flow alone.
async fn ownership(mut desk: Desk<'_, impl Store + Query>) {
    desk.fund().await;
    let held = view(desk.ask(reserve(key("a"), "10")).await);
    let outside = |name: &str, reference: &str, rules| {
        let Body::Post(event) = post(rules, name, reference, 0).body else {
            panic!("an event is posted");
        };
        Body::Post(event)
    };
    for name in ["PAYOUT_SETTLE", "PAYOUT_RELEASE", "PAYOUT_RESERVE"] {
        for reference in [held.id.clone(), format!("{}#2", held.id)] {
            let event = outside(name, &reference, desk.rules);
            assert_eq!(code(desk.ask(event).await), "belongs_to_flow", "{name} {reference}");
        }
    }
    let history = desk.store.history(0, 100).await.unwrap();
    let mut booked = history.iter().flat_map(|commit| &commit.transactions);
    let booked = booked.find(|transaction| transaction.reference == held.id).unwrap();
    let revert = Event {
        name: "REVERT".to_owned(),
        reference: booked.id.to_string(),
        variables: std::collections::BTreeMap::new(),
        effective_at: None,
    };
    assert_eq!(code(desk.ask(Body::Post(revert)).await), "belongs_to_flow");
    assert_eq!(desk.balance(HELD).await, 1_050);
    desk.assert_sound().await;
}

#[test]
fn reservations_live_in_memory() {
    let rules = rules();
    block_on(async {
        lives(Desk::new(&rules, Memory::default(), 0)).await;
        keys(Desk::new(&rules, Memory::default(), 0)).await;
        ownership(Desk::new(&rules, Memory::default(), 0)).await;
    });
}

#[test]
fn reservations_live_in_sqlite() {
    let rules = rules();
    let scratch = Scratch::new();
    let open = |name: &str| Desk::new(&rules, Sqlite::open(&scratch.path().join(name)).unwrap(), 0);
    block_on(async {
        lives(open("a")).await;
        keys(open("b")).await;
        ownership(open("c")).await;
    });
}

/// Each change is made on fresh books and undone by throwing them away.
#[test]
fn a_changed_flow_event_or_audit_entry_is_found() {
    let rules = rules();
    let changes = [
        "UPDATE flows SET state = replace(state, 'held', 'settled'), status = 'SETTLED' WHERE status = 'HELD'",
        "UPDATE flows SET state = replace(state, 'settled', 'released'), status = 'RELEASED' WHERE status = 'SETTLED'",
        "UPDATE flows SET merchant = 'm2' WHERE status = 'HELD'",
        "UPDATE flows SET status = 'SETTLED' WHERE status = 'HELD'",
        "UPDATE flows SET state = replace(state, '\"amount\":100', '\"amount\":900')",
        "UPDATE flows SET sequence = 5 WHERE status = 'HELD'",
        "DELETE FROM flows WHERE status = 'HELD'",
        "DELETE FROM due",
        "UPDATE due SET due_at = due_at + 1",
        "INSERT INTO due SELECT 'other', due_at, flow FROM due",
        "UPDATE events SET data = replace(data, '10.00', '90.00') WHERE sequence = 1",
        "DELETE FROM events WHERE kind = 'reservation.settled'",
        "UPDATE audit SET actor = 'nobody'",
        "INSERT INTO audit SELECT zeroblob(16), n, actor, action, resource, note, time FROM audit",
    ];
    let mut found = Vec::new();
    for change in changes {
        let scratch = Scratch::new();
        let open = || Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        block_on(async {
            let mut desk = open();
            desk.fund().await;
            desk.ask(reserve(key("a"), "10")).await.unwrap();
            let settled = view(desk.ask(reserve(key("b"), "10")).await);
            let settle = decide(key("c"), &settled.id, Verdict::Settle, None);
            desk.ask(settle).await.unwrap();
            desk.assert_sound().await;
        });
        let file = rusqlite::Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
        assert!(file.execute(change, []).unwrap() > 0, "{change} changes nothing");
        drop(file);
        let differences = block_on(async { open().differences().await });
        assert!(!differences.is_empty(), "{change} is not found");
        found.push(format!("{change}\n  {}", differences.join("\n  ")));
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn reservations_live_in_postgres() {
    let rules = rules();
    let cluster = Cluster::start();
    let open = async |name: &str| {
        Desk::new(&rules, Postgres::open(&cluster.new_database(name)).await.unwrap(), 0)
    };
    block_on(async {
        lives(open("a").await).await;
        keys(open("b").await).await;
        ownership(open("c").await).await;
    });
}

/// Four processes wake what is due while others decide about the same reservations: each ends once, none is forgotten.
#[test]
fn a_reservation_that_is_due_is_woken_by_one_of_many() {
    let rules = rules();
    let cluster = Cluster::start();
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        let mut ids = Vec::new();
        for number in 0..200 {
            ids.push(view(desk.ask(reserve(key(&number.to_string()), "0.25")).await).id);
        }
        let running = Cell::new(4);
        let workers = (1..=4).map(|worker| work(&cluster, &rules, &ids, worker, &running));
        let (ended, followed) =
            tokio::join!(concurrently(workers), follow(cluster.url(), &running));
        let mut ended: Vec<String> = ended.into_iter().flatten().collect();
        ended.sort();
        ids.sort();
        assert_eq!(ended, ids, "each was ended by exactly one of them");
        let feed = desk.store.events(Cursor::default(), 10_000).await.unwrap();
        assert_eq!(feed.len(), 400, "each was held and ended");
        assert_eq!(followed, feed, "whoever follows the feed misses nothing and sees nothing late");
        assert_eq!(desk.balance(HELD).await, 0);
        assert_eq!(desk.store.due().await.unwrap(), []);
        desk.assert_sound().await;
    });
}

/// Wakes, or settles by hand, until nothing is left; returns what this one has ended.
async fn work(
    cluster: &Cluster,
    rules: &Rules,
    ids: &[String],
    worker: u64,
    running: &Cell<u32>,
) -> Vec<String> {
    let store = Postgres::open(&cluster.url()).await.unwrap();
    let mut desk = Desk::new(rules, store, worker);
    desk.now = START + SignedDuration::from_hours(2);
    let mut ended = Vec::new();
    for id in ids.iter().skip(usize::try_from(worker).unwrap()).step_by(9) {
        ended.extend(desk.wake(LANE, 7).await.flows);
        let by_hand = decide(key(&format!("{worker}-{id}")), id, Verdict::Settle, None);
        match desk.ask(by_hand).await {
            Ok(_) => ended.push(id.clone()),
            Err(rejection) => assert_eq!(rejection.code(), "flow_ended"),
        }
    }
    // What others hold is passed over, so nothing found does not yet mean that nothing is left.
    while !desk.store.due().await.unwrap().is_empty() {
        ended.extend(desk.wake(LANE, 7).await.flows);
    }
    running.set(running.get() - 1);
    ended
}

/// Reads the feed while it is written, a few events at a time, always going on from the last place.
async fn follow(url: String, running: &Cell<u32>) -> Vec<(Cursor, FeedEvent)> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut seen: Vec<(Cursor, FeedEvent)> = Vec::new();
    loop {
        let is_last_look = running.get() == 0;
        let after = seen.last().map(|(place, _)| *place).unwrap_or_default();
        let page = store.events(after, 3).await.unwrap();
        if page.is_empty() && is_last_look {
            return seen;
        }
        seen.extend(page);
        tokio::task::yield_now().await;
    }
}

/// A flow that one process decides about is not waited for by another that wakes.
#[test]
fn waking_passes_over_what_others_hold() {
    use bursar_core::plan::{DueClaim, ReadPlan};
    use bursar_store::Turn as _;
    let rules = rules();
    let cluster = Cluster::start();
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        let a = view(desk.ask(reserve(key("a"), "1")).await).id;
        let b = view(desk.ask(reserve(key("b"), "1")).await).id;
        let id = |text: &str| FlowId::from(text.parse::<ReservationId>().unwrap());
        let mut other = Postgres::open(&cluster.url()).await.unwrap();
        let named = ReadPlan { flows: [id(&a)].into(), ..ReadPlan::default() };
        let mut holder = other.begin().await.unwrap();
        assert_eq!(holder.load(&named).await.unwrap().flows.len(), 1);
        let now = START + SignedDuration::from_hours(2);
        let due = vec![DueClaim { lane: LANE.to_owned(), now, limit: 10 }];
        let claim = ReadPlan { due, ..ReadPlan::default() };
        let mut claimer = desk.store.begin().await.unwrap();
        let found = claimer.load(&claim).await.unwrap().flows;
        assert_eq!(found.iter().map(|flow| flow.id).collect::<Vec<_>>(), [id(&b)]);
    });
}
