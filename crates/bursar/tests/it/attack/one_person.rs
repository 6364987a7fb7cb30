//! One person alone, under whatever key or name, tries to make money, to pay it out, or to make the second person.

use serde_json::{Value, json};

use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::{Answer, Caller, until};

/// A server with the usual rules, which the common configuration of the tests relaxes.
pub(super) fn server() -> Server {
    let server = Server::with("approvals = []", &["--test-clock"]);
    server.admin().post("/v1/merchants", &json!({"id": "m1", "name": "One"})).is(201);
    server
}

/// An admin and an approver of the first set-up, and an operator whom the admin made alone.
pub(super) struct People {
    pub(super) maker: Caller,
    pub(super) checker: Caller,
    pub(super) operator: Caller,
}

pub(super) fn people(bootstrap: &Caller) -> People {
    let maker = bootstrap.key("Maria", "admin", None);
    let checker = bootstrap.key("Cem", "approver", None);
    let operator = maker.key("Otto", "operator", None);
    People { maker, checker, operator }
}

pub(super) fn payin(reference: &str, amount: &str) -> Value {
    json!({"merchant_id": "m1", "provider": "easypay", "reference": reference, "amount": amount, "currency": "PKR"})
}

pub(super) fn credit(reference: &str) -> Value {
    let variables = json!({"merchantId": "m1", "currency": "PKR", "amount": "1.00"});
    json!({"event": "ADJUSTMENT_CREDIT", "reference": reference, "variables": variables})
}

pub(super) fn proposed(answer: Answer) -> String {
    answer.is(202)["approval_id"].as_str().unwrap().to_owned()
}

pub(super) fn approve(by: &Caller, approval: &str) -> Answer {
    by.post(&format!("/v1/approvals/{approval}/approve"), &json!({}))
}

#[test]
fn an_operator_records_fifty_million_by_hand() {
    let server = server();
    let People { maker, checker, operator } = people(&server.admin());
    let body = payin("r1", "50000000.00");
    let approval = proposed(operator.post("/v1/payins", &body));
    assert_eq!(proposed(operator.post("/v1/payins", &body)), approval, "one proposal");
    assert_eq!(maker.balance("m1"), ("0.00".to_owned(), "0.00".to_owned()));
    // An operator does not approve, and Maria made Otto's key alone.
    approve(&operator, &approval).refused(403, "forbidden");
    approve(&maker, &approval).refused(409, "creator_involved");
    let done = approve(&checker, &approval).is(200);
    assert_eq!(done["status"], "APPROVED");
    assert!(done["result"].as_str().unwrap().starts_with("pi_"));
    approve(&checker, &approval).refused(409, "not_proposed");
    operator.post("/v1/payins", &body).is(201);
    assert_eq!(maker.balance("m1").0, "50000000.00", "once");
    server.admin().books_hold();
}

#[test]
fn staff_pays_out_above_the_limit() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    maker.post("/v1/payins", &payin("small", "999.00")).is(201);
    approve(&checker, &proposed(maker.post("/v1/payins", &payin("r1", "9000.00")))).is(200);
    let body = order("m1", "calm", "1500.00");
    let approval = proposed(maker.pay("k1", &body));
    assert_eq!(maker.get("/v1/payouts").is(200)["data"], json!([]), "it does not exist yet");
    approve(&maker, &approval).refused(409, "second_person_needed");
    let result = approve(&checker, &approval).is(200)["result"].clone();
    let again = maker.pay("k1", &body);
    assert_eq!((again.status, &again.json()["id"]), (201, &result), "the same key, the payout");
    maker.payout_at(result.as_str().unwrap(), "SUCCESS");
    server.admin().books_hold();
}

