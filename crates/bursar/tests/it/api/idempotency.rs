//! Idempotency: a repeated request with the same key creates one payout.

use std::sync::Barrier;

use serde_json::json;

use super::actions::{id, order};
use super::server::Server;
use crate::caller::Answer;

#[test]
fn fifty_who_ask_at_once_under_one_key_get_one_payout() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let mut body = order("m1", "calm", "10.00");
    body["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    let ready = Barrier::new(50);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let ask = || {
            ready.wait();
            admin.pay("only-once", &body)
        };
        let asking: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    let first = &answers[0];
    for answer in &answers {
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.text, first.text);
    }
    assert_eq!(answers.iter().filter(|answer| answer.is_replay()).count(), 49);
    let payouts = admin.get("/v1/payouts").is(200);
    assert_eq!(payouts["data"].as_array().unwrap().len(), 1);
    assert_eq!(admin.balance("m1"), ("972.60".to_owned(), "27.40".to_owned()));
    admin.books_hold();
}

#[test]
fn a_replay_is_the_first_answer_even_when_the_payout_has_moved_on() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let first = admin.pay("k", &order("m1", "calm", "10.00"));
    assert_eq!(first.status, 201);
    admin.payout_at(id(&first.json()), "SUCCESS");
    let again = admin.pay("k", &order("m1", "calm", "10.0"));
    assert!(again.is_replay(), "the same amount, written otherwise, is the same request");
    assert_eq!(again.text, first.text);
}

#[test]
fn another_body_under_the_same_key_is_refused() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let body = order("m1", "calm", "10.00");
    let made = admin.pay("k", &body).is(201);
    admin.payout_at(id(&made), "SUCCESS");
    let before = admin.books();
    for (field, value) in [
        ("amount", json!("10.01")),
        ("channel", json!("silent")),
        ("beneficiary", json!({"name": "Amina", "msisdn": "923001234568"})),
        ("scheduled_at", json!("2099-01-01T00:00:00Z")),
        ("metadata", json!({"a": "b"})),
        ("trace_id", json!("t")),
        ("external_id", json!("t")),
        ("description", json!("t")),
    ] {
        let mut other = body.clone();
        other[field] = value;
        admin.pay("k", &other).refused(409, "idempotency_mismatch");
    }
    assert_eq!(admin.books(), before);
    // Keys are scoped by merchant, not by caller: the merchant has used this key for the same request.
    let merchant = admin.key("shop", "merchant", Some("m1"));
    let again = merchant.pay("k", &body);
    assert!(again.is_replay(), "{again:?}");
    assert_eq!(id(&again.is(201)), id(&made));
    let cancel = format!("/v1/payouts/{}/cancel", id(&made));
    merchant.move_money("k", &cancel, &json!({})).refused(409, "idempotency_mismatch");
}

#[test]
fn what_moves_money_needs_a_key_of_its_own() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let body = order("m1", "calm", "10.00");
    let before = admin.books();
    admin.post("/v1/payouts", &body).refused(400, "idempotency_key_missing");
    for (wrong, code) in [("", "bad_key"), ("a b", "bad_key"), ("\u{e9}", "bad_key")] {
        admin.pay(wrong, &body).refused(400, code);
    }
    admin.pay(&"k".repeat(256), &body).refused(400, "bad_key");
    for act in ["cancel", "resolve"] {
        let path = format!("/v1/payouts/po_00000000-0000-7000-8000-000000000000/{act}");
        admin.post(&path, &json!({})).refused(400, "idempotency_key_missing");
    }
    assert_eq!(admin.books(), before);
    admin.pay(&"k".repeat(255), &body).is(201);
}

#[test]
fn a_refusal_leaves_the_key_free() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "20.00");
    let body = order("m1", "calm", "10.00");
    let before = admin.books();
    admin.pay("k", &body).refused(422, "missing_funds");
    admin.pay("k", &body).refused(422, "missing_funds");
    assert_eq!(admin.books(), before);
    admin.fund("m1", "1000.00");
    let made = admin.pay("k", &body);
    assert!(!made.is_replay());
    let made = made.is(201);
    assert!(admin.pay("k", &body).is_replay());
    admin.payout_at(id(&made), "SUCCESS");
    assert_eq!(admin.balance("m1"), ("992.60".to_owned(), "0.00".to_owned()));
}

#[test]
fn a_cancellation_is_repeated_like_any_other_request() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "100.00");
    let mut body = order("m1", "calm", "10.00");
    body["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    let made = admin.pay("k", &body).is(201);
    let path = format!("/v1/payouts/{}/cancel", id(&made));
    admin.move_money("c-0", &path, &json!({"expected_version": 7})).refused(409, "stale_version");
    let first = admin.move_money("c-1", &path, &json!({}));
    let again = admin.move_money("c-1", &path, &json!({}));
    assert_eq!((first.status, again.status), (200, 200));
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.text, again.text);
    admin.move_money("c-2", &path, &json!({})).refused(409, "not_cancellable");
    assert_eq!(admin.balance("m1"), ("100.00".to_owned(), "0.00".to_owned()));
}
