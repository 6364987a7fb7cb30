//! A merchant key can neither read nor change data of another merchant.

use serde_json::{Value, json};

use super::actions::{id, order};
use super::server::Server;
use crate::caller::Caller;

/// The resources of a merchant.
struct Belongings {
    caller: Caller,
    payout: String,
    payin: String,
    beneficiary: String,
    endpoint: String,
    delivery: String,
}

fn merchant(admin: &Caller, name: &str) -> Belongings {
    admin.merchant(name, "1000.00");
    let caller = admin.key(name, "merchant", Some(name));
    let beneficiary =
        json!({"merchant_id": name, "name": "Amina", "account": "PK001234", "bank": "HBL"});
    let beneficiary = caller.post("/v1/beneficiaries", &beneficiary).is(201);
    assert_eq!(beneficiary["account"], "****1234", "only the end of an account is shown");
    let mut later = order(name, "calm", "100.00");
    later["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    // Both use the same idempotency key: keys are scoped by merchant.
    let payout = caller.pay("first", &later).is(201);
    assert_eq!(payout["merchant_id"], name);
    let payins = caller.get("/v1/payins").is(200);
    let hooks = json!({"merchant_id": name, "url": "https://merchant.invalid/hooks"});
    let endpoint = caller.post("/v1/webhook-endpoints", &hooks).is(201);
    let path = format!("/v1/webhook-endpoints/{}/test", id(&endpoint));
    let delivery = caller.post(&path, &json!({})).is(202);
    Belongings {
        payout: id(&payout).to_owned(),
        payin: id(&payins["data"][0]).to_owned(),
        beneficiary: id(&beneficiary).to_owned(),
        endpoint: id(&endpoint).to_owned(),
        delivery: id(&delivery).to_owned(),
        caller,
    }
}

fn owners(list: &Value) -> Vec<&str> {
    list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["merchant_id"].as_str().unwrap())
        .collect()
}

#[test]
fn a_merchant_does_not_see_what_belongs_to_another() {
    let server = Server::new();
    let admin = server.admin();
    let (one, two) = (merchant(&admin, "one"), merchant(&admin, "two"));
    let hidden = [
        "/v1/merchants/one".to_owned(),
        "/v1/merchants/one/balances".to_owned(),
        "/v1/merchants/one/statement".to_owned(),
        format!("/v1/payouts/{}", one.payout),
        format!("/v1/payouts/{}/timeline", one.payout),
        format!("/v1/payouts/{}/explain", one.payout),
        format!("/v1/payins/{}", one.payin),
        format!("/v1/beneficiaries/{}", one.beneficiary),
        format!("/v1/webhook-endpoints/{}", one.endpoint),
        format!("/v1/deliveries/{}", one.delivery),
    ];
    for path in hidden {
        two.caller.get(&path).refused(404, "not_found");
        one.caller.get(&path).is(200);
    }
    for list in [
        "/v1/payouts",
        "/v1/payins",
        "/v1/beneficiaries",
        "/v1/events",
        "/v1/webhook-endpoints",
        "/v1/deliveries",
    ] {
        let seen = two.caller.get(list).is(200);
        let seen = owners(&seen);
        assert!(!seen.is_empty() && seen.iter().all(|owner| *owner == "two"), "{list}: {seen:?}");
        let all = admin.get(list).is(200);
        assert!(owners(&all).contains(&"one"), "{list}");
    }
    let found = admin.get("/v1/deliveries?merchant_id=one").is(200);
    let event = found["data"][0]["event_id"].as_str().unwrap();
    let theirs = two.caller.get(&format!("/v1/deliveries?event_id={event}")).is(200);
    assert_eq!(theirs["data"], json!([]), "nothing is found by guessing");
    for list in ["/v1/payouts", "/v1/payins", "/v1/beneficiaries", "/v1/webhook-endpoints"] {
        two.caller.get(&format!("{list}?merchant_id=one")).refused(403, "forbidden");
        assert_eq!(owners(&admin.get(&format!("{list}?merchant_id=one")).is(200)), ["one"]);
    }
    two.caller.get("/v1/merchants").refused(403, "forbidden");
}

#[test]
fn a_merchant_does_not_move_what_belongs_to_another() {
    let server = Server::new();
    let admin = server.admin();
    let (one, two) = (merchant(&admin, "one"), merchant(&admin, "two"));
    let before = admin.books();
    two.caller.pay("k-1", &order("one", "calm", "10.00")).refused(403, "forbidden");
    let path = format!("/v1/payouts/{}/cancel", one.payout);
    two.caller.move_money("k-2", &path, &json!({})).refused(404, "not_found");
    let of_one = format!("/v1/webhook-endpoints/{}", one.endpoint);
    for action in ["enable", "disable", "rotate-secret", "test"] {
        two.caller.post(&format!("{of_one}/{action}"), &json!({})).refused(404, "not_found");
    }
    two.caller.ask("PATCH", &of_one, &[], b"{}").refused(404, "not_found");
    two.caller.ask("DELETE", &of_one, &[], b"").refused(404, "not_found");
    let path_of_one = format!("/v1/deliveries/{}/replay", one.delivery);
    two.caller.post(&path_of_one, &json!({})).refused(404, "not_found");
    let bulk = json!({"merchant_id": "one"});
    two.caller.post("/v1/dead-letters/replay", &bulk).refused(403, "forbidden");
    let hooks = json!({"merchant_id": "one", "url": "https://mallory.invalid/"});
    two.caller.post("/v1/webhook-endpoints", &hooks).refused(403, "forbidden");
    let beneficiary = json!({"merchant_id": "one", "name": "Mallory", "msisdn": "923009999999"});
    two.caller.post("/v1/beneficiaries", &beneficiary).refused(403, "forbidden");
    let mut theirs = order("two", "calm", "10.00");
    theirs.as_object_mut().unwrap().remove("beneficiary");
    theirs["beneficiary_id"] = json!(one.beneficiary);
    two.caller.pay("k-3", &theirs).refused(404, "not_found");
    admin.pay("k-4", &theirs).refused(404, "not_found");
    assert_eq!(admin.books(), before);
    assert_eq!(admin.payout(&one.payout)["status"], "SCHEDULED");
    one.caller.move_money("k-5", &path, &json!({})).is(200);
    assert_eq!(one.caller.balance("one"), ("1000.00".to_owned(), "0.00".to_owned()));
}

#[test]
fn a_key_that_was_revoked_opens_nothing_any_more() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("one", "0.00");
    let issued = admin.post("/v1/merchants/one/keys", &json!({"name": "till"})).is(201);
    let till = admin.with(issued["key"].as_str().unwrap());
    till.get("/v1/merchants/one").is(200);
    let listed = admin.get("/v1/merchants/one/keys").is(200);
    assert!(!listed.to_string().contains(issued["key"].as_str().unwrap()), "it is shown once");
    admin.ask("DELETE", &format!("/v1/keys/{}", id(&issued)), &[], b"").is(200);
    till.get("/v1/merchants/one").refused(401, "unauthenticated");
}
