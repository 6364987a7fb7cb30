//! Final checks on Temporal: workflows have ended, and merchants got their events.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::final_checks::REST;
use super::load::{Load, MSISDN};
use crate::caller::until;
use crate::dev_server::DevServer;
use crate::receiver::{Got, Receiver, Said};

/// The encryption keys of every process.
pub(super) const SECRET_KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// The subscribed event types.
pub(super) const EVENT_TYPES: [&str; 3] =
    ["payout.success", "payout.failed", "payout.late_success"];

/// Id and status of every workflow run that matches the query.
fn workflows(temporal: &DevServer, query: &str) -> Vec<(String, String)> {
    let arguments = ["workflow", "list", "--limit", "1000000", "--query", query];
    let listed = until("the Temporal server lists workflows", || temporal.ask(&arguments).ok());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let run = |run: &Value| (text(&run["execution"]["workflowId"]), text(&run["status"]));
    listed.as_array().unwrap().iter().map(run).collect()
}

/// A webhook receiver that fails sometimes.
pub(super) fn receiver() -> Receiver {
    Receiver::start(|_, number| -> Said {
        let status = if number % 5 == 0 { 500 } else { 200 };
        (status, Vec::new(), Vec::new())
    })
}

/// Every event was delivered, every workflow has ended like its flow, and no history contains a secret.
pub(super) fn has_ended(load: &Load, receiver: &Receiver, temporal: &DevServer) {
    every_merchant_got_its_events(load, receiver);
    let waiting = Instant::now();
    loop {
        let running = workflows(temporal, "ExecutionStatus = 'Running'");
        if running.is_empty() {
            break;
        }
        assert!(waiting.elapsed() < REST, "their flows are over, they are not: {running:?}");
        thread::sleep(Duration::from_millis(500));
    }
    let mut ends = BTreeMap::<String, BTreeMap<String, usize>>::new();
    let mut names = BTreeSet::new();
    for (name, status) in workflows(temporal, "") {
        let (kind, _) = name.split_once('-').unwrap();
        *ends.entry(kind.to_owned()).or_default().entry(status).or_default() += 1;
        names.insert(name);
    }
    println!("workflows: {ends:?}");
    let failed = workflows(temporal, "ExecutionStatus != 'Completed'");
    assert!(failed.is_empty(), "a workflow ends with its flow: {failed:?}");
    let acknowledged = load.acknowledged.lock().unwrap();
    let missing: Vec<&String> =
        acknowledged.payouts.keys().filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "every payout had a workflow: {missing:?}");
    let kept = std::fs::read(&temporal.file).unwrap();
    let has = |word: &str| kept.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(has("mobile_wallet"), "histories are where this test looks for them");
    assert!(!has(MSISDN), "an account number is in a history");
}

fn every_merchant_got_its_events(load: &Load, receiver: &Receiver) {
    let waiting = Instant::now();
    for status in ["PENDING", "DELIVERING", "WAITING_RETRY"] {
        let path = format!("/v1/deliveries?status={status}&limit=500");
        loop {
            let listed = load.get(&path);
            if listed["data"].as_array().unwrap().is_empty() && listed["next_cursor"].is_null() {
                break;
            }
            assert!(waiting.elapsed() < REST, "merchants are not told: {}", listed["data"][0]);
            thread::sleep(Duration::from_millis(500));
        }
    }
    let dead_letters = load.get("/v1/dead-letters");
    assert_eq!(dead_letters["data"], Value::Array(Vec::new()), "nothing has died");
    let got: BTreeSet<String> = receiver.got().iter().map(Got::event).collect();
    let mut told = BTreeSet::new();
    let mut after = String::new();
    loop {
        let page = load.get(&format!("/v1/events?limit=500{after}"));
        let events = page["data"].as_array().unwrap();
        if events.is_empty() {
            break;
        }
        let wanted =
            events.iter().filter(|event| EVENT_TYPES.contains(&event["type"].as_str().unwrap()));
        told.extend(wanted.map(|event| event["id"].as_str().unwrap().to_owned()));
        after = format!("&after={}", page["next_cursor"].as_str().unwrap());
    }
    assert_eq!(got, told, "every event was told, and nothing else");
    println!("told: {} events, {} requests", told.len(), receiver.got().len());
}
