//! Resolution of stuck payouts: roles, evidence, and corrections.

use serde_json::{Value, json};

use super::actions::{id, order, said};
use super::server::Server;
use crate::caller::Caller;

/// A payout that was submitted and never answered.
fn stuck(admin: &Caller, amount: &str) -> Value {
    admin.merchant("m1", "10000.00");
    let payout = admin.pay("k", &order("m1", "silent", amount)).is(201);
    let stuck = admin.payout_at(id(&payout), "STUCK");
    assert_eq!(stuck["reason"], "ambiguous", "{stuck}");
    stuck
}

fn audited(admin: &Caller, action: &str) -> Vec<String> {
    let audit = admin.get("/v1/audit?limit=500").is(200);
    let entries = audit["data"].as_array().unwrap();
    let actors = entries.iter().filter(|entry| entry["action"] == action);
    actors.map(|entry| entry["actor"].as_str().unwrap().to_owned()).collect()
}

fn has(admin: &Caller, available: &str, held: &str) {
    assert_eq!(admin.balance("m1"), (available.to_owned(), held.to_owned()));
    admin.books_hold();
}

#[test]
fn paid_after_a_person_has_released_it_takes_the_release_back() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "100.00");
    has(&admin, "9882.60", "117.40");
    let mut stale = payout.clone();
    stale["version"] = json!(payout["version"].as_u64().unwrap() - 1);
    admin.resolve("d-1", &stale, "confirm_not_paid").refused(409, "stale_version");
    has(&admin, "9882.60", "117.40");
    let decided = admin.resolve("d-2", &payout, "confirm_not_paid");
    let again = admin.resolve("d-2", &payout, "confirm_not_paid");
    assert!(again.is_replay());
    assert_eq!(again.text, decided.text);
    assert_eq!(decided.is(200)["status"], "FAILED");
    has(&admin, "10000.00", "0.00");
    admin.resolve("d-3", &payout, "confirm_paid").refused(409, "stale_version");
    let failed = admin.payout(id(&payout));
    admin.resolve("d-4", &failed, "confirm_paid").refused(409, "not_stuck");
    let noted = admin.tell("silent", &said(&payout, "completed")).is(200);
    assert_eq!(noted["status"], "LATE_SUCCESS");
    has(&admin, "9882.60", "0.00");
    let late = admin.payout(id(&payout));
    assert_eq!(late["final"], true);
    let told = admin.get(&format!("/v1/payouts/{}/timeline", id(&payout))).is(200);
    let told = told["data"].as_array().unwrap();
    let sequence: Vec<u64> =
        told.iter().map(|moment| moment["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequence, (1..).take(sequence.len()).collect::<Vec<u64>>(), "no gaps");
    assert_eq!(told.last().unwrap()["type"], "payout.late_success");
    assert_eq!(audited(&admin, "payout.confirm_not_paid"), ["admin"]);
    // A repeated callback books no second payment.
    admin.tell("silent", &said(&payout, "completed")).is(200);
    has(&admin, "9882.60", "0.00");
}

#[test]
fn a_merchant_that_has_spent_the_release_owes_it() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "100.00");
    admin.resolve("d", &payout, "confirm_not_paid").is(200);
    let spent = admin.pay("k-2", &order("m1", "calm", "9982.60")).is(201);
    admin.payout_at(id(&spent), "SUCCESS");
    has(&admin, "0.00", "0.00");
    admin.tell("silent", &said(&payout, "completed")).is(200);
    has(&admin, "-117.40", "0.00");
    admin.pay("k-3", &order("m1", "calm", "1.00")).refused(422, "missing_funds");
}

#[test]
fn above_the_limit_two_people_decide_and_one_of_them_approves() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "1000.01");
    let olga = admin.key("Olga", "operator", None);
    let omar = admin.key("Omar", "operator", None);
    let abid = admin.key("Abid", "approver", None);
    let mina = admin.key("Mina", "merchant", Some("m1"));
    mina.resolve("d-0", &payout, "confirm_paid").refused(403, "forbidden");
    let proposed = olga.resolve("d-1", &payout, "confirm_paid").is(202);
    assert_eq!(proposed["status"], "STUCK");
    assert_eq!(proposed["pending_decision"]["decision"], "confirm_paid");
    let repeated = olga.resolve("d-1", &payout, "confirm_paid");
    assert!(repeated.is_replay());
    repeated.is(202);
    olga.resolve("d-2", &payout, "confirm_paid").refused(409, "second_person_needed");
    omar.resolve("d-3", &payout, "confirm_paid").refused(403, "approver_needed");
    has(&admin, "8982.59", "1017.41");
    let summary = admin.explain(id(&payout))["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("a second person must decide the same"), "{summary}");
    let settled = abid.resolve("d-4", &payout, "confirm_paid").is(200);
    assert_eq!(
        (&settled["status"], &settled["pending_decision"]),
        (&json!("SUCCESS"), &Value::Null)
    );
    has(&admin, "8982.59", "0.00");
    // The audit log has both actors with their actions.
    let recorded = ["payout.propose", "payout.confirm_paid"].map(|action| audited(&admin, action));
    let names = recorded.map(|actors| actors.join(" ").split('/').next().unwrap().to_owned());
    assert_eq!(names, ["Olga", "Abid"]);
}

