//! A provider reports another amount, currency or merchant for a payment that the books have: nothing is booked, and a person
//! is shown both.

use serde_json::{Value, json};

use crate::api::actions::id;
use crate::api::server::Server;
use crate::caller::{Answer, Caller, until};

fn event(reference: &str, status: &str) -> Value {
    json!({"merchant_id": "m1", "reference": reference, "amount": "100.00", "currency": "PKR", "status": status})
}

fn with(mut event: Value, changes: &[(&str, &str)]) -> Value {
    for (field, value) in changes {
        event[*field] = json!(value);
    }
    event
}

fn tell(admin: &Caller, event: &Value) -> Answer {
    admin.tell("easypay", event)
}

fn start() -> (Server, Caller) {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    admin.merchant("m2", "0.00");
    (server, admin)
}

fn payin(admin: &Caller, payin: &Value) -> Value {
    admin.get(&format!("/v1/payins/{}", id(payin))).is(200)
}

fn close(caller: &Caller, key: &str, payin: &Value, version: &Value) -> Answer {
    let path = format!("/v1/payins/{}/case/close", id(payin));
    let body = json!({"evidence": "the provider's statement", "expected_version": version});
    caller.move_money(key, &path, &body)
}

fn waiting(admin: &Caller) -> Vec<Value> {
    let page = admin.get("/v1/review?kind=payin&reason=case").is(200);
    page["data"].as_array().unwrap().clone()
}

fn last_alert(admin: &Caller, name: &str) -> Option<String> {
    let feed = admin.get("/v1/events?limit=500").is(200);
    let events = feed["data"].as_array().unwrap().iter();
    let mut about = events.filter(|event| event["subject"] == format!("alert:{name}").as_str());
    about.next_back().map(|event| event["type"].as_str().unwrap().to_owned())
}

fn until_alert(admin: &Caller, expected: &str) {
    until(&format!("the last alert is {expected}"), || {
        last_alert(admin, "amount_differs:easypay").filter(|found| found == expected)
    });
}

#[test]
fn another_amount_currency_or_merchant_after_the_booking() {
    let (_server, admin) = start();
    let booked = tell(&admin, &event("p-1", "completed")).is(201);
    let others = [
        (vec![("amount", "1.00")], 409, "reference_reused"),
        (vec![("amount", "1000000.00")], 409, "reference_reused"),
        (vec![("currency", "BDT")], 409, "reference_reused"),
        (vec![("merchant_id", "m2")], 409, "reference_reused"),
        // What could not be booked at all.
        (vec![("currency", "USD"), ("status", "pending")], 422, "unknown_market"),
        (vec![("amount", "0.00"), ("status", "failed")], 422, "nothing_to_pay"),
    ];
    for (changes, status, code) in others {
        let other = with(event("p-1", "completed"), &changes);
        for _ in 0..2 {
            tell(&admin, &other).refused(status, code);
        }
        assert_eq!(admin.balance("m1").0, "100.00");
    }
    assert_eq!(admin.balance("m2").0, "0.00");
    let found = payin(&admin, &booked);
    assert_eq!(
        (&found["status"], &found["amount"], &found["reason"]),
        (&json!("COLLECTED"), &json!("100.00"), &json!("amount_differs"))
    );
    let case = &found["case"];
    assert_eq!(
        (&case["status"], &case["booked_amount"], &case["booked_currency"]),
        (&json!("open"), &json!("100.00"), &json!("PKR"))
    );
    let reported: Vec<String> = case["reported"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            [text("merchant_id"), text("amount"), text("currency"), text("status")].join(" ")
        })
        .collect();
    let expected = [
        "m1 1.00 PKR completed",
        "m1 1000000.00 PKR completed",
        "m1 100.00 BDT completed",
        "m2 100.00 PKR completed",
        "m1 100.00 USD pending",
        "m1 0.00 PKR failed",
    ];
    assert_eq!(reported, expected);
    let listed = waiting(&admin);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        (&listed[0]["flow"]["id"], &listed[0]["flow"]["reason"]),
        (&booked["id"], &json!("amount_differs"))
    );
    until_alert(&admin, "alert.raised");
    let events = admin.get("/v1/events?limit=500").is(200);
    let about = |event: &&Value| event["subject"] == booked["id"];
    assert_eq!(events["data"].as_array().unwrap().iter().filter(about).count(), 2);
    admin.books_hold();
}

#[test]
fn another_amount_before_the_booking_and_then_the_right_one() {
    let (_server, admin) = start();
    let pending = tell(&admin, &event("p-1", "pending")).is(201);
    let less = with(event("p-1", "completed"), &[("amount", "90.00")]);
    tell(&admin, &less).refused(409, "reference_reused");
    assert_eq!(payin(&admin, &pending)["status"], "PENDING");
    assert_eq!(admin.balance("m1").0, "0.00");
    tell(&admin, &event("p-1", "completed")).is(201);
    let found = payin(&admin, &pending);
    assert_eq!(
        (&found["status"], &found["case"]["status"]),
        (&json!("COLLECTED"), &json!("open")),
        "the announced amount is booked, and a person still looks at the other"
    );
    assert_eq!(admin.balance("m1").0, "100.00");
    admin.books_hold();
}

