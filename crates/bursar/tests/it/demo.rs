//! `bursar demo`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::bursar::{bursar, bursar_with};
use crate::scratch::Scratch;

#[test]
fn the_demo_keeps_every_promise_and_its_books_can_be_kept() {
    let scratch = Scratch::new();
    let data = scratch.path().join("demo").display().to_string();
    let run = bursar(&["demo", "--payouts", "60", "--seed", "7", "--data", &data]);
    let first = run.stderr.lines().next().unwrap_or_default().to_owned();
    assert!(first.starts_with("60 payouts through two hostile providers"), "{first}");
    assert!(first.contains("about half a minute on two cores"), "{first}");
    let output = run.ok();
    assert_eq!(output.lines().last(), Some("14 promises kept, trial balance = 0"));
    for words in ["60 payouts of 10 merchants", "p99", "SUCCESS", "requests repeated", "IQD", "DLQ"]
    {
        assert!(output.contains(words), "{words}: {output}");
    }
    let promises = output.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(promises, 14, "{output}");
    let verified = bursar(&["ledger", "verify", "--data", &data]).ok();
    assert!(verified.contains(" flows, "), "{verified}");
    let again = bursar(&["demo", "--payouts", "60", "--data", &data]).refused();
    assert!(again.contains("is there already"), "{again}");
}

#[test]
fn the_demo_can_keep_serving() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["demo", "--payouts", "8", "--serve"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let place = lines.find(|line| line.starts_with("BURSAR_URL=")).unwrap();
    let (url, key) = place.split_once(' ').unwrap();
    let (url, key) = (&url["BURSAR_URL=".len()..], &key["BURSAR_KEY=".len()..]);
    let arguments = ["payout", "list", "--json"];
    let listed = bursar_with(&arguments, &[("BURSAR_URL", url), ("BURSAR_KEY", key)]).ok();
    assert_eq!(listed.matches("\"final\":true").count(), 8, "{listed}");
    let id = demo.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(demo.wait().unwrap().success(), "it stops cleanly");
}

#[cfg(not(feature = "temporal"))]
#[test]
fn a_binary_without_temporal_says_so() {
    let refused = bursar(&["demo", "--engine", "temporal"]).refused();
    assert!(refused.contains("built without Temporal"), "{refused}");
}