#[test]
fn two_different_decisions_resolve_nothing() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "1000.01");
    let (olga, abid) = (admin.key("Olga", "operator", None), admin.key("Abid", "approver", None));
    olga.resolve("d-1", &payout, "confirm_paid").is(202);
    let other = abid.resolve("d-2", &payout, "confirm_not_paid").is(202);
    assert_eq!(other["pending_decision"]["decision"], "confirm_not_paid");
    has(&admin, "8982.59", "1017.41");
    assert_eq!(olga.resolve("d-3", &payout, "confirm_not_paid").is(200)["status"], "FAILED");
    has(&admin, "10000.00", "0.00");
}

#[test]
fn at_the_limit_one_person_decides() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "1000.00");
    let olga = admin.key("Olga", "operator", None);
    let waits = olga.resolve("d-1", &payout, "keep_waiting").is(200);
    assert_eq!(waits["status"], "STUCK");
    let again = olga.resolve("d-2", &waits, "new_attempt").is(200);
    assert_ne!(again["reference"], payout["reference"], "another attempt has another reference");
    has(&admin, "8982.60", "1017.40");
    // A callback about the first attempt is still accepted.
    admin.tell("silent", &said(&payout, "completed")).is(200);
    let conflicting = admin.payout(id(&payout));
    assert_ne!(conflicting["status"], "FAILED", "{conflicting}");
    admin.books_hold();
}

#[test]
fn a_merchant_sees_a_decision_and_not_its_actor() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "1000.01");
    let olga = admin.key("Olga", "operator", None);
    let abid = admin.key("Abid", "approver", None);
    let mina = admin.key("Mina", "merchant", Some("m1"));
    let seen = |caller: &Caller| {
        let list = caller.get("/v1/payouts").is(200);
        format!("{}{}{list}", caller.payout(id(&payout)), caller.explain(id(&payout)))
    };
    olga.resolve("d-1", &payout, "confirm_paid").is(202);
    assert!(seen(&admin).contains("Olga/"));
    assert!(!seen(&mina).contains("Olga"), "{}", seen(&mina));
    assert!(seen(&mina).contains("One person has decided"));
    admin.resolve("d-2", &payout, "confirm_paid").refused(409, "bootstrap_involved");
    abid.resolve("d-3", &payout, "confirm_paid").is(200);
    assert!(seen(&admin).contains("asked by telephone"));
    assert!(!seen(&mina).contains("telephone"), "evidence of operators is hidden from merchants");
    assert!(seen(&mina).contains("operator"), "that a person decided is not hidden");
}

/// Finished payouts with a case, and stuck ones, are listed until a person has decided; searches find them.
#[test]
fn what_waits_for_a_person_is_listed_found_and_closed() {
    let server = Server::new();
    let admin = server.admin();
    let payout = stuck(&admin, "1000.01");
    let reviews = |reason: &str| {
        let page = admin.get(&format!("/v1/review?kind=payout&reason={reason}")).is(200);
        page["data"].as_array().unwrap().len()
    };
    assert_eq!((reviews("stuck"), reviews("case")), (1, 0));
    let listed = admin.get("/v1/payouts?status=STUCK&channel=silent&amount=1000.01").is(200);
    assert_eq!(listed["data"][0]["id"], payout["id"]);
    let (olga, abid) = (admin.key("Olga", "operator", None), admin.key("Abid", "approver", None));
    olga.resolve("d-1", &payout, "confirm_not_paid").is(202);
    abid.resolve("d-2", &payout, "confirm_not_paid").is(200);
    assert_eq!((reviews("stuck"), reviews("case")), (0, 0));
    admin.tell("silent", &said(&payout, "completed")).is(200);
    assert_eq!((reviews("stuck"), reviews("case")), (0, 1));

    let path = format!("/v1/payouts/{}/case/close", id(&payout));
    let version = admin.payout(id(&payout))["version"].clone();
    let close = |caller: &Caller, key: &str, version: &Value| {
        let body = json!({"reason": "the merchant has paid it back", "expected_version": version});
        caller.move_money(key, &path, &body)
    };
    let mina = admin.key("Mina", "merchant", Some("m1"));
    close(&mina, "c-0", &version).refused(403, "forbidden");
    close(&olga, "c-1", &json!(1)).refused(409, "stale_version");
    let proposed = close(&olga, "c-2", &version).is(202);
    assert_eq!(proposed["pending_decision"]["decision"], "close_case");
    close(&olga, "c-3", &version).refused(409, "second_person_needed");
    let closed = close(&abid, "c-4", &version).is(200);
    assert_eq!(
        (&closed["status"], &closed["reason"]),
        (&json!("LATE_SUCCESS"), &json!("paid_after_release"))
    );
    close(&abid, "c-5", &closed["version"]).refused(409, "no_open_case");
    assert_eq!((reviews("stuck"), reviews("case")), (0, 0));
    assert_eq!(audited(&admin, "payout.close_case").len(), 1);

    for q in [payout["id"].as_str().unwrap(), payout["reference"].as_str().unwrap()] {
        let found = admin.get(&format!("/v1/find?q={q}")).is(200);
        assert_eq!(found["data"][0]["id"], payout["id"], "{q}");
    }
    let overview = admin.get("/v1/overview").is(200);
    let late =
        overview["flows"].as_array().unwrap().iter().find(|it| it["status"] == "LATE_SUCCESS");
    let late = late.unwrap();
    assert_eq!((&late["count"], &late["amount"]), (&json!(1), &json!("1000.01")));
    assert_eq!(overview["review"], json!([]));
    admin.books_hold();
}