#[test]
fn the_same_amount_again_after_a_person_has_closed_the_case() {
    let (_server, admin) = start();
    let booked = tell(&admin, &event("p-1", "completed")).is(201);
    let other = |amount: &str| with(event("p-1", "completed"), &[("amount", amount)]);
    let (olga, mina) =
        (admin.key("Olga", "operator", None), admin.key("Mina", "merchant", Some("m1")));
    close(&olga, "c-0", &booked, &booked["version"]).refused(409, "no_open_case");
    tell(&admin, &other("90.00")).refused(409, "reference_reused");
    until_alert(&admin, "alert.raised");
    let version = payin(&admin, &booked)["version"].clone();
    close(&mina, "c-1", &booked, &version).refused(403, "forbidden");
    close(&olga, "c-2", &booked, &json!(1)).refused(409, "stale_version");
    let closed = close(&olga, "c-3", &booked, &version).is(200);
    let again = close(&olga, "c-3", &booked, &version);
    assert!(again.is_replay());
    assert_eq!(again.is(200), closed);
    assert!(waiting(&admin).is_empty());
    until_alert(&admin, "alert.cleared");
    // In other bytes, and under another id.
    for number in 0..3 {
        let mut again = other("90.0");
        again["event_id"] = json!(format!("evt-{number}"));
        tell(&admin, &again).refused(409, "reference_reused");
    }
    assert!(waiting(&admin).is_empty(), "a person has seen it");
    assert_eq!(payin(&admin, &booked)["version"], closed["version"]);
    tell(&admin, &other("80.00")).refused(409, "reference_reused");
    assert_eq!(waiting(&admin).len(), 1, "another amount is news");
    until_alert(&admin, "alert.raised");
    let audit = admin.get("/v1/audit").is(200);
    let entries = audit["data"].as_array().unwrap().iter();
    let closings: Vec<_> = entries.filter(|entry| entry["action"] == "payin.close_case").collect();
    assert_eq!(closings.len(), 1, "{audit}");
    assert_eq!(closings[0]["note"], "the provider's statement", "{audit}");
    admin.books_hold();
}

/// A merchant sees that there is a case, and nothing of another merchant.
#[test]
fn the_name_of_another_merchant_in_a_report() {
    let (_server, admin) = start();
    let booked = tell(&admin, &event("p-1", "completed")).is(201);
    for changes in [[("merchant_id", "m2")], [("amount", "90.00")]] {
        tell(&admin, &with(event("p-1", "completed"), &changes)).refused(409, "reference_reused");
    }
    let mina = admin.key("Mina", "merchant", Some("m1"));
    let seen = payin(&mina, &booked);
    assert_eq!(seen["case"]["reported"].as_array().unwrap().len(), 1, "{seen}");
    assert!(!seen.to_string().contains("m2"), "{seen}");
    let events = mina.get("/v1/events?limit=500").is(200).to_string();
    assert!(events.contains("amount_differs") && !events.contains("m2"), "{events}");
    let omar = admin.key("Omar", "merchant", Some("m2"));
    omar.get(&format!("/v1/payins/{}", id(&booked))).refused(404, "not_found");
    assert_eq!(payin(&admin, &booked)["case"]["reported"].as_array().unwrap().len(), 2);
}

/// An adapter sends what its provider reports through the API, with keys of its own.
#[test]
fn another_amount_through_the_api_under_the_key_of_the_first() {
    let (_server, admin) = start();
    let record = |key: &str, amount: &str| {
        let body = json!({"merchant_id": "m1", "provider": "easypay", "reference": "p-1", "amount": amount, "currency": "PKR"});
        admin.move_money(key, "/v1/payins", &body)
    };
    let booked = record("p-1", "100.00").is(201);
    record("p-1", "90.00").refused(409, "idempotency_mismatch");
    let answer = record("k-2", "80.00");
    assert!(
        answer.json()["detail"].as_str().unwrap().contains("a case of the pay-in"),
        "{answer:?}"
    );
    answer.refused(409, "reference_reused");
    assert!(record("p-1", "100.00").is_replay());
    assert_eq!(payin(&admin, &booked)["case"]["reported"].as_array().unwrap().len(), 2);
    assert_eq!(admin.balance("m1").0, "100.00");
    let audit = admin.get("/v1/audit").is(200).to_string();
    assert!(audit.contains("payin.report_other") && audit.contains("90.00 PKR for m1"), "{audit}");
    admin.books_hold();
}

#[test]
fn one_amount_after_the_other_without_end() {
    let (_server, admin) = start();
    let booked = tell(&admin, &event("p-1", "completed")).is(201);
    for amount in 1..40 {
        let other = with(event("p-1", "completed"), &[("amount", &format!("{amount}.01"))]);
        tell(&admin, &other).refused(409, "reference_reused");
    }
    let found = payin(&admin, &booked);
    assert_eq!(found["case"]["reported"].as_array().unwrap().len(), 16);
    close(&admin, "c", &booked, &found["version"]).is(200);
    let other = with(event("p-1", "completed"), &[("amount", "50.01")]);
    tell(&admin, &other).refused(409, "reference_reused");
    assert_eq!(waiting(&admin).len(), 1, "what is not kept reaches a person all the same");
    admin.books_hold();
}
