//! The file: what survives, what is locked, and what is not believed.

use bursar_store::{Query as _, Sqlite, StoreError};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::scratch::Scratch;
use crate::workload::{Step, block_on, rules, run, steps};

fn some_steps() -> Vec<Step> {
    let mut runner = TestRunner::deterministic();
    let samples = std::iter::repeat_with(|| steps().new_tree(&mut runner).unwrap().current());
    samples.take(100).find(|steps| steps.len() > 60).unwrap()
}

#[test]
fn the_books_survive_the_process() {
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
fn a_file_that_is_no_database_is_not_believed() {
    let scratch = Scratch::new();
    scratch.file("bursar.sqlite", &"this is a shopping list, not a ledger".repeat(200));
    let error = Sqlite::open(scratch.path()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let error = Sqlite::open(std::path::Path::new("/proc/nowhere")).unwrap_err();
    assert!(error.to_string().contains("/proc/nowhere"), "{error}");
}
