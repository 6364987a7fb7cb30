//! Books of earlier versions are migrated, verify, and go on in today's form; and forged links are found.

use std::path::Path;

use bursar_core::turn::Link;
use bursar_store::{Query as _, Sqlite};
use rusqlite::Connection;

use crate::desk::Desk;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// The scenario of `golden/rows.rs`, written by the last version with a chain of version 1.
const SQLITE_V8: &str = include_str!("sqlite_v8.sql");

fn run_sql(directory: &Path, sql: &str) {
    Connection::open(directory.join("bursar.sqlite")).unwrap().execute_batch(sql).unwrap();
}

/// How many commits are linked in version 1 and in version 2.
async fn versions(desk: &mut Desk<'_, Sqlite>) -> (usize, usize) {
    let history = desk.store.history(0, u32::MAX).await.unwrap();
    let is_first = |link: &Link| matches!(link, Link::V1);
    let first = history.iter().take_while(|commit| is_first(&commit.link)).count();
    assert!(!history[first..].iter().any(|commit| is_first(&commit.link)));
    (first, history.len() - first)
}

#[test]
fn books_with_the_first_chain_are_migrated_and_go_on() {
    let (scratch, rules) = (Scratch::new(), rules());
    run_sql(scratch.path(), SQLITE_V8);
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 9);
        assert_eq!(versions(&mut desk).await, (25, 0));
        desk.assert_sound().await;
        desk.ask(crate::workload::registration("m2")).await.unwrap();
        assert_eq!(versions(&mut desk).await, (25, 1));
        desk.assert_sound().await;
    });
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

#[test]
fn a_forged_link_is_found() {
    let digest = |section: &str| {
        format!(
            "the {section} of commit 26 do not have their digest: a row was changed, added or removed"
        )
    };
    let hash = |seq: u32| {
        format!(
            "commit {seq} does not have the hash of its rows: a row of it, or the order of commits, was changed"
        )
    };
    let of_26 = "commit_id = (SELECT id FROM commits WHERE seq = 26)";
    let audit = format!("UPDATE audit SET note = note || '.' WHERE {of_26}");
    assert_eq!(differences_after(&audit), [digest("audit entries")]);

    let digests = "UPDATE commits SET digests = zeroblob(96) WHERE seq = 26";
    let all = ["transactions", "events", "audit entries"].map(digest);
    assert_eq!(differences_after(digests), [&all[..], &[hash(26)]].concat());

    let first = "UPDATE commits SET version = 1, digests = NULL WHERE seq = 27";
    let behind =
        "commit 27 is linked as version 1 behind one of version 2: it was added or changed";
    assert_eq!(differences_after(first), [behind.to_owned(), hash(27)]);

    let version = "UPDATE commits SET version = 3 WHERE seq = 26";
    let found = differences_after(version);
    assert!(found.len() == 1 && found[0].contains("commit 26 is linked as version 3"), "{found:?}");
}

/// An archived section has no rows here, and the chain is verified by its digest.
#[test]
fn an_archived_section_is_verified_by_its_digest() {
    let without = |section: &str| {
        format!("DELETE FROM {section} WHERE commit_id = (SELECT id FROM commits WHERE seq = 26);")
    };
    let removed = differences_after(&without("audit"));
    let digest = "the audit entries of commit 26 do not have their digest: a row was changed, added or removed";
    assert_eq!(removed, [digest]);
    let archive = "UPDATE commits SET archived = 4 WHERE seq = 26";
    assert_eq!(differences_after(&format!("{} {archive}", without("audit"))), [""; 0]);
    // Rows that are there are compared, whatever the mark says.
    let forged = "UPDATE audit SET note = note || '.' WHERE commit_id = (SELECT id FROM commits WHERE seq = 26);";
    assert_eq!(differences_after(&format!("{forged} {archive}")), [digest]);
    let no_closing = "UPDATE commits SET archived = 1 WHERE seq = 26";
    let found = differences_after(no_closing);
    assert!(found[0].contains("no closing has their balances"), "{found:?}");
}
