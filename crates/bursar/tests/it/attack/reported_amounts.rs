//! A channel says `completed` with another amount or currency: nothing is settled without a person.

use serde_json::{Value, json};

use crate::api::actions::{id, order, said};
use crate::api::scripted_channel::Channel;
use crate::api::server::Server;
use crate::caller::{Caller, until};

/// Other amounts and currencies, as a channel may write them, and as `explain` shows them.
const OTHERS: [(&str, &str); 6] = [
    (r#""amount":"1.00","currency":"PKR""#, "1.00 PKR"),
    (r#""amount":"100.00","currency":"USD""#, "100.00 USD"),
    (r#""amount":1,"currency":"USD""#, "1 USD"),
    (r#""amount":"1e2""#, "1e2 an unnamed currency"),
    (r#""currency":"USD""#, "an unnamed amount USD"),
    (r#""amount":{"value":"100.00"}"#, r#"{"value":"100.00"} an unnamed currency"#),
];
/// The amount that was asked for, as a channel may write it.
const EQUAL: [&str; 4] = [
    r#""amount":"100.00","currency":"PKR""#,
    r#""amount":100,"currency":"pkr""#,
    r#""amount":"100""#,
    r#""amount":null,"currency":null"#,
];

fn start(more: &str) -> (Channel, Server) {
    let channel = Channel::new();
    let config = format!("{}{more}\nrequery_schedule_s = [0.05, 0.05]\n", channel.config("wallet"));
    (channel, Server::with(&config, &[]))
}

fn pay(admin: &Caller, key: &str) -> Value {
    admin.pay(key, &order("m1", "wallet", "100.00")).is(201)
}

/// It is stuck, its money is on hold, both amounts are named, and the channel has an alert.
fn assert_stuck(admin: &Caller, payout: &Value, reported: &str) {
    let stuck = admin.payout_at(id(payout), "STUCK");
    assert_eq!(stuck["reason"], "amount_differs", "{stuck}");
    let explained = admin.explain(id(payout));
    let summary = explained["summary"].as_str().unwrap();
    assert!(summary.contains("100.00 PKR") && summary.contains(reported), "{summary}");
    assert_eq!(explained["attempts"][0]["knowledge"], "amount_differs");
    assert_alert(admin, "amount_differs");
}

fn assert_alert(admin: &Caller, name: &str) {
    let subject = format!("alert:{name}:wallet");
    until("an alert is raised", || {
        let feed = admin.get("/v1/events?limit=500").is(200);
        let mut events = feed["data"].as_array().unwrap().iter();
        events.any(|event| event["subject"] == subject.as_str()).then_some(())
    });
}

#[test]
fn another_amount_in_the_answer_to_a_submission() {
    let (channel, server) = start("");
    let admin = server.admin();
    admin.merchant("m1", "5000.00");
    for (number, (other, shown)) in OTHERS.into_iter().enumerate() {
        channel.say_more("completed", other);
        let payout = pay(&admin, &format!("k{number}"));
        assert_stuck(&admin, &payout, shown);
    }
    for (number, equal) in EQUAL.into_iter().enumerate() {
        channel.say_more("completed", equal);
        let payout = pay(&admin, &format!("e{number}"));
        admin.payout_at(id(&payout), "SUCCESS");
    }
    admin.books_hold();
}

#[test]
fn another_amount_in_the_answer_to_a_query() {
    let (channel, server) = start("\npoll_interval_s = 0.05");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("pending");
    channel.answer_queries("completed", r#""amount":"1.00","currency":"USD""#);
    let payout = pay(&admin, "k");
    assert_stuck(&admin, &payout, "1.00 USD");
    admin.books_hold();
}

#[test]
fn another_amount_in_a_callback() {
    let (channel, server) = start("");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("pending");
    let payout = pay(&admin, "k");
    admin.payout_at(id(&payout), "PROCESSING");
    let mut body = said(&payout, "completed");
    body["amount"] = json!("1.00");
    body["currency"] = json!("USD");
    admin.tell("wallet", &body).is(200);
    assert_stuck(&admin, &payout, "1.00 USD");
    // An equal amount afterwards does not end it by itself.
    body["amount"] = json!("100.00");
    body["currency"] = json!("PKR");
    admin.tell("wallet", &body).is(200);
    let stuck = admin.payout(id(&payout));
    assert_eq!(stuck["status"], "STUCK", "{stuck}");
    let decision = json!({"decision": "confirm_paid", "evidence": "the provider corrected it", "expected_version": stuck["version"]});
    admin.move_money("d", &format!("/v1/payouts/{}/resolve", id(&payout)), &decision).is(200);
    admin.payout_at(id(&payout), "SUCCESS");
    admin.books_hold();
}

#[test]
fn another_amount_after_success() {
    let (channel, server) = start("");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("completed");
    let payout = pay(&admin, "k");
    admin.payout_at(id(&payout), "SUCCESS");
    let mut body = said(&payout, "completed");
    body["amount"] = json!("1.00");
    admin.tell("wallet", &body).is(200);
    let settled = admin.payout(id(&payout));
    assert_eq!(
        (&settled["status"], &settled["reason"]),
        (&json!("SUCCESS"), &json!("amount_differs"))
    );
    let review = admin.get("/v1/review").is(200);
    assert_eq!(review["data"][0]["flow"]["id"], payout["id"], "{review}");
    // Part of the money came back: no more than a case, whatever is said afterwards.
    let mut body = said(&payout, "returned");
    body["amount"] = json!("40.00");
    admin.tell("wallet", &body).is(200);
    assert_eq!(admin.payout(id(&payout))["status"], "SUCCESS");
    admin.tell("wallet", &said(&payout, "returned")).is(200);
    assert_eq!(admin.payout(id(&payout))["status"], "SUCCESS");
    assert_eq!(admin.balance("m1"), ("882.60".to_owned(), "0.00".to_owned()));
    admin.books_hold();
}

#[test]
fn another_amount_after_release_and_then_the_right_one() {
    let (channel, server) = start("");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("pending");
    let payout = pay(&admin, "k");
    admin.payout_at(id(&payout), "PROCESSING");
    admin.tell("wallet", &said(&payout, "failed")).is(200);
    admin.payout_at(id(&payout), "FAILED");
    for (number, amount) in ["1.00", "100.00", "1.00"].into_iter().enumerate() {
        let mut body = said(&payout, "completed");
        body["amount"] = json!(amount);
        body["number"] = json!(number);
        admin.tell("wallet", &body).is(200);
        let failed = admin.payout(id(&payout));
        assert_eq!(
            (&failed["status"], &failed["reason"]),
            (&json!("FAILED"), &json!("amount_differs"))
        );
    }
    assert_eq!(admin.balance("m1"), ("1000.00".to_owned(), "0.00".to_owned()));
    admin.books_hold();
}

/// A person has decided: what the channel said before counts no more, in whatever bytes it comes again.
#[test]
fn the_same_amount_again_in_other_bytes() {
    let (channel, server) = start("");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("pending");
    let payout = pay(&admin, "k");
    admin.payout_at(id(&payout), "PROCESSING");
    let completed = |number: u32| {
        let mut body = said(&payout, "completed");
        body["amount"] = json!("100.00");
        body["number"] = json!(number);
        admin.tell("wallet", &body).is(200);
    };
    // Failed, then paid: the second is a late success, and a person closes its case.
    admin.tell("wallet", &said(&payout, "failed")).is(200);
    completed(1);
    let late = admin.payout_at(id(&payout), "LATE_SUCCESS");
    let close = json!({"reason": "the bank has paid it", "expected_version": late["version"]});
    admin.move_money("c", &format!("/v1/payouts/{}/case/close", id(&payout)), &close).is(200);
    let closed = admin.payout(id(&payout));
    for number in 2..5 {
        completed(number);
    }
    assert_eq!(admin.payout(id(&payout)), closed, "repeated evidence is no news");
    let review = admin.get("/v1/review").is(200);
    assert_eq!(review["data"], json!([]), "{review}");
    admin.books_hold();
}

#[test]
fn no_amount_where_one_is_required() {
    let (channel, server) = start("\nreports_amount = \"required\"");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say("completed");
    let payout = pay(&admin, "k");
    let waiting = admin.payout_at(id(&payout), "PROCESSING");
    assert_alert(&admin, "amount_missing");
    let mut body = said(&waiting, "completed");
    body["amount"] = json!("100.00");
    admin.tell("wallet", &body).is(200);
    admin.payout_at(id(&payout), "SUCCESS");
}

#[test]
fn amounts_of_a_channel_that_names_its_own_are_not_compared() {
    let (channel, server) = start("\nreports_amount = \"never\"");
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    channel.say_more("completed", r#""amount":"103.50","currency":"PKR""#);
    let payout = pay(&admin, "k");
    admin.payout_at(id(&payout), "SUCCESS");
}
