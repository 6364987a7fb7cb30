//! A rejected request leaves the books unchanged.

use serde_json::{Value, json};

use super::actions::order;
use super::server::Server;

fn with(field: &str, value: Value) -> Value {
    let mut body = order("m1", "calm", "10.00");
    body[field] = value;
    body
}

fn wrong_orders() -> Vec<(Value, u16, &'static str)> {
    let beneficiary = |body: Value| with("beneficiary", body);
    let mut refused = vec![
        (with("channel", json!("nowhere")), 422, "unknown_channel"),
        (with("amount", json!("1.234")), 422, "bad_amount"),
        (with("amount", json!("")), 422, "bad_amount"),
        (with("amount", json!("ten")), 422, "bad_amount"),
        (with("amount", json!("1e3")), 422, "bad_amount"),
        (with("amount", json!("NaN")), 422, "bad_amount"),
        (with("amount", json!("\u{0661}\u{0662}")), 422, "bad_amount"),
        (with("amount", json!("92233720368547758.08")), 422, "bad_amount"),
        (with("amount", json!("9".repeat(400))), 422, "bad_amount"),
        (with("amount", json!("-10.00")), 422, "nothing_to_pay"),
        (with("amount", json!("0.00")), 422, "nothing_to_pay"),
        (with("amount", json!("0")), 422, "nothing_to_pay"),
        (with("amount", json!("999999999.00")), 422, "missing_funds"),
        (with("currency", json!("XYZ")), 422, "bad_currency"),
        (with("currency", json!("pkr")), 422, "bad_currency"),
        (with("currency", json!("USD")), 422, "currency_of_channel"),
        (with("merchant_id", json!("absent")), 422, "unknown_merchant"),
        (with("merchant_id", json!("closed")), 422, "merchant_closed"),
        (with("merchant_id", json!("a:b")), 422, "bad_identifier"),
        (with("metadata", json!({"k": "v".repeat(501)})), 422, "bad_remarks"),
        (with("trace_id", json!("t".repeat(129))), 422, "bad_remarks"),
        (with("description", json!("d".repeat(501))), 422, "bad_remarks"),
        (with("external_id", json!("")), 422, "bad_external_id"),
        (with("external_id", json!("e".repeat(129))), 422, "bad_external_id"),
        (with("external_id", json!("a\nb")), 422, "bad_external_id"),
        (with("external_id", json!(7)), 400, "bad_request"),
        (beneficiary(json!({"name": "A"})), 422, "bad_beneficiary"),
        (beneficiary(json!({"name": "", "msisdn": "923001234567"})), 422, "bad_beneficiary"),
        (beneficiary(json!({"name": "A", "msisdn": "+923"})), 422, "bad_beneficiary"),
        (
            beneficiary(json!({"name": "A", "msisdn": "923001234567", "account": "1"})),
            422,
            "bad_beneficiary",
        ),
        (with("beneficiary_id", json!("ben_1")), 400, "bad_request"),
    ];
    // A JSON number is not an amount: it may have lost precision already.
    for number in [json!(10), json!(10.5), json!(1e300), json!(null), json!(["10.00"])] {
        refused.push((with("amount", number), 400, "bad_request"));
    }
    refused
}

#[test]
fn a_payout_that_cannot_be_is_refused_and_nothing_is_posted() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    admin.merchant("closed", "1000.00");
    let close = json!({"status": "closed"}).to_string();
    admin.ask("PATCH", "/v1/merchants/closed", &[], close.as_bytes()).is(200);
    let before = admin.books();
    let balances = (admin.balance("m1"), admin.balance("closed"));
    for (number, (body, status, code)) in wrong_orders().into_iter().enumerate() {
        let answer = admin.pay(&format!("k-{number}"), &body);
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{body}");
        answer.refused(status, code);
    }
    assert_eq!(admin.books(), before);
    assert_eq!((admin.balance("m1"), admin.balance("closed")), balances);
    admin.books_hold();
}

#[test]
fn a_pay_in_that_cannot_be_is_refused_and_nothing_is_posted() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    admin.merchant("closed", "0.00");
    let close = json!({"status": "closed"}).to_string();
    admin.ask("PATCH", "/v1/merchants/closed", &[], close.as_bytes()).is(200);
    let good = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r", "amount": "10.00", "currency": "PKR"});
    let before = admin.books();
    for (field, value, status, code) in [
        ("amount", json!("1.234"), 422, "bad_amount"),
        ("amount", json!("0.00"), 422, "nothing_to_pay"),
        ("amount", json!("-1.00"), 422, "nothing_to_pay"),
        ("amount", json!(10.0), 400, "bad_request"),
        ("currency", json!("ZZZ"), 422, "bad_currency"),
        ("merchant_id", json!("absent"), 422, "unknown_merchant"),
        ("merchant_id", json!("closed"), 422, "merchant_closed"),
        ("reference", json!(""), 422, "bad_reference"),
        ("reference", json!("r".repeat(129)), 422, "bad_reference"),
        ("provider", json!("a b"), 422, "bad_reference"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let answer = admin.post("/v1/payins", &body);
        assert_eq!(answer.json()["code"], code, "{body}");
        answer.refused(status, code);
    }
    assert_eq!(admin.books(), before);
    let first = admin.post("/v1/payins", &good);
    let again = admin.post("/v1/payins", &good);
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.is(201), again.is(201));
    let mut other = good;
    other["amount"] = json!("11.00");
    admin.post("/v1/payins", &other).refused(409, "reference_reused");
    assert_eq!(admin.balance("m1").0, "1010.00");
}

#[test]
fn a_statement_that_is_posted_by_hand_is_checked_like_any_other() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let before = admin.books();
    let event = |event: &str, variables: Value| json!({"event": event, "reference": "h-1", "variables": variables});
    let amount = json!({"merchantId": "m1", "currency": "PKR", "amount": "1.00"});
    for (body, code) in [
        (event("NOTHING", amount.clone()), "unknown_event"),
        (event("ADJUSTMENT_CREDIT", json!({})), "missing_variables"),
        (
            event(
                "ADJUSTMENT_CREDIT",
                json!({"merchantId": "m1", "currency": "PKR", "amount": "1.00", "colour": "red"}),
            ),
            "unknown_variable",
        ),
        (
            event(
                "ADJUSTMENT_CREDIT",
                json!({"merchantId": "m1", "currency": "PKR", "amount": "-1.00"}),
            ),
            "negative_amount",
        ),
    ] {
        admin.post("/v1/ledger/transactions", &body).refused(422, code);
    }
    assert_eq!(admin.books(), before);
}