/// A key of the merchant that one admin made alone may be in the admin's own hand.
#[test]
fn an_admin_makes_a_key_of_the_merchant_and_pays_out_with_it() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    approve(&checker, &proposed(maker.post("/v1/payins", &payin("r1", "9000.00")))).is(200);
    let till = maker.key("till", "merchant", Some("m1"));
    till.pay("small", &order("m1", "calm", "900.00")).is(201);
    let body = order("m1", "calm", "1500.00");
    let answer = till.pay("k1", &body);
    assert!(answer.json()["approval"].is_null(), "house accounts are for staff: {answer:?}");
    let approval = proposed(answer);
    assert_eq!(proposed(till.pay("k1", &body)), approval, "one proposal");
    approve(&maker, &approval).refused(409, "creator_involved");
    let result = approve(&checker, &approval).is(200)["result"].clone();
    assert_eq!(till.pay("k1", &body).is(201)["id"], result);
    server.admin().books_hold();

    // A company whose merchants pay large amounts by themselves has two people make their keys.
    let config = "[[approvals]]\naction = \"key.issue_merchant\"\nquorum = 2\n";
    let server = Server::with(config, &["--test-clock"]);
    server.admin().post("/v1/merchants", &json!({"id": "m1", "name": "One"})).is(201);
    let People { maker, checker, .. } = people(&server.admin());
    approve(&checker, &proposed(maker.post("/v1/payins", &payin("r1", "9000.00")))).is(200);
    let made = maker.post("/v1/merchants/m1/keys", &json!({"name": "till"})).is(202);
    let till = maker.with(made["key"].as_str().unwrap());
    till.pay("k1", &body).refused(401, "unauthenticated");
    approve(&checker, made["approval_id"].as_str().unwrap()).is(200);
    till.pay("k1", &body).is(201);
}

/// The admin key of the environment revokes the keys of all others, and sets the server up again with people of its own.
#[test]
fn the_first_set_up_is_repeated_with_other_people() {
    let server = server();
    let bootstrap = server.admin();
    people(&bootstrap);
    let keys = bootstrap.get("/v1/keys").is(200);
    for key in keys["data"].as_array().unwrap() {
        let path = format!("/v1/keys/{}?break_glass=true&reason=mine", id(key));
        bootstrap.ask("DELETE", &path, &[], b"");
    }
    for (name, role) in [("Zoe", "admin"), ("Yves", "approver"), ("Maria", "admin")] {
        bootstrap.post("/v1/keys", &json!({"name": name, "role": role})).is(202);
    }
}

/// A later admin reads the environment of the server and uses the first admin key as the second person.
#[test]
fn the_first_admin_key_is_used_as_the_second_person() {
    let server = server();
    let bootstrap = server.admin();
    let People { maker, checker, .. } = people(&bootstrap);
    let made = maker.post("/v1/keys", &json!({"name": "Cleo", "role": "admin"})).is(202);
    let cleo = maker.with(made["key"].as_str().unwrap());
    approve(&checker, made["approval_id"].as_str().unwrap()).is(200);
    let approval = proposed(bootstrap.post("/v1/ledger/transactions", &credit("a1")));
    approve(&cleo, &approval).refused(409, "bootstrap_involved");
    let approval = proposed(cleo.post("/v1/ledger/transactions", &credit("a2")));
    approve(&bootstrap, &approval).refused(409, "bootstrap_involved");
    approve(&checker, &approval).is(200);
}

/// An admin makes a key in the name of another person, and withdraws that person's proposals with it.
#[test]
fn a_key_in_the_name_of_the_maker_withdraws_the_proposal() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    let approval = proposed(checker_proposes(&server, &maker, &checker));
    let body = json!({"name": "spare key", "person": "Dora", "role": "operator"});
    let spare = maker.post("/v1/keys", &body).is(201);
    let spare = maker.with(spare["key"].as_str().unwrap());
    let path = format!("/v1/approvals/{approval}/withdraw");
    spare.post(&path, &json!({})).refused(409, "creator_involved");
    assert_eq!(maker.get(&format!("/v1/approvals/{approval}")).is(200)["status"], "PROPOSED");
}

/// Dora, an admin whose key two people made, proposes to revoke the maker's key.
fn checker_proposes(server: &Server, maker: &Caller, checker: &Caller) -> Answer {
    let made = maker.post("/v1/keys", &json!({"name": "Dora", "role": "admin"})).is(202);
    let dora = server.admin().with(made["key"].as_str().unwrap());
    approve(checker, made["approval_id"].as_str().unwrap()).is(200);
    dora.post("/v1/ledger/transactions", &credit("of dora"))
}

