//! Callbacks of channels: early, late, repeated, contradictory, or not authentic.

use serde_json::{Value, json};

use super::actions::{id, order, said, signed};
use super::scripted_channel::Channel;
use super::server::{CHANNEL_SECRET, PROVIDER_SECRET, Server};
use crate::caller::{Caller, until};

/// A payout of 100.00 that was submitted and not answered yet.
fn submitted(channel: &Channel, admin: &Caller) -> Value {
    admin.merchant("m1", "1000.00");
    let payout = admin.pay("k", &order("m1", "wallet", "100.00")).is(201);
    until("it is submitted", || (!channel.submitted().is_empty()).then_some(()));
    admin.payout_at(id(&payout), "SUBMITTING")
}

/// The same, accepted by the channel.
fn accepted(channel: &Channel, admin: &Caller) -> Value {
    channel.say("pending");
    let payout = submitted_or_later(admin);
    admin.payout_at(id(&payout), "PROCESSING")
}

fn submitted_or_later(admin: &Caller) -> Value {
    admin.merchant("m1", "1000.00");
    admin.pay("k", &order("m1", "wallet", "100.00")).is(201)
}

fn start() -> (Channel, Server) {
    let channel = Channel::new();
    let server = Server::with(&channel.config("wallet"), &[]);
    (channel, server)
}

const PAID: (&str, &str) = ("882.60", "0.00");
const HELD: (&str, &str) = ("882.60", "117.40");
/// Balances after a paid payout: the fee is charged.
const RETURNED: (&str, &str) = ("982.60", "0.00");
const RELEASED: (&str, &str) = ("1000.00", "0.00");

fn has(admin: &Caller, (available, held): (&str, &str)) {
    assert_eq!(admin.balance("m1"), (available.to_owned(), held.to_owned()));
    admin.books_hold();
}

fn knowledge(admin: &Caller, payout: &Value) -> Value {
    admin.explain(id(payout))["attempts"][0]["knowledge"].clone()
}

fn statuses(admin: &Caller, payout: &Value) -> Vec<String> {
    let told = admin.get(&format!("/v1/payouts/{}/timeline", id(payout))).is(200);
    let moments = told["data"].as_array().unwrap();
    moments.iter().map(|moment| moment["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_callback_that_comes_before_the_answer_is_believed() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = submitted(&channel, &admin);
    has(&admin, HELD);
    let noted = admin.tell("wallet", &said(&payout, "completed")).is(200);
    assert_eq!(noted, json!({"id": id(&payout), "status": "SUCCESS"}));
    has(&admin, PAID);
    channel.say("pending");
    // The late answer is stored as evidence and changes nothing.
    until("the answer has come", || {
        let told = admin.explain(id(&payout));
        let evidence = told["attempts"][0]["evidence"].as_array().unwrap().clone();
        evidence.iter().any(|said| said["source"] == "submission").then_some(())
    });
    assert_eq!(admin.payout(id(&payout))["status"], "SUCCESS");
    assert_eq!(statuses(&admin, &payout), ["payout.ready", "payout.submitting", "payout.success"]);
    assert_eq!(channel.submitted().len(), 1);
    has(&admin, PAID);
}

#[test]
fn a_late_callback_ends_what_was_accepted_and_its_copies_change_nothing() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = accepted(&channel, &admin);
    has(&admin, HELD);
    admin.tell("wallet", &said(&payout, "pending")).is(200);
    assert_eq!(admin.payout(id(&payout))["status"], "PROCESSING");
    admin.tell("wallet", &said(&payout, "completed")).is(200);
    let settled = admin.payout_at(id(&payout), "SUCCESS");
    let told = statuses(&admin, &payout);
    for _ in 0..3 {
        admin.tell("wallet", &said(&payout, "completed")).is(200);
    }
    // The same content in other bytes, with PUT.
    let body = format!("  {}", said(&payout, "completed"));
    let signature = signed(CHANNEL_SECRET, body.as_bytes());
    let headers = [("X-Signature", signature.as_str())];
    let path = "/v1/providers/wallet/callbacks";
    admin.without_key().ask("PUT", path, &headers, body.as_bytes()).is(200);
    assert_eq!(admin.payout(id(&payout)), settled);
    assert_eq!(statuses(&admin, &payout), told);
    has(&admin, PAID);
}

#[test]
fn paid_after_failed_takes_the_release_back() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = accepted(&channel, &admin);
    admin.tell("wallet", &said(&payout, "failed")).is(200);
    admin.payout_at(id(&payout), "FAILED");
    has(&admin, RELEASED);
    let noted = admin.tell("wallet", &said(&payout, "completed")).is(200);
    assert_eq!(noted["status"], "LATE_SUCCESS");
    let corrected = admin.payout(id(&payout));
    assert_eq!(corrected["final"], true);
    has(&admin, PAID);
    for status in ["completed", "failed", "pending"] {
        admin.tell("wallet", &said(&payout, status)).is(200);
    }
    assert_eq!(admin.payout(id(&payout))["status"], "LATE_SUCCESS");
    has(&admin, PAID);
    let told = statuses(&admin, &payout);
    assert_eq!(told[..5].last().unwrap(), "payout.late_success", "{told:?}");
}

