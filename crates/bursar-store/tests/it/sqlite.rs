//! The database file: restart, lock, corruption, and the account index.

use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::turn::{Request, TurnInput};
use bursar_store::{Query as _, Sqlite, Store as _, StoreError, Walk as _, turn};
use rusqlite::Connection;

use crate::desk::START;
use crate::scratch::Scratch;
use crate::workload::{block_on, registration, rules, run, some_steps};

#[test]
fn the_books_survive_a_restart() {
    let scratch = Scratch::new();
    let rules = rules();
    let before = run(&mut Sqlite::open(scratch.path()).unwrap(), &rules, &some_steps(), &[3]);
    let mut again = Sqlite::open(scratch.path()).unwrap();
    block_on(async {
        assert_eq!(again.accounts().await.unwrap(), before.accounts);
        assert_eq!(again.holds().await.unwrap(), before.holds);
        assert_eq!(again.history(0, 1_000).await.unwrap(), before.history);
        assert_eq!(again.history(2, 1).await.unwrap(), before.history[2..3]);
        assert_eq!(again.end().await.unwrap(), before.end);
    });
}

#[test]
fn one_process_at_a_time_uses_a_data_directory() {
    let scratch = Scratch::new();
    let first = Sqlite::open(scratch.path()).unwrap();
    let error = Sqlite::open(scratch.path()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Unavailable(reason) if reason.contains("another process")),
        "{error}"
    );
    drop(first);
    Sqlite::open(scratch.path()).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_corrupt() {
    let scratch = Scratch::new();
    scratch.file("bursar.sqlite", &"this is a shopping list, not a ledger".repeat(200));
    let error = Sqlite::open(scratch.path()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

#[test]
fn the_error_names_a_directory_that_cannot_be_created() {
    let error = Sqlite::open(std::path::Path::new("/proc/nowhere")).unwrap_err();
    assert!(error.to_string().contains("/proc/nowhere"), "{error}");
}

/// No constraint of the database keeps the index consistent with the postings.
#[test]
fn entries_that_were_changed_are_found() {
    let changes = [
        "DELETE FROM slices WHERE seq = (SELECT min(seq) FROM slices)",
        "DELETE FROM entries WHERE account = (SELECT max(account) FROM entries)",
        "UPDATE entries SET account = account || 'x' WHERE account = (SELECT min(account) FROM entries)",
        "UPDATE entries SET n = n + 100 WHERE slice = (SELECT max(seq) FROM slices)",
    ];
    let rules = rules();
    for change in changes {
        let scratch = Scratch::new();
        let mut store = Sqlite::open(scratch.path()).unwrap().with_index_slice(3);
        run(&mut store, &rules, &some_steps(), &[3]);
        let verified = block_on(store.verify(&rules.rulebook)).unwrap();
        assert_eq!(verified.differences, Vec::<String>::new());
        drop(store);
        let file = Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
        let slices: u32 =
            file.query_row("SELECT count(*) FROM slices", [], |row| row.get(0)).unwrap();
        assert!(slices > 2, "{slices}");
        file.execute_batch(change).unwrap();
        let mut store = Sqlite::open(scratch.path()).unwrap();
        let found = block_on(store.verify(&rules.rulebook)).unwrap().differences;
        assert!(
            matches!(&found[..], [one] if one.contains("statements are wrong")),
            "{change}: {found:?}"
        );
    }
}

/// Books of a version without index, and books that many short processes have written.
#[test]
fn opening_the_books_indexes_full_slices() {
    let scratch = Scratch::new();
    let rules = rules();
    let before = run(&mut Sqlite::open(scratch.path()).unwrap(), &rules, &some_steps(), &[3]);
    let slices = || {
        let file = Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
        file.query_row("SELECT count(*) FROM slices", [], |row| row.get::<_, u32>(0)).unwrap()
    };
    assert_eq!(slices(), 0, "too few transactions for a slice");
    for _ in 0..3 {
        drop(Sqlite::open(scratch.path()).unwrap());
    }
    assert_eq!(slices(), 0, "a restart writes no partial slice");
    let mut store = Sqlite::open(scratch.path()).unwrap().with_index_slice(3);
    let rows = before.history.iter().map(|commit| commit.transactions.len().max(1)).sum::<usize>();
    let slices = usize::try_from(slices()).unwrap();
    assert!(slices > 2 && slices * 3 <= rows, "{slices} slices of {rows} rows");
    let report = block_on(store.verify(&rules.rulebook)).unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}

/// A copy that is written over the open file has the same inode, and another end of the chain.
#[test]
fn a_file_that_is_overwritten_is_not_used_any_more() {
    let scratch = Scratch::new();
    let rules = rules();
    let mut store = Sqlite::open(scratch.path()).unwrap();
    run(&mut store, &rules, &some_steps(), &[3]);
    let file = Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
    file.execute_batch("UPDATE head SET seq = seq - 1").unwrap();
    for _ in 0..2 {
        let admission = Admission::new(START, Seed::from(99));
        let requests = [Request { admission, body: registration("new").into() }];
        let error = block_on(turn(&mut store, &TurnInput::new(&rules, &requests))).unwrap_err();
        assert!(matches!(error, StoreError::Gone(_)), "{error}");
    }
    file.execute_batch("UPDATE head SET seq = seq + 1").unwrap();
    assert!(matches!(block_on(store.begin()).unwrap_err(), StoreError::Gone(_)), "for good");
}
