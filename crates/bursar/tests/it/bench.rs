//! Benchmarks from outside: they run, they check their own books, and they keep away from everybody else's.

use crate::bursar::{Run, bursar};
use crate::cluster::Cluster;
use crate::scratch::Scratch;

fn bench_ledger(store: &str, more: &[&str]) -> Run {
    let arguments = ["bench", "ledger", "--store", store, "--count", "2000", "--batch", "150"];
    bursar(&[&arguments, more].concat())
}

/// The last line is for programs: a name, and numbers that belong together.
fn assert_figures(run: Run, name: &str) {
    let text = run.ok();
    assert!(
        text.contains("the books of all three are right: 2000 + 2000 + 40 transactions"),
        "{text}"
    );
    let last = text.lines().last().unwrap();
    let fields: Vec<(&str, &str)> =
        last.split(' ').map(|field| field.split_once('=').unwrap()).collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["name", "value", "unit", "limit", "ratio"], "{last}");
    assert_eq!((fields[0].1, fields[2].1), (name, "events/s"));
    let number = |at: usize| -> u64 { fields[at].1.replace('.', "").parse().unwrap() };
    let (value, limit, hundredths) = (number(1), number(3), number(4));
    // Rounded down.
    assert!((hundredths * limit..(hundredths + 1) * limit).contains(&(value * 100)), "{last}");
}

#[test]
fn the_ledger_is_measured_in_memory() {
    assert_figures(bench_ledger("memory", &[]), "ledger.memory");
}

#[test]
fn the_ledger_is_measured_in_sqlite() {
    let scratch = Scratch::new();
    let data = scratch.path().join("bench").display().to_string();
    assert_figures(bench_ledger("sqlite", &["--data", &data]), "ledger.sqlite");
    for lane in ["engine", "raw", "naive"] {
        bursar(&["ledger", "verify", "--data", &format!("{data}/{lane}")]).ok();
    }
    let again = bench_ledger("sqlite", &["--data", &data]).refused();
    assert!(again.contains("there are books in"), "{again}");
}

#[test]
fn the_ledger_is_measured_in_postgres() {
    let cluster = Cluster::start();
    let url = cluster.url();
    assert!(bench_ledger("postgres", &[]).refused().contains("--database-url"));
    assert_figures(bench_ledger("postgres", &["--database-url", &url]), "ledger.postgres");
    // Nothing is left behind, so it can run again; what is there already is not touched.
    cluster.new_database("bursar_bench_raw");
    let refused = bench_ledger("postgres", &["--database-url", &url]).refused();
    assert!(refused.contains("there is a database `bursar_bench_raw` already"), "{refused}");
    cluster.new_database("bursar_bench_engine");
}