/// A stolen key has proposed before it was revoked.
#[test]
fn the_proposal_of_a_revoked_key_is_approved() {
    let server = server();
    let People { maker, checker, operator } = people(&server.admin());
    let approval = proposed(operator.post("/v1/payins", &payin("r1", "50000000.00")));
    let keys = maker.get("/v1/keys").is(200);
    let otto = keys["data"].as_array().unwrap().iter().find(|key| key["name"] == "Otto").unwrap();
    maker.ask("DELETE", &format!("/v1/keys/{}", id(otto)), &[], b"").is(200);
    approve(&checker, &approval).refused(409, "signer_revoked");
    checker.post(&format!("/v1/approvals/{approval}/reject"), &json!({})).is(200);
    assert_eq!(maker.balance("m1").0, "0.00");
}

#[test]
fn a_person_is_named_like_the_first_admin_key() {
    let server = server();
    let bootstrap = server.admin();
    let admin = bootstrap.key("admin", "admin", None);
    let checker = bootstrap.key("Cem", "approver", None);
    let approval = proposed(admin.post("/v1/ledger/transactions", &credit("a1")));
    approve(&checker, &approval).is(200);
}

#[test]
fn a_provider_that_does_not_exist_pays_in() {
    let server = server();
    let People { maker, .. } = people(&server.admin());
    let mut body = payin("r1", "10.00");
    body["provider"] = "eazypay".into();
    maker.post("/v1/payins", &body).refused(422, "unknown_provider");
    assert_eq!(maker.balance("m1").0, "0.00");
}

/// People hear of a proposal that no person may approve, and of the use of the first admin key.
#[test]
fn the_first_admin_works_on_alone() {
    let server = server();
    let bootstrap = server.admin();
    people(&bootstrap);
    proposed(bootstrap.post("/v1/ledger/transactions", &credit("a1")));
    let raised = |name: &str| {
        until(name, || {
            let feed = bootstrap.get("/v1/events?limit=500").is(200);
            let events = feed["data"].as_array().unwrap().clone();
            let is_raised = |event: &Value| {
                event["type"] == "alert.raised" && event["subject"] == format!("alert:{name}")
            };
            events.iter().any(is_raised).then_some(())
        });
    };
    raised("approval_blocked");
    raised("bootstrap_key");
}

#[test]
fn one_admin_posts_an_adjustment_and_approves_it_under_other_names() {
    let server = server();
    let bootstrap = server.admin();
    let People { maker, checker, .. } = people(&bootstrap);
    let approval = proposed(maker.post("/v1/ledger/transactions", &credit("a1")));
    // The same person with a second key needs two people for that key.
    maker.post("/v1/keys", &json!({"name": "maria", "role": "approver"})).is(202);
    // A minted key works only when a second person has approved it.
    let minted = maker.post("/v1/keys", &json!({"name": "Puppet", "role": "approver"}));
    let secret = minted.is(202)["key"].as_str().unwrap().to_owned();
    approve(&maker.with(&secret), &approval).refused(401, "unauthenticated");
    // Everyone who can read the environment has the first admin key.
    approve(&bootstrap, &approval).refused(409, "bootstrap_involved");
    let done = approve(&checker, &approval).is(200);
    assert_eq!(done["would"][0]["amount"], "1.00", "{done}");
    assert_eq!(maker.balance("m1").0, "1.00");
    // After the set-up the bootstrap admin makes no approver alone.
    bootstrap.post("/v1/keys", &json!({"name": "Zoe", "role": "admin"})).is(202);
    bootstrap.post("/v1/keys", &json!({"name": "Zoë", "role": "admin"})).refused(422, "bad_person");
    bootstrap.books_hold();
}