#[test]
fn failed_after_paid_is_a_discrepancy_and_releases_nothing() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = accepted(&channel, &admin);
    admin.tell("wallet", &said(&payout, "completed")).is(200);
    admin.tell("wallet", &said(&payout, "failed")).is(200);
    let contradicted = admin.payout(id(&payout));
    assert_eq!(contradicted["status"], "SUCCESS");
    assert_eq!(contradicted["reason"], "contradicted");
    assert_eq!(knowledge(&admin, &payout), "conflict");
    assert_eq!(channel.submitted().len(), 1);
    has(&admin, PAID);
}

#[test]
fn money_that_came_back_is_the_merchants_again() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = accepted(&channel, &admin);
    admin.tell("wallet", &said(&payout, "completed")).is(200);
    let noted = admin.tell("wallet", &said(&payout, "returned")).is(200);
    assert_eq!(noted["status"], "RETURNED");
    has(&admin, RETURNED);
    admin.tell("wallet", &said(&payout, "returned")).is(200);
    // The return is booked once.
    has(&admin, RETURNED);
}

#[test]
fn a_callback_that_is_not_the_channels_changes_nothing() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = submitted(&channel, &admin);
    let before = (admin.books(), admin.payout(id(&payout)));
    let body = said(&payout, "completed").to_string();
    let anonymous = admin.without_key();
    let path = "/v1/providers/wallet/callbacks";
    let good = signed(CHANNEL_SECRET, body.as_bytes());
    let unsigned = [
        vec![],
        vec![("X-Signature", String::new())],
        vec![("X-Signature", "sha256=00".to_owned())],
        vec![("X-Signature", signed(PROVIDER_SECRET, body.as_bytes()))],
        vec![("X-Signature", signed(CHANNEL_SECRET, b"another body"))],
    ];
    for headers in unsigned {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        anonymous.ask("POST", path, &headers, body.as_bytes()).refused(401, "bad_signature");
    }
    // An admin key does not replace a signature, and a signature is valid for its own channel only.
    admin.ask("POST", path, &[], body.as_bytes()).refused(401, "bad_signature");
    for other in ["easypay", "unlisted", "%00", "..%2f"] {
        let path = format!("/v1/providers/{other}/callbacks");
        let answer = anonymous.ask("POST", &path, &[("X-Signature", &good)], body.as_bytes());
        assert!((400..=401).contains(&answer.status), "{other}: {answer:?}");
    }
    let unknown = json!({"status": "completed", "clientCorrelationId": "unknown-reference"});
    admin.tell("wallet", &unknown).refused(404, "unknown_reference");
    // References are scoped by channel.
    admin.tell("calm", &said(&payout, "completed")).refused(404, "unknown_reference");
    assert_eq!((admin.books(), admin.payout(id(&payout))), before);
    channel.say("completed");
    admin.payout_at(id(&payout), "SUCCESS");
}

#[test]
fn a_callback_that_says_nothing_is_refused_and_changes_nothing() {
    let (channel, server) = start();
    let admin = server.admin();
    let payout = submitted(&channel, &admin);
    let before = (admin.books(), admin.payout(id(&payout)));
    let nul = json!({"status": "completed", "clientCorrelationId": "a\u{0}b"}).to_string();
    let odd = said(&payout, "celebrated").to_string();
    let bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"garbage".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        vec![0xff, 0xfe, 0x00],
        br#"{"status":"completed"}"#.to_vec(),
        "[".repeat(100_000).into_bytes(),
        nul.into_bytes(),
        odd.into_bytes(),
    ];
    for body in bodies {
        let signature = signed(CHANNEL_SECRET, &body);
        let answer = admin.without_key().ask(
            "POST",
            "/v1/providers/wallet/callbacks",
            &[("X-Signature", &signature)],
            &body,
        );
        answer.refused(400, "bad_request");
    }
    assert_eq!((admin.books(), admin.payout(id(&payout))), before);
    let alert = "bursar_unmapped_total{channel=\"wallet\"} 1";
    assert!(admin.get("/metrics").text.contains(alert), "a word without a meaning is counted");
}
