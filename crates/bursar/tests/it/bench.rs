//! `bursar bench`: benchmarks run, verify their own books, and touch no others.

use crate::bursar::{Run, bursar};
use crate::cluster::Cluster;
use crate::scratch::Scratch;

fn bench_ledger(store: &str, more: &[&str]) -> Run {
    let arguments = ["bench", "ledger", "--store", store, "--count", "2000", "--batch", "150"];
    bursar(&[&arguments, more].concat())
}

fn bench_payouts(store: &str, more: &[&str]) -> Run {
    let arguments = ["bench", "payouts", "--store", store, "--count", "300", "--batch", "20"];
    bursar(&[&arguments, more].concat())
}

fn assert_ledger(run: Run, name: &str) {
    let text = run.ok();
    assert!(
        text.contains("the books of all three are right: 2000 + 2000 + 40 transactions"),
        "{text}"
    );
    assert_figures(&text, name, "events/s");
}

fn assert_payouts(run: Run, payouts: &str, floors: usize) {
    let text = run.ok();
    let right = format!("the books of all are right: {payouts} payouts");
    assert!(text.contains(&right), "{text}");
    let verdicts = text.lines().filter(|line| line.contains(", floor "));
    assert_eq!(verdicts.count(), floors, "{text}");
    assert_figures(&text, "payouts", "payouts/s");
}

/// The last line is machine-readable: a name and consistent numbers.
pub(crate) fn assert_figures(text: &str, name: &str, unit: &str) {
    let last = text.lines().last().unwrap();
    let fields: Vec<(&str, &str)> =
        last.split(' ').map(|field| field.split_once('=').unwrap()).collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["name", "value", "unit", "limit", "ratio"], "{last}");
    assert_eq!((fields[0].1, fields[2].1), (name, unit));
    let number = |at: usize| -> u64 { fields[at].1.replace('.', "").parse().unwrap() };
    let (value, limit, hundredths) = (number(1), number(3), number(4));
    // Rounded down.
    assert!((hundredths * limit..(hundredths + 1) * limit).contains(&(value * 100)), "{last}");
}

#[test]
fn the_ledger_is_measured_in_memory() {
    assert_ledger(bench_ledger("memory", &[]), "ledger.memory");
}

#[test]
fn the_ledger_is_measured_in_sqlite() {
    let scratch = Scratch::new();
    let data = scratch.path().join("bench").display().to_string();
    assert_ledger(bench_ledger("sqlite", &["--data", &data]), "ledger.sqlite");
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
    assert_ledger(bench_ledger("postgres", &["--database-url", &url]), "ledger.postgres");
    // Nothing is left behind, so it can run again; what is there already is not touched.
    cluster.new_database("bursar_bench_raw");
    let refused = bench_ledger("postgres", &["--database-url", &url]).refused();
    assert!(refused.contains("there is a database `bursar_bench_raw` already"), "{refused}");
    cluster.new_database("bursar_bench_engine");
}

#[test]
fn payouts_are_measured_in_memory() {
    assert_payouts(bench_payouts("memory", &[]), "300 + 300 + 300 + 6", 0);
}

#[test]
fn payouts_are_measured_in_sqlite() {
    let scratch = Scratch::new();
    let data = scratch.path().join("bench").display().to_string();
    assert_payouts(bench_payouts("sqlite", &["--data", &data]), "300 + 300 + 300 + 6", 4);
    for lane in ["engine", "hot", "raw", "naive"] {
        bursar(&["ledger", "verify", "--data", &format!("{data}/{lane}")]).ok();
    }
    let again = bench_payouts("sqlite", &["--data", &data]).refused();
    assert!(again.contains("there are books in"), "{again}");
}

#[test]
fn payouts_are_measured_in_postgres() {
    let cluster = Cluster::start();
    let url = cluster.url();
    assert!(bench_payouts("postgres", &[]).refused().contains("--database-url"));
    let run = bench_payouts("postgres", &["--database-url", &url]);
    assert_payouts(run, "300 + 300 + 300 + 300 + 6", 5);
    // Nothing is left behind; what is there already is not touched.
    cluster.new_database("bursar_bench_four");
    let refused = bench_payouts("postgres", &["--database-url", &url]).refused();
    assert!(refused.contains("there is a database `bursar_bench_four` already"), "{refused}");
    cluster.new_database("bursar_bench_hot");
}

/// All benchmarks, with one table at the end and a plot of each kind.
fn assert_all(store: &str, more: &[&str]) {
    let scratch = Scratch::new();
    let plots = scratch.path().join("plots");
    let folder = plots.display().to_string();
    let arguments = ["bench", "all", "--store", store, "--thousandths", "1", "--plots", &folder];
    let text = bursar(&[&arguments, more].concat()).ok();
    let table = text.rsplit_once("figure").unwrap().1;
    let names =
        ["core.payouts", "core.template", "ledger", "batches", "growth", "sleeping", "recovery"];
    for name in names {
        assert!(table.contains(name), "{name}: {text}");
    }
    for name in ["throughput", "latency", "growth"] {
        let svg = std::fs::read_to_string(plots.join(format!("{name}-{store}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<polyline"), "{svg}");
    }
}

#[test]
fn all_of_it_is_measured_in_sqlite() {
    assert_all("sqlite", &[]);
}

#[test]
fn all_of_it_is_measured_in_postgres() {
    let cluster = Cluster::start();
    assert_all("postgres", &["--database-url", &cluster.url()]);
}

fn assert_webhooks(run: Run, store: &str) {
    let text = run.ok();
    assert!(text.contains("from commit to the recorded 2xx"), "{text}");
    let name = format!("name=webhooks.{store} ");
    assert!(text.lines().any(|line| line.starts_with(&name)), "{text}");
    assert_figures(&text, &format!("webhooks.{store}.p99"), "µs");
}

#[test]
fn webhooks_are_measured_in_sqlite() {
    let arguments = ["bench", "webhooks", "--store", "sqlite", "--count", "1000"];
    assert_webhooks(bursar(&arguments), "sqlite");
}

#[test]
fn webhooks_are_measured_in_postgres() {
    let cluster = Cluster::start();
    let url = cluster.url();
    let arguments = ["bench", "webhooks", "--store", "postgres", "--count", "1000"];
    assert_webhooks(bursar(&[&arguments[..], &["--database-url", &url]].concat()), "postgres");
}
