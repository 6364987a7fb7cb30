//! Closings on every store: reports of the past that begin with one equal those that fold every commit.

use bursar_core::ledger::closing::{Close, ClosedAccount, SinceClosing};
use bursar_core::ledger::views::{AsOf, Balance, BalanceFold, Clock, TrialBalanceFold};
use bursar_core::ledger::{LedgerEvent, Post};
use bursar_core::numscript::Name;
use bursar_store::{Query, Sqlite, Store, Walk as _};
use jiff::{SignedDuration, Timestamp};

use crate::desk::{Desk, START};
use crate::scratch::Scratch;
use crate::stores::on_every_store;
use crate::workload::{block_on, event, rules};

on_every_store! { reports_of_the_past_begin_with_a_closing, }

fn day(number: i64) -> Timestamp {
    START + SignedDuration::from_hours(24 * number)
}

/// Three events a day for five days: one happened two days before it was posted, one happens a day later.
async fn five_days<S: Store + Query>(desk: &mut Desk<'_, S>) {
    for number in 0..5 {
        desk.now = day(number);
        for (name, shift) in [("now", 0), ("late", -2), ("early", 1)] {
            let event = LedgerEvent {
                effective_at: (shift != 0).then(|| day(number + shift)),
                ..event(desk.rules, "ADJUSTMENT_CREDIT", &format!("{name}-{number}"))
            };
            desk.ask(Post { event, actor: None }).await.unwrap();
        }
        if number != 2 {
            close(desk).await;
        }
    }
}

/// Closes as of the head, in parts of one account. Returns the commit.
async fn close<S: Store + Query>(desk: &mut Desk<'_, S>) -> u64 {
    let before = desk.store.closings().await.unwrap().last().copied();
    let mut since = SinceClosing::new(before);
    let after = before.map_or(0, |closing| closing.seq);
    for commit in desk.store.history(after, 1_000).await.unwrap() {
        since.add(&commit);
    }
    let closing = since.closing().unwrap();
    let rows = desk.store.closed_accounts(after).await.unwrap();
    let closed = since.moved.iter().map(|(key, moved)| {
        let is_same = |row: &&ClosedAccount| (&row.address, row.currency) == (&key.0, key.1);
        moved.close(key, rows.iter().find(is_same))
    });
    let closed: Vec<ClosedAccount> = closed.collect();
    let last = closed.len() - 1;
    for (row, number) in closed.into_iter().zip(0..) {
        let closing = (number == last).then_some(closing);
        let part = Close { seq: since.closing().unwrap().seq, accounts: vec![row], closing };
        desk.ask(part.clone()).await.unwrap();
        // Another process closes the same day.
        desk.ask(part).await.unwrap();
    }
    closing.seq
}

async fn reports_of_the_past_begin_with_a_closing(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    five_days(&mut desk).await;
    assert_eq!(desk.store.closings().await.unwrap().len(), 4);
    desk.assert_sound().await;
    let accounts = desk.store.accounts().await.unwrap();
    let known = || accounts.iter().map(|(address, account): &(Name, _)| (address, account));
    let history = desk.store.history(0, 1_000).await.unwrap();
    let transactions = || history.iter().flat_map(|commit| &commit.transactions);
    let mut begun = 0;
    for hours in (-72..=192).step_by(6) {
        for clock in [Clock::Effective, Clock::Inserted] {
            let as_of = AsOf { time: START + SignedDuration::from_hours(hours), clock };
            let mut trial = TrialBalanceFold::new(known(), Some(as_of));
            let mut balances = BalanceFold::new(known(), as_of);
            for transaction in transactions() {
                trial.add(transaction).unwrap();
                balances.add(transaction).unwrap();
            }
            let found = desk.store.trial_balance(Some(as_of)).await.unwrap();
            assert_eq!(found, trial.finish(), "{as_of:?}");
            let found = desk.store.balances(as_of).await.unwrap();
            let expected: Vec<Balance<'_>> = balances.balances().collect();
            assert_eq!(found.balances().collect::<Vec<_>>(), expected, "{as_of:?}");
            let closing = desk.store.closing_before(as_of).await.unwrap();
            let mut visited = 0;
            let count = |_: &_| {
                visited += 1;
                Ok::<(), bursar_store::StoreError>(())
            };
            desk.store.each_commit_until(closing, as_of, count).await.unwrap();
            assert!(visited <= history.len());
            begun += usize::from(closing.is_some() && visited < history.len());
        }
    }
    let (closing, report) = desk.store.verify_since_closing().await.unwrap().unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(closing.seq < report.commits && report.transactions < 15, "{report:?}");
    assert!(begun > 20, "most reports begin with a closing: {begun}");
}

/// No constraint of the database keeps closings consistent with the postings.
#[test]
fn a_changed_closing_is_found() {
    let rules = rules();
    for (change, words) in [
        ("UPDATE closed_accounts SET balance = balance + 1", "the closing as of commit"),
        ("UPDATE closed_accounts SET received = received - 1", "the closing as of commit"),
        (
            "DELETE FROM closed_accounts WHERE seq = (SELECT min(seq) FROM closings)",
            "has no row for it",
        ),
        ("UPDATE closings SET hash = zeroblob(32)", "has another hash or other times"),
        ("UPDATE closings SET latest = latest + 1", "has another hash or other times"),
        (
            "INSERT INTO closings SELECT 999, hash, time, earliest, latest FROM closings LIMIT 1",
            "no such commit",
        ),
    ] {
        let scratch = Scratch::new();
        block_on(async {
            let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
            five_days(&mut desk).await;
            desk.assert_sound().await;
            drop(desk);
            let file = rusqlite::Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
            assert!(file.execute(change, []).unwrap() > 0, "{change}");
            drop(file);
            let mut store = Sqlite::open(scratch.path()).unwrap();
            let report = store.verify(&rules.rulebook).await.unwrap();
            let is_found = report.differences.iter().any(|found| found.contains(words));
            assert!(is_found, "{change}: {:?}", report.differences);
        });
    }
}
