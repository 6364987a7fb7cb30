//! Every action that needs two people, tried by one person under every key, name and turn of events, and by two.

use serde_json::{Value, json};

use super::one_person::{People, approve, credit, payin, people, proposed, server};
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::{Answer, Caller};

/// An action, how the maker asks for it the n-th time, and how often it was done.
struct Action {
    name: &'static str,
    ask: fn(&Caller, u32) -> Answer,
    done: fn(&Caller) -> usize,
}

const ACTIONS: [Action; 6] = [
    Action {
        name: "payout.create",
        ask: |by, n| by.pay(&format!("k{n}"), &order("m1", "calm", "1500.00")),
        done: |by| length(by, "/v1/payouts"),
    },
    Action {
        name: "payin.record",
        ask: |by, n| by.post("/v1/payins", &payin(&format!("p{n}"), "1500.00")),
        // One pay-in funds the merchant, and one has a case.
        done: |by| length(by, "/v1/payins?provider=easypay") - FUNDED,
    },
    Action {
        name: "payin.close_case",
        ask: |by, n| {
            let id = id(&with_case(by)).to_owned();
            let body = json!({"evidence": format!("look {n}"), "expected_version": 2});
            by.move_money(&format!("c{n}"), &format!("/v1/payins/{id}/case/close"), &body)
        },
        done: |by| usize::from(with_case(by)["case"]["status"] == "closed"),
    },
    Action {
        name: "ledger.post",
        ask: |by, n| by.post("/v1/ledger/transactions", &credit(&format!("a{n}"))),
        done: |by| transactions(by, "ADJUSTMENT_CREDIT"),
    },
    Action {
        name: "key.issue",
        ask: |by, n| by.post("/v1/keys", &json!({"name": format!("new {n}"), "role": "approver"})),
        done: |by| keys(by, |key| key["name"].as_str().unwrap().starts_with("new ")),
    },
    Action {
        name: "key.revoke",
        ask: |by, n| {
            let path = format!("/v1/keys/{}?reason=look+{n}", key_of(by, "Dora"));
            by.ask("DELETE", &path, &[], b"")
        },
        done: |by| keys(by, |key| key["name"] == "Dora" && !key["revoked_at"].is_null()),
    },
];

const FUNDED: usize = 2;

fn list(by: &Caller, path: &str) -> Vec<Value> {
    by.get(path).is(200)["data"].as_array().unwrap().clone()
}

fn length(by: &Caller, path: &str) -> usize {
    list(by, path).len()
}

fn keys(by: &Caller, is_wanted: fn(&Value) -> bool) -> usize {
    list(by, "/v1/keys").iter().filter(|key| is_wanted(key)).count()
}

fn key_of(by: &Caller, name: &str) -> String {
    let keys = list(by, "/v1/keys");
    id(keys.iter().find(|key| key["name"] == name).unwrap()).to_owned()
}