#[test]
fn a_key_of_two_people_approves_what_its_maker_proposes() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    let key = maker.post("/v1/keys", &json!({"name": "Dora", "role": "approver"})).is(202);
    let dora = maker.with(key["key"].as_str().unwrap());
    approve(&checker, key["approval_id"].as_str().unwrap()).is(200);
    let approval = proposed(maker.post("/v1/ledger/transactions", &credit("a1")));
    assert_eq!(approve(&dora, &approval).is(200)["status"], "APPROVED");
}

#[test]
fn a_stolen_key_is_revoked_at_once_and_approved_afterwards() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    let keys = maker.get("/v1/keys").is(200);
    let cem = keys["data"].as_array().unwrap().iter().find(|key| key["name"] == "Cem").unwrap();
    let path = format!("/v1/keys/{}", id(cem));
    maker.ask("DELETE", &path, &[], b"").is(202);
    checker.get("/v1/approvals").is(200);
    let glass = maker.ask("DELETE", &format!("{path}?break_glass=true&reason=stolen"), &[], b"");
    assert_eq!(glass.json()["approval"]["status"], "BREAK_GLASS");
    let approval = proposed(glass);
    checker.get("/v1/approvals").refused(401, "unauthenticated");
    approve(&maker, &approval).refused(409, "second_person_needed");
    maker.post("/v1/ledger/transactions", &credit("a1")).is(202);
    server.admin().books_hold();
}

#[test]
fn what_was_rejected_withdrawn_or_has_expired_is_not_done() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    let first = proposed(maker.post("/v1/ledger/transactions", &credit("a1")));
    checker.post(&format!("/v1/approvals/{first}/withdraw"), &json!({})).refused(403, "forbidden");
    checker.post(&format!("/v1/approvals/{first}/reject"), &json!({"note": "no"})).is(200);
    approve(&checker, &first).refused(409, "not_proposed");
    let again = maker.post("/v1/ledger/transactions", &credit("a1"));
    again.refused(409, "approval_rejected");
    let second = proposed(maker.post("/v1/ledger/transactions", &credit("a2")));
    maker.post(&format!("/v1/approvals/{second}/withdraw"), &json!({})).is(200);
    let third = proposed(maker.post("/v1/ledger/transactions", &credit("a2")));
    assert_ne!(second, third, "a withdrawn proposal can be made again");
    server.admin().post("/v1/test-clock/advance", &json!({"seconds": 86_400})).is(200);
    approve(&checker, &third).refused(409, "not_proposed");
    assert_eq!(maker.get(&format!("/v1/approvals/{third}")).is(200)["status"], "EXPIRED");
    assert_eq!(maker.balance("m1").0, "0.00");
    server.admin().books_hold();
}

#[test]
fn a_payout_whose_funds_are_gone_is_stale() {
    let server = server();
    let People { maker, checker, .. } = people(&server.admin());
    approve(&checker, &proposed(maker.post("/v1/payins", &payin("r1", "2000.00")))).is(200);
    let approval = proposed(maker.pay("k1", &order("m1", "calm", "1500.00")));
    // In the books by another route.
    let merchant = server.admin().key("till", "merchant", Some("m1"));
    for (key, amount) in [("k2", "900.00"), ("k3", "950.00")] {
        merchant.pay(key, &order("m1", "calm", amount)).is(201);
    }
    approve(&checker, &approval).refused(409, "approval_stale");
    approve(&checker, &approval).refused(409, "not_proposed");
    let view = maker.get(&format!("/v1/approvals/{approval}")).is(200);
    assert_eq!(view["status"], "STALE", "{view}");
    server.admin().books_hold();
}

#[test]
fn a_server_is_killed_while_a_proposal_waits() {
    let mut server = server();
    let People { checker, operator, .. } = people(&server.admin());
    let body = payin("r1", "50000000.00");
    let approval = proposed(operator.post("/v1/payins", &body));
    server.kill();
    server.start();
    let again = |caller: &Caller| server.admin().with(&caller.key_text());
    assert_eq!(proposed(again(&operator).post("/v1/payins", &body)), approval, "it still waits");
    assert_eq!(approve(&again(&checker), &approval).is(200)["status"], "APPROVED");
    assert_eq!(server.admin().balance("m1").0, "50000000.00", "once");
    server.admin().books_hold();
}
