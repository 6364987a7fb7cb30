//! Whom a payout pays, how the channel and the caller name it: in replies, lists, reviews, explanations, events and searches.

use serde_json::{Value, json};

use super::actions::{id, order, said};
use super::server::Server;
use crate::caller::Caller;
use crate::cluster::Cluster;

/// A payout to a registered beneficiary over a channel that never answers.
fn registered(admin: &Caller) -> Value {
    let beneficiary = json!({"merchant_id": "m1", "name": "Amina Khan", "account": "PK36SCBL0000001123456702", "bank": "SCBL"});
    let beneficiary = admin.post("/v1/beneficiaries", &beneficiary).is(201);
    let mut body = order("m1", "silent", "10.00");
    body.as_object_mut().unwrap().remove("beneficiary");
    body["beneficiary_id"] = beneficiary["id"].clone();
    body["external_id"] = json!("order-1");
    body["description"] = json!("for June");
    let made = admin.pay("k-1", &body);
    let again = admin.pay("k-1", &body);
    assert!(again.is_replay());
    assert_eq!(again.text, made.text);
    let made = made.is(201);
    let shown = json!({"id": beneficiary["id"], "name": "A*** K***", "account": "****6702", "bank": "SCBL"});
    assert_eq!(made["beneficiary"], shown);
    made
}

/// The payouts of a list, oldest first.
fn listed(caller: &Caller, query: &str) -> Vec<String> {
    let page = caller.get(&format!("/v1/payouts?{query}")).is(200);
    let ids = page["data"].as_array().unwrap().iter().map(|payout| id(payout).to_owned());
    let ids: Vec<String> = ids.collect();
    ids.into_iter().rev().collect()
}

fn found(caller: &Caller, q: &str) -> Vec<String> {
    let page = caller.get(&format!("/v1/find?q={q}")).is(200);
    page["data"].as_array().unwrap().iter().map(|found| id(found).to_owned()).collect()
}

fn names_are_shown_and_found(server: &Server) {
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    admin.merchant("m2", "1000.00");
    let one = registered(&admin);
    let mut other = order("m2", "calm", "10.00");
    other["external_id"] = json!("order-1");
    // The same text as a trace id is no external id.
    let mut traced = order("m1", "calm", "10.00");
    traced["trace_id"] = json!("order-1");
    let other = admin.pay("k-1", &other).is(201);
    let traced = admin.pay("k-2", &traced).is(201);
    assert_eq!(other["beneficiary"], json!({"name": "A***", "msisdn": "****4567"}));
    assert!(traced.get("external_id").is_none() && traced.get("provider_reference").is_none());
    let ids = [&one, &other, &traced].map(|payout| id(payout).to_owned());

    let mine = admin.key("Mina", "merchant", Some("m1"));
    let theirs = admin.key("Till", "merchant", Some("m2"));
    assert_eq!(listed(&admin, "external_id=order-1"), ids[..2]);
    assert_eq!(listed(&admin, "external_id=order-1&merchant_id=m2"), ids[1..2]);
    assert_eq!(listed(&mine, "external_id=order-1"), ids[..1]);
    assert_eq!(listed(&theirs, "external_id=order-1"), ids[1..2]);
    assert_eq!(listed(&admin, "trace_id=order-1"), ids[2..]);
    assert_eq!(listed(&admin, "external_id=order"), Vec::<String>::new());
    assert_eq!(listed(&admin, "external_id=order-1&trace_id=order-1"), Vec::<String>::new());
    let first = admin.get("/v1/payouts?external_id=order-1&limit=1").is(200);
    assert_eq!(first["data"][0]["id"], ids[1]);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(listed(&admin, &format!("external_id=order-1&limit=1&cursor={cursor}")), ids[..1]);
    assert_eq!(found(&theirs, "order-1"), ids[1..2]);
    let mut own = found(&mine, "order-1");
    own.sort();
    let mut expected = vec![ids[0].clone(), ids[2].clone()];
    expected.sort();
    assert_eq!(own, expected);

    stuck_payouts_say_whom_they_pay(&admin, &mine, &one);
}

fn stuck_payouts_say_whom_they_pay(admin: &Caller, mine: &Caller, one: &Value) {
    let stuck = admin.payout_at(id(one), "STUCK");
    admin.tell("silent", &said(&stuck, "pending")).is(200);
    let names = |shown: &Value| {
        assert_eq!(shown["beneficiary"], one["beneficiary"], "{shown}");
        assert_eq!(
            (&shown["external_id"], &shown["description"]),
            (&json!("order-1"), &json!("for June"))
        );
        assert_eq!(shown["provider_reference"], "tx-1", "{shown}");
    };
    names(&admin.payout(id(one)));
    names(&mine.payout(id(one)));
    names(&admin.get("/v1/payouts?external_id=order-1&merchant_id=m1").is(200)["data"][0]);
    names(&admin.get("/v1/review").is(200)["data"][0]["flow"]);
    names(&admin.explain(id(one)));
    names(&mine.explain(id(one)));
    admin.tell("silent", &said(&stuck, "completed")).is(200);
    let told = mine.get(&format!("/v1/payouts/{}/timeline", id(one))).is(200);
    let last = told["data"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["type"], "payout.success");
    names(&last["data"]);
    let feed = mine.get("/v1/events?limit=500").is(200);
    let feed = feed["data"].as_array().unwrap();
    names(&feed.iter().rfind(|event| event["subject"] == one["id"]).unwrap()["data"]);
    for path in ["/v1/payouts", "/v1/events?limit=500", "/v1/audit", "/v1/beneficiaries"] {
        let text = admin.get(path).text;
        for number in ["923001234567", "PK36SCBL0000001123456702"] {
            assert!(!text.contains(number), "{path}: {text}");
        }
    }
    admin.books_hold();
}

#[test]
fn payouts_show_whom_they_pay_and_are_found_by_their_names() {
    names_are_shown_and_found(&Server::new());
}

#[test]
fn payouts_on_postgres_show_whom_they_pay_and_are_found_by_their_names() {
    let cluster = Cluster::start();
    names_are_shown_and_found(&Server::on_postgres(&cluster.url(), &[]));
}
