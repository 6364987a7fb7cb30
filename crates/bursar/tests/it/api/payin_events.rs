//! Pay-in callbacks of providers: booked once, in any order and however often repeated.

use serde_json::{Value, json};

use super::server::Server;
use crate::caller::{Answer, Caller};

fn event(reference: &str, status: &str) -> Value {
    json!({"merchant_id": "m1", "reference": reference, "amount": "100.00", "currency": "PKR", "status": status})
}

fn tell(admin: &Caller, event: &Value) -> Answer {
    admin.tell("easypay", event)
}

fn available(admin: &Caller) -> String {
    admin.books_hold();
    admin.balance("m1").0
}

#[test]
fn a_pay_in_is_booked_when_it_is_completed_and_only_once() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let pending = tell(&admin, &event("p-1", "pending")).is(201);
    assert_eq!(pending["status"], "PENDING");
    assert_eq!(available(&admin), "0.00");
    let completed = tell(&admin, &event("p-1", "completed")).is(201);
    assert_eq!((&completed["status"], &completed["id"]), (&json!("COLLECTED"), &pending["id"]));
    assert_eq!(available(&admin), "100.00");
    let again = tell(&admin, &event("p-1", "completed"));
    assert!(again.is_replay());
    assert_eq!(again.is(201), completed);
    // The same pay-in under another status name, out of order, and through the API: already booked.
    let mut renamed = event("p-1", "completed");
    renamed["event_id"] = json!("evt-2");
    tell(&admin, &renamed).is(201);
    tell(&admin, &event("p-1", "pending")).is(201);
    let by_hand = json!({"merchant_id": "m1", "provider": "easypay", "reference": "p-1", "amount": "100.00", "currency": "PKR"});
    assert_eq!(admin.post("/v1/payins", &by_hand).is(201)["id"], pending["id"]);
    assert_eq!(available(&admin), "100.00");
}

#[test]
fn other_values_under_a_known_reference_are_refused() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    admin.merchant("m2", "0.00");
    tell(&admin, &event("p-1", "completed")).is(201);
    for (field, value) in [("amount", "100.01"), ("currency", "BDT"), ("merchant_id", "m2")] {
        let mut other = event("p-1", "completed");
        other[field] = json!(value);
        tell(&admin, &other).refused(409, "reference_reused");
    }
    assert_eq!(available(&admin), "100.00");
    assert_eq!(admin.balance("m2").0, "0.00");
}

#[test]
fn a_pay_in_that_is_taken_back_after_it_was_booked_is_a_case_for_people() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    assert_eq!(tell(&admin, &event("p-1", "failed")).is(201)["status"], "FAILED");
    assert_eq!(available(&admin), "0.00");
    // Money that arrived is booked.
    assert_eq!(tell(&admin, &event("p-1", "completed")).is(201)["status"], "COLLECTED");
    let mut recalled = event("p-1", "failed");
    recalled["event_id"] = json!("recall");
    assert_eq!(tell(&admin, &recalled).is(201)["status"], "CONTRADICTED");
    assert_eq!(available(&admin), "100.00");
}

#[test]
fn what_no_provider_says_is_refused() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    for (field, value, status, code) in [
        ("status", json!("celebrated"), 400, "bad_request"),
        ("amount", json!(100), 400, "bad_request"),
        ("amount", json!("100.001"), 422, "bad_amount"),
        ("reference", json!(""), 422, "bad_reference"),
        ("event_id", json!("e".repeat(129)), 422, "bad_reference"),
        ("merchant_id", json!("absent"), 422, "unknown_merchant"),
    ] {
        let mut wrong = event("p-1", "completed");
        wrong[field] = value;
        tell(&admin, &wrong).refused(status, code);
    }
    let unsigned = event("p-1", "completed");
    admin.post("/v1/providers/easypay/callbacks", &unsigned).refused(401, "bad_signature");
    assert_eq!(admin.get("/v1/payins").is(200)["data"], json!([]));
    assert_eq!(available(&admin), "0.00");
}

#[test]
fn money_in_a_currency_of_no_market_is_seen_all_the_same() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let payin = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r", "amount": "7.00", "currency": "USD"});
    admin.post("/v1/payins", &payin).refused(422, "unknown_market");
    let event = json!({
        "event": "ADJUSTMENT_CREDIT",
        "reference": "r",
        "variables": {"merchantId": "m1", "currency": "USD", "amount": "7.00"},
    });
    admin.post("/v1/ledger/transactions", &event).is(201);
    let found = admin.get("/v1/merchants/m1/balances").is(200);
    let expected = [("PKR", "1000.00"), ("USD", "7.00")].map(|(currency, available)| {
        json!({"currency": currency, "available": available, "held": "0.00", "pending": "0.00"})
    });
    assert_eq!(found["balances"], json!(expected));
}
