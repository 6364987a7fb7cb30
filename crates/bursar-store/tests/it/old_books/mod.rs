//! Books of earlier versions are migrated, verify, and go on in today's form; and forged links are found.

use std::path::Path;

use bursar_core::flow::{Kind as _, ReviewReason};
use bursar_core::payouts::{Create, Payout};
use bursar_core::turn::{Link, Tally};
use bursar_store::{Browse, FlowFilter, Postgres, Query, Sqlite, Store};
use rusqlite::Connection;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payout_steps::new_payout;
use crate::payouts::key;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// The scenario of `golden/rows.rs`, and a stuck payout and a case with trace ids, written by the last version with a chain
/// of version 1.
const SQLITE_V8: &str = include_str!("sqlite_v8.sql");
const POSTGRES_V10: &str = include_str!("postgres_v10.sql");
const COMMITS: usize = 31;

fn run_sql(directory: &Path, sql: &str) {
    Connection::open(directory.join("bursar.sqlite")).unwrap().execute_batch(sql).unwrap();
}

/// How many commits are linked in version 1 and in version 2.
async fn versions<S: Query>(store: &mut S) -> (usize, usize) {
    let history = store.history(0, u32::MAX).await.unwrap();
    let is_first = |link: &Link| matches!(link, Link::V1);
    let first = history.iter().take_while(|commit| is_first(&commit.link)).count();
    assert!(!history[first..].iter().any(|commit| is_first(&commit.link)));
    (first, history.len() - first)
}

/// Migrated books verify, list what waits for a person, find labels, and go on.
async fn go_on(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 9);
    assert_eq!(versions(&mut desk.store).await, (COMMITS, 0));
    desk.assert_sound().await;
    let waiting = desk.store.waiting_reviews().await.unwrap();
    let counts: Vec<_> = waiting.iter().map(|it| (it.kind, it.reason, it.count)).collect();
    assert_eq!(counts, [("payout", ReviewReason::Stuck, 1), ("payout", ReviewReason::Case, 1)]);
    for label in ["trace-stuck", "trace-case"] {
        let trace_id = Some(label.to_owned());
        let filter = FlowFilter { kind: "payout", trace_id, ..FlowFilter::default() };
        let page = desk.store.list_flows_desc(&filter, None, 10).await.unwrap();
        assert_eq!(page.flows.len(), 1, "{label}");
    }
    repeat_an_old_request(&mut desk).await;
    let tallies = desk.store.tallies("flow/payout/STUCK/").await.unwrap();
    let tally = Tally { count: 1, minor: 700, entered: 1 };
    assert_eq!(tallies.into_values().collect::<Vec<_>>(), [tally]);
    desk.ask(crate::workload::registration("m2")).await.unwrap();
    assert_eq!(versions(&mut desk.store).await, (COMMITS, 1));
    desk.assert_sound().await;
}

/// A request of an earlier version has the same hash now, and its stored reply, which has no beneficiary, is read. The payout
/// itself has a beneficiary.
async fn repeat_an_old_request<S: Store + Browse>(desk: &mut Desk<'_, S>) {
    let mut payout = new_payout("m1", "7");
    payout.remarks.trace_id = Some("trace-stuck".to_owned());
    let create = Create { key: key("stuck"), payout, actor: None, workflow: None };
    let given = desk.ask(create).await.unwrap();
    assert!(given.is_replay);
    assert_eq!((given.view.beneficiary.as_ref(), given.view.status.as_str()), (None, "READY"));
    let id = Payout::INFO.flow_id(&given.view.id).unwrap();
    let flow = desk.store.flow(id).await.unwrap().unwrap();
    let view = flow.state.payout().unwrap().view(&flow);
    let shown = view.beneficiary.unwrap();
    assert_eq!((&*shown.name, shown.msisdn.as_deref()), ("A*** K***", Some("****4567")));
    assert_eq!(view.provider_reference.as_deref(), Some("P-1"));
}

#[test]
fn sqlite_books_with_the_first_chain_are_migrated_and_go_on() {
    let scratch = Scratch::new();
    run_sql(scratch.path(), SQLITE_V8);
    block_on(async { go_on(Sqlite::open(scratch.path()).unwrap()).await });
}

#[test]
fn postgres_books_with_the_first_chain_are_migrated_and_go_on() {
    let cluster = Cluster::start();
    block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(POSTGRES_V10).await.unwrap();
        drop(client);
        go_on(Postgres::open(&cluster.url()).await.unwrap()).await;
    });
}

