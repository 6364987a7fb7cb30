//! Only a payout changes its own bookings, once, whichever process claims it; verification finds a changed row.

use std::cell::Cell;
use std::sync::Arc;

use bursar_core::dispatch::QueueClaim;
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::ids::{FlowId, PayoutId};
use bursar_core::ledger::{LedgerEvent, Post};
use bursar_core::payouts::{Cancel, Cancellation, Create, submit_lane};
use bursar_core::rules::Rules;
use bursar_core::turn::ReadPlan;
use bursar_store::{Postgres, Query, Sqlite, Store, Turn as _, Walk as _};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::{Desk, START};
use crate::payouts::{Payments, code, create, key, paid, view};
use crate::raw::rows;
use crate::scratch::Scratch;
use crate::stores::on_every_store;
use crate::workload::{block_on, concurrently, event, rules};

const HELD: &str = "holds:payout:m1:PKR";

fn cancel(name: &str, id: &str) -> Cancel {
    let id = id.parse().unwrap();
    let cancellation = Cancellation { id, expected_version: None, actor: "ops".to_owned() };
    Cancel { key: key(name), cancellation }
}

/// A caller can neither post nor revert an event that belongs to a payout.
async fn only_the_payout_changes_its_bookings(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let held = view(desk.ask(create("a", "10")).await);
    for name in ["PAYOUT_SETTLE", "PAYOUT_RELEASE", "PAYOUT_RESERVE"] {
        for reference in [held.id.clone(), format!("{}#2", held.id)] {
            let event = event(desk.rules, name, &reference);
            let refused = desk.ask(Post { event, actor: None }).await;
            assert_eq!(code(refused), "belongs_to_flow", "{name} {reference}");
        }
    }
    let history = desk.store.history(0, 100).await.unwrap();
    let mut booked = history.iter().flat_map(|commit| &commit.transactions);
    let booked = booked.find(|transaction| transaction.reference == held.id).unwrap();
    let event = LedgerEvent {
        name: "REVERT".to_owned(),
        reference: booked.id.to_string(),
        variables: std::collections::BTreeMap::new(),
        effective_at: None,
    };
    assert_eq!(code(desk.ask(Post { event, actor: None }).await), "belongs_to_flow");
    assert_eq!(desk.balance(HELD).await, 1_055);
    desk.assert_sound().await;
}

/// The same request under a key has the same reply, however late. Another request under it is rejected. A rejected
/// request does not use the key.
async fn a_key_has_one_reply(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.open_merchant().await;
    assert_eq!(code(desk.ask(create("a", "10")).await), "missing_funds");
    desk.fund().await;
    let first = desk.ask(create("a", "10")).await.unwrap();
    assert!(!first.is_replay);
    let again = desk.ask(create("a", "10.00")).await.unwrap();
    assert_eq!((again.view, again.is_replay), (Arc::clone(&first.view), true));
    assert_eq!(code(desk.ask(create("a", "11")).await), "idempotency_mismatch");
    let other = Create {
        key: bursar_core::idempotency::Key::new("m2".to_owned(), "a".to_owned()),
        ..create("a", "10")
    };
    let second = view(desk.ask(other).await);
    assert_ne!(second.id, first.view.id, "each caller has its own keys");

    let mut stale = cancel("c", &first.view.id);
    stale.cancellation.expected_version = Some(7);
    assert_eq!(code(desk.ask(stale).await), "stale_version");
    let cancelled = view(desk.ask(cancel("c", &first.view.id)).await);
    assert_eq!(view(desk.ask(cancel("c", &first.view.id)).await), cancelled);
    desk.now = START + SignedDuration::from_hours(100);
    assert_eq!(desk.ask(create("a", "10")).await.unwrap().view, first.view);
    assert_eq!(desk.balance(HELD).await, 1_055, "the second is still held");
    desk.assert_sound().await;
}

on_every_store! { only_the_payout_changes_its_bookings, a_key_has_one_reply, }