fn transactions(by: &Caller, event: &str) -> usize {
    let statement = by.get("/v1/merchants/m1/statement").is(200);
    let rows = statement["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["event"] == event).count()
}

fn with_case(by: &Caller) -> Value {
    let found = list(by, "/v1/payins?reference=case").remove(0);
    by.get(&format!("/v1/payins/{}", id(&found))).is(200)
}

/// People, a merchant with funds, a pay-in with a case, and an approver whose key can be revoked.
fn prepared() -> (Server, People, Caller) {
    let server = server();
    let people = people(&server.admin());
    let People { maker, checker, .. } = &people;
    for (reference, amount) in [("funds", "90000.00"), ("case", "5000.00")] {
        approve(checker, &proposed(maker.post("/v1/payins", &payin(reference, amount)))).is(200);
    }
    maker.post("/v1/payins", &payin("case", "4000.00")).refused(409, "reference_reused");
    let key = |name: &str, person: &str| {
        let body = json!({"name": name, "person": person, "role": "approver"});
        let made = maker.post("/v1/keys", &body).is(202);
        approve(checker, made["approval_id"].as_str().unwrap()).is(200);
        maker.with(made["key"].as_str().unwrap())
    };
    key("Dora", "dora");
    // The maker's second key, which two people made.
    let again = key("M. again", "MARIA");
    (server, people, again)
}

#[test]
fn one_person_approves_under_every_key_and_name() {
    let (server, People { maker, checker, operator }, again) = prepared();
    let bootstrap = server.admin();
    let minted = maker.post("/v1/keys", &json!({"name": "Puppet", "role": "approver"})).is(202);
    let minted = maker.with(minted["key"].as_str().unwrap());
    let merchant = maker.key("till", "merchant", Some("m1"));
    for Action { name, ask, done } in ACTIONS {
        let approval = proposed(ask(&maker, 1));
        let view = maker.get(&format!("/v1/approvals/{approval}")).is(200);
        assert_eq!(view["action"], name);
        approve(&maker, &approval).refused(409, "second_person_needed");
        approve(&again, &approval).refused(409, "second_person_needed");
        approve(&bootstrap, &approval).refused(409, "bootstrap_involved");
        approve(&operator, &approval).refused(403, "forbidden");
        approve(&merchant, &approval).refused(403, "forbidden");
        approve(&minted, &approval).refused(401, "unauthenticated");
        approve(&maker.without_key(), &approval).refused(401, "unauthenticated");
        assert_eq!(done(&maker), 0, "{name}");
        approve(&checker, &approval).is(200);
        approve(&checker, &approval).refused(409, "not_proposed");
        assert_eq!(done(&maker), 1, "{name}");
    }
    bootstrap.books_hold();
}

#[test]
fn what_another_person_turned_down_or_time_has_ended_is_done() {
    let (server, People { maker, checker, .. }, _) = prepared();
    let decide = |by: &Caller, approval: &str, verb: &str| {
        by.post(&format!("/v1/approvals/{approval}/{verb}"), &json!({}))
    };
    for Action { name, ask, done } in &ACTIONS {
        let approval = proposed(ask(&maker, 1));
        decide(&checker, &approval, "reject").is(200);
        approve(&checker, &approval).refused(409, "not_proposed");
        let approval = proposed(ask(&maker, 2));
        decide(&maker, &approval, "withdraw").is(200);
        approve(&checker, &approval).refused(409, "not_proposed");
        proposed(ask(&maker, 3));
        assert_eq!(done(&maker), 0, "{name}");
    }
    server.admin().post("/v1/test-clock/advance", &json!({"seconds": 86_400})).is(200);
    for approval in list(&maker, "/v1/approvals") {
        approve(&checker, id(&approval)).refused(409, "not_proposed");
    }
    for Action { name, done, .. } in &ACTIONS {
        assert_eq!(done(&maker), 0, "{name}");
    }
    server.admin().books_hold();
}

/// The world changes after the proposal: what was proposed is impossible, or done by another route.
#[test]
fn what_has_become_impossible_is_approved() {
    let (server, People { maker, checker, .. }, _) = prepared();
    let [payout, payin, case, post, _, revoke] =
        ACTIONS.map(|action| proposed((action.ask)(&maker, 1)));
    // The second look of the same case, the same key and the same reference is done first.
    for Action { name, ask, done } in &ACTIONS[2..3] {
        approve(&checker, &proposed(ask(&maker, 2))).is(200);
        assert_eq!(done(&maker), 1, "{name}");
    }
    maker.ask("PATCH", "/v1/merchants/m1", &[], br#"{"status":"closed"}"#).is(200);
    for approval in [payout, payin, case] {
        approve(&checker, &approval).refused(409, "approval_stale");
    }
    approve(&checker, &post).is(200);
    approve(&checker, &revoke).is(200);
    assert_eq!(ACTIONS.map(|action| (action.done)(&maker)), [0, 0, 1, 1, 0, 1]);
    server.admin().books_hold();
}

/// The server is killed while approvals are given. Each is done once, or not done and still proposed.
#[test]
fn the_server_is_killed_between_approval_and_execution() {
    let (mut server, People { maker, checker, .. }, _) = prepared();
    let ids: Vec<String> = (0..60)
        .map(|n| proposed(maker.post("/v1/ledger/transactions", &credit(&format!("kill{n}")))))
        .collect();
    let mut answered: Vec<String> = Vec::new();
    for round in 1..=4 {
        let mut killed = false;
        let (maker, checker) = at(&server, &maker, &checker);
        for (n, id) in ids.iter().enumerate().skip(answered.len()) {
            if n == round * 12 {
                // In the middle of a request.
                let (by, id) = (checker.clone(), id.clone());
                let asking = std::thread::spawn(move || {
                    by.try_ask("POST", &format!("/v1/approvals/{id}/approve"), &[], b"{}");
                });
                server.kill();
                asking.join().unwrap();
                killed = true;
                break;
            }
            let answer = approve(&checker, id);
            let is_over = answer.status == 200 || answer.json()["code"] == "not_proposed";
            assert!(is_over, "{answer:?}");
            answered.push(id.clone());
        }
        assert!(killed);
        server.start();
        drop(maker);
    }
    let (maker, checker) = at(&server, &maker, &checker);
    let statuses: Vec<Value> = ids
        .iter()
        .map(|id| maker.get(&format!("/v1/approvals/{id}")).is(200)["status"].clone())
        .collect();
    let approved = statuses.iter().filter(|status| *status == "APPROVED").count();
    assert!(approved >= answered.len(), "what was answered is saved");
    assert!(statuses.iter().all(|status| status == "APPROVED" || status == "PROPOSED"));
    assert_eq!(transactions(&maker, "ADJUSTMENT_CREDIT"), approved, "approved is done, once");
    for (id, _) in ids.iter().zip(&statuses).filter(|(_, status)| **status == "PROPOSED") {
        approve(&checker, id).is(200);
    }
    assert_eq!(transactions(&maker, "ADJUSTMENT_CREDIT"), ids.len());
    server.admin().books_hold();
}

/// The same people at the server that was started again.
fn at(server: &Server, maker: &Caller, checker: &Caller) -> (Caller, Caller) {
    let here = server.admin();
    (here.with(&maker.key_text()), here.with(&checker.key_text()))
}