/// A report must not stop the processes that use the old schema.
#[test]
fn a_reader_does_not_migrate_old_books() {
    let scratch = Scratch::new();
    run_sql(scratch.path(), SQLITE_V8);
    let before = std::fs::read(scratch.path().join("bursar.sqlite")).unwrap();
    let refused = Sqlite::reader(scratch.path()).unwrap_err().to_string();
    assert!(
        refused.contains("schema version 8") && refused.contains("bursar migrate"),
        "{refused}"
    );
    assert_eq!(std::fs::read(scratch.path().join("bursar.sqlite")).unwrap(), before);
    let newer = "INSERT INTO refinery_schema_history VALUES (99, 'later', '', '')";
    run_sql(scratch.path(), newer);
    let refused = Sqlite::reader(scratch.path()).unwrap_err().to_string();
    assert!(refused.contains("use the newer version"), "{refused}");
}

/// The differences after a change of the old books, to which two commits of version 2 were added.
fn differences_after(change: &str) -> Vec<String> {
    let (scratch, rules) = (Scratch::new(), rules());
    run_sql(scratch.path(), SQLITE_V8);
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 9);
        for merchant in ["m2", "m3"] {
            desk.ask(crate::workload::registration(merchant)).await.unwrap();
        }
        run_sql(scratch.path(), change);
        desk.differences().await
    })
}

fn wrong_digest(section: &str) -> String {
    format!(
        "the {section} of commit 32 do not have their digest: a row was changed, added or removed"
    )
}

fn wrong_hash(seq: u32) -> String {
    format!(
        "commit {seq} does not have its hash: its rows, its time, its digests or the order of commits were changed"
    )
}

#[test]
fn a_forged_link_is_found() {
    let of_first = "commit_id = (SELECT id FROM commits WHERE seq = 32)";
    let audit = format!("UPDATE audit SET note = note || '.' WHERE {of_first}");
    assert_eq!(differences_after(&audit), [wrong_digest("audit entries")]);

    let digests = "UPDATE commits SET digests = zeroblob(96) WHERE seq = 32";
    let all = ["transactions", "events", "audit entries"].map(wrong_digest);
    assert_eq!(differences_after(digests), [&all[..], &[wrong_hash(32)]].concat());

    let first = "UPDATE commits SET version = 1, digests = NULL WHERE seq = 33";
    let behind =
        "commit 33 is linked as version 1 behind one of version 2: it was added or changed";
    assert_eq!(differences_after(first), [behind.to_owned(), wrong_hash(33)]);

    for unknown in ["version = 3", "digests = x'00'", "archived = 8", "version = 1"] {
        let found = differences_after(&format!("UPDATE commits SET {unknown} WHERE seq = 32"));
        assert!(
            found.len() == 1 && found[0].starts_with("commit 32 is linked as version "),
            "{unknown}: {found:?}"
        );
    }
}

/// A section without rows is linked by its digest, so that it may be archived. The mark alone proves no archive.
#[test]
fn a_section_without_rows_is_linked_by_its_digest() {
    let of_first = "WHERE commit_id = (SELECT id FROM commits WHERE seq = 32);";
    let archive = "UPDATE commits SET archived = 4 WHERE seq = 32";
    let delete = format!("DELETE FROM audit {of_first}");
    assert_eq!(differences_after(&delete), [wrong_digest("audit entries")]);
    let marked = "the audit entries of commit 32 are marked as archived, and no archive is known that has them";
    assert_eq!(differences_after(&format!("{delete} {archive}")), [marked]);
    // Rows that are there are compared, whatever the mark says.
    let forged = format!("UPDATE audit SET note = note || '.' {of_first} {archive}");
    let found = differences_after(&forged);
    assert_eq!(found, [marked.to_owned(), wrong_digest("audit entries")]);
}

/// The sum of the postings is above the largest integer: the migration counts as far as it can.
#[test]
fn a_turnover_above_the_largest_integer_is_migrated() {
    let scratch = Scratch::new();
    let large = "UPDATE postings SET amount = 9223372036854775807 WHERE destination = 'merchants:m1:available:PKR'";
    run_sql(scratch.path(), &format!("{SQLITE_V8} {large}"));
    block_on(async {
        let mut store = Sqlite::open(scratch.path()).unwrap();
        let accounts = store.accounts().await.unwrap();
        let account =
            accounts.iter().find(|(address, _)| &**address == "merchants:m1:available:PKR");
        assert_eq!(account.unwrap().1.received, i64::MAX);
    });
}
