//! One person alone, under whatever key or name, tries to make money, to pay it out, or to make the second person.

use serde_json::{Value, json};

use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::{Answer, Caller};

/// A server with the usual rules, which the common configuration of the tests relaxes.
fn server() -> Server {
    let server = Server::with("approvals = []", &["--test-clock"]);
    server.admin().post("/v1/merchants", &json!({"id": "m1", "name": "One"})).is(201);
    server
}

/// An admin and an approver of the first set-up, and an operator whom the admin made alone.
struct People {
    maker: Caller,
    checker: Caller,
    operator: Caller,
}

fn people(bootstrap: &Caller) -> People {
    let maker = bootstrap.key("Maria", "admin", None);
    let checker = bootstrap.key("Cem", "approver", None);
    let operator = maker.key("Otto", "operator", None);
    People { maker, checker, operator }
}

fn payin(reference: &str, amount: &str) -> Value {
    json!({"merchant_id": "m1", "provider": "easypay", "reference": reference, "amount": amount, "currency": "PKR"})
}

fn credit(reference: &str) -> Value {
    let variables = json!({"merchantId": "m1", "currency": "PKR", "amount": "1.00"});
    json!({"event": "ADJUSTMENT_CREDIT", "reference": reference, "variables": variables})
}

fn proposed(answer: Answer) -> String {
    answer.is(202)["approval_id"].as_str().unwrap().to_owned()
}

fn approve(by: &Caller, approval: &str) -> Answer {
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
    // The merchant itself pays its own money.
    let merchant = server.admin().key("till", "merchant", Some("m1"));
    merchant.pay("k2", &body).is(201);
    server.admin().books_hold();
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
    // Both keys of the set-up were made by the bootstrap admin: it is related to them.
    approve(&bootstrap, &approval).refused(409, "creator_involved");
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
    let merchant = server.admin().key("till", "merchant", Some("m1"));
    merchant.pay("k2", &order("m1", "calm", "1900.00")).is(201);
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