/// Tables, columns that the statement changes, and the statement.
const CHANGES: [(&str, &[&str], &str); 32] = [
    (
        "flows",
        &["state", "status"],
        "UPDATE flows SET state = replace(state, '\"state\":{\"ready\":{\"not_before\":\"2026-11-15T00:00:06Z\"}}', '\"state\":\"success\"'), status = 'SUCCESS' WHERE status = 'READY'",
    ),
    (
        "flows",
        &["state", "status"],
        "UPDATE flows SET state = replace(state, '\"state\":\"success\"', '\"state\":\"cancelled\"'), status = 'CANCELLED' WHERE status = 'SUCCESS'",
    ),
    ("flows", &["merchant"], "UPDATE flows SET merchant = 'm2' WHERE status = 'READY'"),
    ("flows", &["status"], "UPDATE flows SET status = 'SUCCESS' WHERE status = 'READY'"),
    (
        "flows",
        &["state"],
        "UPDATE flows SET state = replace(state, '\"amount\":1000', '\"amount\":9000')",
    ),
    ("flows", &["parent"], "UPDATE flows SET parent = zeroblob(16) WHERE status = 'READY'"),
    ("flows", &["sequence"], "UPDATE flows SET sequence = 5 WHERE status = 'READY'"),
    ("flows", &["id"], "DELETE FROM flows WHERE status = 'READY'"),
    ("holds", &["ended_by"], "UPDATE holds SET ended_by = NULL WHERE ended_by IS NOT NULL"),
    ("holds", &["epoch"], "UPDATE holds SET epoch = 4000000000"),
    ("holds", &["amount"], "UPDATE holds SET amount = amount + 1 WHERE ended_by IS NULL"),
    ("holds", &["reference"], "DELETE FROM holds WHERE ended_by IS NULL"),
    ("holds", &["reference"], "DELETE FROM holds WHERE ended_by IS NOT NULL"),
    (
        "holds",
        &["reference"],
        "INSERT INTO holds SELECT gl, 'forged', account, currency, amount, epoch, ended_by FROM holds WHERE ended_by IS NULL",
    ),
    ("due", &["flow"], "DELETE FROM due"),
    ("due", &["due_at"], "UPDATE due SET due_at = due_at + 1"),
    ("due", &["lane"], "INSERT INTO due SELECT 'other', due_at, flow FROM due"),
    ("queues", &["waiting"], "UPDATE queues SET waiting = waiting + 1"),
    ("queues", &["first_due"], "UPDATE queues SET first_due = first_due + 1"),
    ("queues", &["first_flow"], "UPDATE queues SET first_flow = zeroblob(16)"),
    ("queues", &["rank"], "UPDATE queues SET rank = 2"),
    ("queues", &["grp"], "DELETE FROM queues"),
    (
        "events",
        &["data"],
        "UPDATE events SET data = replace(data, '10.00', '90.00') WHERE sequence = 1",
    ),
    ("events", &["id"], "DELETE FROM events WHERE kind = 'payout.success'"),
    ("audit", &["actor"], "UPDATE audit SET actor = 'another'"),
    ("tallies", &["count"], "UPDATE tallies SET count = count + 1 WHERE name LIKE '%/READY/%'"),
    ("tallies", &["minor"], "UPDATE tallies SET minor = minor - 1 WHERE name LIKE '%/READY/%'"),
    ("tallies", &["entered"], "UPDATE tallies SET entered = 0 WHERE name LIKE '%/READY/%'"),
    ("tallies", &["name"], "DELETE FROM tallies WHERE name LIKE '%/SUCCESS/%'"),
    (
        "reviews",
        &["flow"],
        "INSERT INTO reviews SELECT id, kind, merchant, 'stuck', updated_at FROM flows WHERE status = 'READY'",
    ),
    (
        "labels",
        &["label"],
        "INSERT INTO labels SELECT 'forged', id FROM flows WHERE status = 'READY'",
    ),
    (
        "audit",
        &["commit_id"],
        "INSERT INTO audit SELECT zeroblob(16), n, actor, action, resource, note, time FROM audit",
    ),
];

/// The number of rows that only one of the two lists has.
fn changed(before: &[String], after: &[String]) -> usize {
    let mut new = after.to_vec();
    let is_old = |row: &&String| match new.iter().position(|it| it == *row) {
        Some(index) => {
            new.swap_remove(index);
            false
        }
        None => true,
    };
    let old = before.iter().filter(is_old).count();
    old.max(new.len())
}

/// Each change is made on new books, and changes every column that it names in every row that it touches.
#[test]
fn a_changed_flow_event_or_audit_entry_is_found() {
    let rules = rules();
    let mut found = Vec::new();
    for (table, columns, change) in CHANGES {
        let scratch = Scratch::new();
        let open = || Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        block_on(async {
            let mut desk = open();
            desk.fund().await;
            desk.open_merchant().await;
            let mut payments = Payments { desk };
            let (_, effect) = payments.submit("a", "10").await;
            payments.submitted(&effect, paid()).await;
            payments.desk.ask(create("b", "10")).await.unwrap();
            payments.desk.assert_sound().await;
        });
        let values = |column: &&str| rows(scratch.path(), (table, *column));
        let before: Vec<Vec<String>> = columns.iter().map(values).collect();
        let file = rusqlite::Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
        let count = file.execute(change, []).unwrap();
        drop(file);
        assert!(count > 0, "{change} touches no row");
        for (column, before) in columns.iter().zip(&before) {
            let changed = changed(before, &values(column));
            assert_eq!(changed, count, "{change} changes {column} in {changed} rows");
        }
        let differences = block_on(async { open().differences().await });
        assert!(!differences.is_empty(), "{change} is not found");
        found.push(format!("{change}\n  {}", differences.join("\n  ")));
    }
    insta::assert_snapshot!(found.join("\n"));
}

