//! Freezes stop submissions, and unfreezing needs two people.

use serde_json::{Value, json};

use super::actions::{id, order};
use super::server::{Server, Simulator};
use crate::caller::Caller;

const SCOPES: [(&str, Option<&str>); 3] =
    [("global", None), ("channel", Some("wallet")), ("merchant", Some("m1"))];

fn switch((scope, id): (&str, Option<&str>)) -> Value {
    let mut body = json!({"scope": scope, "reason": "drill"});
    if let Some(id) = id {
        body["id"] = json!(id);
    }
    body
}

fn lift(first: &Caller, second: &Caller, scope: (&str, Option<&str>)) {
    let proposed = first.post("/v1/dispatch/unfreeze", &switch(scope)).is(200);
    assert_eq!(proposed["status"], "UNFREEZE_PROPOSED");
    let open = second.post("/v1/dispatch/unfreeze", &switch(scope)).is(200);
    assert_eq!(open["status"], "OPEN");
}

#[test]
fn what_is_frozen_waits_and_says_why_until_two_have_lifted_it() {
    let simulator = Simulator::calm();
    let wallet = simulator.config("wallet") + "poll_interval_s = 0.1\n";
    let server = Server::with(&wallet, &[]);
    let admin = server.admin();
    admin.merchant("m1", "10000.00");
    admin.merchant("m2", "10000.00");
    let (olga, abid) = (admin.key("Olga", "operator", None), admin.key("Abid", "approver", None));
    for (number, scope) in SCOPES.into_iter().enumerate() {
        assert_eq!(olga.post("/v1/dispatch/freeze", &switch(scope)).is(200)["status"], "FROZEN");
        let paid = simulator.payments().len();
        let payout = admin.pay(&format!("k-{number}"), &order("m1", "wallet", "10.00")).is(201);
        let told = admin.explain(id(&payout));
        // What is frozen is left as it is. A request makes the engine claim in the turn after it, so that the second of these
        // is answered after it has looked.
        for turn in 1..=3 {
            let reference = format!("{number}-{turn}");
            let body = json!({"merchant_id": "m2", "provider": "easypay", "reference": reference, "amount": "1.00", "currency": "PKR"});
            admin.post("/v1/payins", &body).is(201);
        }
        assert_eq!(admin.explain(id(&payout))["next_at"], payout["created_at"]);
        let why = admin.get(&format!("/v1/dispatch/why/{}", id(&payout))).is(200);
        assert_eq!(why["reason"], "freeze", "{why}");
        assert_eq!((&told["status"], &told["is_frozen"]), (&json!("READY"), &json!(true)));
        assert!(told["summary"].as_str().unwrap().contains("frozen"), "{told}");
        // A payout of another merchant proceeds, unless the freeze covers it.
        if scope.0 == "merchant" {
            let other = admin.pay("other", &order("m2", "wallet", "10.00")).is(201);
            admin.payout_at(id(&other), "SUCCESS");
        }
        assert_eq!(admin.payout(id(&payout))["status"], "READY");
        let now_paid = simulator.payments().len();
        assert_eq!(now_paid - paid, usize::from(scope.0 == "merchant"), "nothing was sent");
        lift(&olga, &abid, scope);
        admin.payout_at(id(&payout), "SUCCESS");
    }
    assert_eq!(admin.get("/v1/dispatch/freezes").is(200)["data"], json!([]));
    admin.books_hold();
}

#[test]
fn a_freeze_is_lifted_by_two_people_one_of_whom_approves() {
    let server = Server::new();
    let admin = server.admin();
    let (olga, omar) = (admin.key("Olga", "operator", None), admin.key("Omar", "operator", None));
    let abid = admin.key("Abid", "approver", None);
    let body = switch(("global", None));
    olga.post("/v1/dispatch/freeze", &body).is(200);
    // The admin key of the environment is no person: what it begins, a person begins anew.
    admin.post("/v1/dispatch/unfreeze", &body).is(200);
    admin.post("/v1/dispatch/unfreeze", &body).refused(409, "second_person_needed");
    olga.post("/v1/dispatch/unfreeze", &body).is(200);
    olga.post("/v1/dispatch/unfreeze", &body).refused(409, "second_person_needed");
    omar.post("/v1/dispatch/unfreeze", &body).refused(403, "approver_needed");
    let freezes = admin.get("/v1/dispatch/freezes").is(200);
    assert!(freezes["data"][0]["lifted_by"].as_str().unwrap().starts_with("Olga/"), "{freezes}");
    // A new freeze discards the pending unfreeze approval.
    omar.post("/v1/dispatch/freeze", &body).is(200);
    lift(&olga, &abid, ("global", None));
    assert_eq!(omar.post("/v1/dispatch/unfreeze", &body).is(200)["status"], "OPEN");
}

#[test]
fn a_freeze_names_something_that_is_there() {
    let server = Server::new();
    let admin = server.admin();
    for (body, status, code) in [
        (json!({"scope": "global", "id": "m1", "reason": "r"}), 400, "bad_request"),
        (json!({"scope": "channel", "reason": "r"}), 400, "bad_request"),
        (json!({"scope": "merchant", "reason": "r"}), 400, "bad_request"),
        (json!({"scope": "planet", "reason": "r"}), 400, "bad_request"),
        (json!({"scope": "global"}), 400, "bad_request"),
        (json!({"scope": "channel", "id": "nowhere", "reason": "r"}), 422, "unknown_channel"),
        (json!({"scope": "merchant", "id": "absent", "reason": "r"}), 422, "unknown_merchant"),
        (json!({"scope": "global", "reason": "r".repeat(1_001)}), 422, "bad_note"),
    ] {
        admin.post("/v1/dispatch/freeze", &body).refused(status, code);
    }
    assert_eq!(admin.get("/v1/dispatch/freezes").is(200)["data"], json!([]));
}
