//! The auditor of a running server: it follows the chain, closes days, and publishes the head.

use std::time::Duration;

use serde_json::{Value, json};

use super::server::Server;
use crate::bursar::bursar;
use crate::caller::{Caller, until};

fn anchors(admin: &Caller) -> Vec<Value> {
    let feed = admin.get("/v1/events?limit=500").is(200);
    let events = feed["data"].as_array().unwrap().iter();
    events.filter(|event| event["type"] == "books.anchored").cloned().collect()
}

/// Whether the alert about changed books is raised, after the last of its events.
fn is_alarmed(admin: &Caller) -> Option<bool> {
    let feed = admin.get("/v1/events?limit=500").is(200);
    let mut events = feed["data"].as_array().unwrap().iter().rev();
    let last = events.find(|event| event["subject"] == "alert:books_differ")?;
    Some(last["type"] == "alert.raised")
}

fn verified(admin: &Caller) -> u64 {
    let metrics = admin.get("/metrics").text;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix("bursar_chain_verified_sequence "));
    line.map_or(0, |value| value.parse().unwrap())
}

#[test]
fn the_auditor_follows_the_chain_closes_days_and_publishes_the_head() {
    let mut server = Server::with("", &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let before = admin.get("/v1/overview").is(200)["head"]["sequence"].as_u64().unwrap();
    until("the chain is checked", || (verified(&admin) >= before).then_some(()));
    assert_eq!(anchors(&admin), Vec::<Value>::new(), "an anchor comes with the next hour");
    admin.post("/v1/test-clock/advance", &json!({"seconds": 90_000})).is(200);
    let anchor = until("the head is published", || anchors(&admin).pop());
    let head = admin.get("/v1/overview").is(200)["head"]["sequence"].as_u64().unwrap();
    assert!(anchor["data"]["sequence"].as_u64().unwrap() >= before, "{anchor}");
    assert_eq!(anchor["subject"], "books");
    until("the closing and the anchor are checked", || (verified(&admin) >= head).then_some(()));
    // Nothing but anchors and closings came since: there is nothing to publish.
    admin.post("/v1/test-clock/advance", &json!({"seconds": 7_200})).is(200);
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(anchors(&admin).len(), 1);
    admin.fund("m1", "5.00");
    let yesterday = admin.get("/v1/ledger/trial-balance?as_of=2000-01-01T00:00:00Z").is(200);
    assert_eq!(yesterday["rows"], json!([]));
    admin.books_hold();
    server.kill();
    let since = bursar(&["ledger", "verify", "--since", "--json", "--data", &server.data()]);
    let since: Value = serde_json::from_str(&since.ok()).unwrap();
    assert_eq!(since["ok"], true, "{since}");
    assert!(since["since"].as_u64().is_some_and(|seq| seq >= 1), "a day was closed: {since}");
    assert!(since["transactions"].as_u64().unwrap() >= 1);
}

fn change_turnover(server: &Server, by: i64) {
    let path = format!("{}/bursar.sqlite", server.data());
    let file = rusqlite::Connection::open(path).unwrap();
    let sql = "UPDATE accounts SET received = received + ?1 WHERE address LIKE 'merchants:m1:%'";
    assert_eq!(file.execute(sql, [by]).unwrap(), 1);
}

/// The alert lasts until a process that starts finds no difference from the first commit on.
#[test]
fn a_changed_account_is_found_with_the_next_closing() {
    let mut server = Server::with("", &["--test-clock"]);
    server.admin().merchant("m1", "1000.00");
    server.kill();
    change_turnover(&server, 1);
    server.start();
    let admin = server.admin();
    admin.post("/v1/test-clock/advance", &json!({"seconds": 90_000})).is(200);
    until("the account is compared", || is_alarmed(&admin).filter(|is_raised| *is_raised));
    server.kill();
    server.start();
    let admin = server.admin();
    let head = admin.get("/v1/overview").is(200)["head"]["sequence"].as_u64().unwrap();
    until("the chain is checked again", || (verified(&admin) >= head).then_some(()));
    assert_eq!(is_alarmed(&admin), Some(true), "the account is still wrong");
    server.kill();
    change_turnover(&server, -1);
    server.start();
    let admin = server.admin();
    until("the alert is cleared", || is_alarmed(&admin).filter(|is_raised| !is_raised));
}