/// Four processes claim due payouts, and each also cancels some of them: exactly one process submits or cancels a payout.
#[test]
fn a_due_payout_is_claimed_by_one_of_many_processes() {
    let rules = rules();
    let cluster = Cluster::start();
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let mut ids = Vec::new();
        for number in 0..200 {
            ids.push(view(desk.ask(create(&number.to_string(), "0.25")).await).id);
        }
        let running = Cell::new(4);
        let workers = (1..=4).map(|worker| work(&cluster, &rules, &ids, worker, &running));
        let (done, followed) = tokio::join!(concurrently(workers), follow(cluster.url(), &running));
        let (mut sent, cancelled): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let cancelled: Vec<String> = cancelled.into_iter().flatten().collect();
        let mut done: Vec<String> = sent.drain(..).flatten().chain(cancelled.clone()).collect();
        done.sort();
        ids.sort();
        assert_eq!(done, ids, "exactly one process submitted or cancelled each payout");
        let feed = desk.store.events(Cursor::default(), 10_000).await.unwrap();
        assert_eq!(feed.len(), 400, "each payout has two events");
        assert_eq!(followed, feed, "a reader of the feed misses no event and sees none late");
        let sent = i64::try_from(ids.len() - cancelled.len()).unwrap();
        assert_eq!(desk.balance(HELD).await, sent * (25 + 55));
        desk.assert_sound().await;
    });
}

/// Claims and cancels until no payout is ready. Returns the payouts that this process has submitted and cancelled.
async fn work(
    cluster: &Cluster,
    rules: &Rules,
    ids: &[String],
    worker: u64,
    running: &Cell<u32>,
) -> (Vec<String>, Vec<String>) {
    let store = Postgres::open(&cluster.url()).await.unwrap();
    let mut desk = Desk::new(rules, store, worker);
    desk.now = START + SignedDuration::from_mins(10);
    let lane = submit_lane("wallet");
    let (mut sent, mut cancelled) = (Vec::new(), Vec::new());
    for id in ids.iter().skip(usize::try_from(worker).unwrap()).step_by(9) {
        sent.extend(desk.claim(&lane, 7).await.flows);
        match desk.ask(cancel(&format!("{worker}-{id}"), id)).await {
            Ok(_) => cancelled.push(id.clone()),
            Err(rejection) => assert_eq!(rejection.code(), "not_cancellable"),
        }
    }
    // A claim skips locked rows, so an empty claim does not mean that the lane is empty.
    let is_ready = |due: &(bursar_core::flow::Due, FlowId)| due.0.lane.starts_with(&lane);
    while desk.store.due().await.unwrap().iter().any(is_ready) {
        sent.extend(desk.claim(&lane, 7).await.flows);
    }
    running.set(running.get() - 1);
    (sent, cancelled)
}

/// Reads the feed while it is written, three events at a time, from the last cursor on.
async fn follow(url: String, running: &Cell<u32>) -> Vec<(Cursor, FeedEvent)> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut seen: Vec<(Cursor, FeedEvent)> = Vec::new();
    loop {
        let is_last_read = running.get() == 0;
        let after = seen.last().map(|(cursor, _)| *cursor).unwrap_or_default();
        let page = store.events(after, 3).await.unwrap();
        if page.is_empty() && is_last_read {
            return seen;
        }
        seen.extend(page);
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_claim_skips_flows_that_another_turn_has_locked() {
    let rules = rules();
    let cluster = Cluster::start();
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let a = view(desk.ask(create("a", "1")).await).id;
        let b = view(desk.ask(create("b", "1")).await).id;
        let id = |text: &str| FlowId::from(text.parse::<PayoutId>().unwrap());
        let mut other = Postgres::open(&cluster.url()).await.unwrap();
        let named = ReadPlan { flows: [id(&a)].into(), ..ReadPlan::default() };
        let mut holder = other.begin().await.unwrap();
        assert_eq!(holder.load(&named).await.unwrap().flows.len(), 1);
        let now = START + SignedDuration::from_hours(2);
        let queues = vec![QueueClaim { group: submit_lane("wallet"), now, limit: 10, served: 0 }];
        let claim = ReadPlan { queues, ..ReadPlan::default() };
        let mut claimer = desk.store.begin().await.unwrap();
        let found = claimer.load(&claim).await.unwrap().flows;
        assert_eq!(found.iter().map(|flow| flow.id).collect::<Vec<_>>(), [id(&b)]);
    });
}
