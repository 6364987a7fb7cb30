//! Every operation of the API document, with valid requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::actions::{id, order, said, signed};
use super::server::{PROVIDER_SECRET, Server};
use crate::caller::{Answer, Caller};

/// Successful operations, as the document names them.
struct Done(BTreeSet<(String, String)>);

impl Done {
    fn note(&mut self, method: &str, route: &str, answer: &Answer) -> Value {
        assert!((200..300).contains(&answer.status), "{method} {route}: {answer:?}");
        self.0.insert((method.to_owned(), route.to_owned()));
        answer.json()
    }

    /// A route that is its own path.
    fn get(&mut self, caller: &Caller, route: &str) -> Value {
        self.note("GET", route, &caller.get(route))
    }

    fn get_one(&mut self, caller: &Caller, route: &str, id: &str) -> Value {
        self.note("GET", route, &caller.get(&route.replace("{id}", id)))
    }

    fn post(&mut self, caller: &Caller, route: &str, body: &Value) -> Value {
        self.note("POST", route, &caller.post(route, body))
    }
}

/// Methods and paths of the document.
pub(crate) fn operations(document: &Value) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let method = method.to_ascii_uppercase();
            if ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
                found.insert((method, path.clone()));
            }
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found
}

fn house(done: &mut Done, admin: &Caller) {
    done.post(admin, "/v1/merchants", &json!({"id": "m1", "name": "One"}));
    done.get(admin, "/v1/merchants");
    done.get_one(admin, "/v1/merchants/{id}", "m1");
    let change = json!({"name": "One & Only"}).to_string();
    let changed = admin.ask("PATCH", "/v1/merchants/m1", &[], change.as_bytes());
    assert_eq!(done.note("PATCH", "/v1/merchants/{id}", &changed)["name"], "One & Only");
    let key = done.post(admin, "/v1/keys", &json!({"name": "Olga", "role": "operator"}));
    done.get(admin, "/v1/keys");
    let made = admin.post("/v1/merchants/m1/keys", &json!({"name": "till"}));
    done.note("POST", "/v1/merchants/{id}/keys", &made);
    done.get_one(admin, "/v1/merchants/{id}/keys", "m1");
    let revoked = admin.ask("DELETE", &format!("/v1/keys/{}", id(&key)), &[], b"");
    assert!(done.note("DELETE", "/v1/keys/{id}", &revoked)["revoked_at"].is_string());
}

/// Two people of the first set-up, and what the one proposes and the other decides.
fn approvals(done: &mut Done, admin: &Caller) {
    let (maker, checker) = (admin.key("Maria", "admin", None), admin.key("Cem", "approver", None));
    let propose = |name: &str| {
        let proposed = maker.post("/v1/keys", &json!({"name": name, "role": "approver"})).is(202);
        proposed["approval_id"].as_str().unwrap().to_owned()
    };
    let decisions = [
        ("approve", &checker, "APPROVED"),
        ("reject", &checker, "REJECTED"),
        ("withdraw", &maker, "WITHDRAWN"),
    ];
    for (verb, person, status) in decisions {
        let id = propose(verb);
        assert_eq!(done.get_one(admin, "/v1/approvals/{id}", &id)["status"], "PROPOSED");
        let decided = person.post(&format!("/v1/approvals/{id}/{verb}"), &json!({"note": "seen"}));
        let decided = done.note("POST", &format!("/v1/approvals/{{id}}/{verb}"), &decided);
        assert_eq!(decided["status"], status, "{decided}");
    }
    assert_eq!(done.get(admin, "/v1/approvals")["data"].as_array().unwrap().len(), 3);
}

fn money_in(done: &mut Done, admin: &Caller) {
    let payin = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r-1", "amount": "5000.00", "currency": "PKR"});
    let payin = done.post(admin, "/v1/payins", &payin);
    done.get(admin, "/v1/payins");
    done.get_one(admin, "/v1/payins/{id}", id(&payin));
    let other = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r-1", "amount": "4000.00", "currency": "PKR"});
    admin.post("/v1/payins", &other).refused(409, "reference_reused");
    let open = done.get_one(admin, "/v1/payins/{id}", id(&payin));
    assert_eq!(open["case"]["reported"][0]["amount"], "4000.00", "{open}");
    let evidence = json!({"evidence": "a typing error", "expected_version": open["version"]});
    let path = format!("/v1/payins/{}/case/close", id(&payin));
    let closed = admin.move_money("k-0", &path, &evidence);
    done.note("POST", "/v1/payins/{id}/case/close", &closed);
    for (method, status) in [("POST", "pending"), ("PUT", "completed")] {
        let body = json!({"merchant_id": "m1", "reference": "r-2", "amount": "100.00", "currency": "PKR", "status": status}).to_string();
        let signature = signed(PROVIDER_SECRET, body.as_bytes());
        let route = "/v1/providers/{provider}/callbacks";
        let path = "/v1/providers/easypay/callbacks";
        let told =
            admin.without_key().ask(method, path, &[("X-Signature", &signature)], body.as_bytes());
        done.note(method, route, &told);
    }
    let event = json!({
        "event": "ADJUSTMENT_CREDIT",
        "reference": "goodwill-1",
        "variables": {"merchantId": "m1", "currency": "PKR", "amount": "1.00"},
    });
    done.post(admin, "/v1/ledger/transactions", &event);
}

fn money_out(done: &mut Done, admin: &Caller) {
    let beneficiary = json!({"merchant_id": "m1", "name": "Amina", "msisdn": "923001234567"});
    let beneficiary = done.post(admin, "/v1/beneficiaries", &beneficiary);
    done.get(admin, "/v1/beneficiaries");
    done.get_one(admin, "/v1/beneficiaries/{id}", id(&beneficiary));
    let body = json!({
        "merchant_id": "m1", "beneficiary_id": id(&beneficiary), "amount": "10.00", "currency": "PKR",
        "channel": "calm", "metadata": {"invoice": "77"}, "trace_id": "t-1",
    });
    let paid = done.note("POST", "/v1/payouts", &admin.pay("k-1", &body));
    assert_eq!(paid["metadata"]["invoice"], "77");
    done.get(admin, "/v1/payouts");
    admin.payout_at(id(&paid), "SUCCESS");
    for route in ["/v1/payouts/{id}", "/v1/payouts/{id}/timeline", "/v1/payouts/{id}/explain"] {
        done.get_one(admin, route, id(&paid));
    }
    let mut later = order("m1", "calm", "20.00");
    later["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    let later = admin.pay("k-2", &later).is(201);
    assert_eq!(later["status"], "SCHEDULED");
    dispatched(done, admin, id(&later));
    let path = format!("/v1/payouts/{}/cancel", id(&later));
    let cancelled = admin.move_money("k-3", &path, &json!({}));
    assert_eq!(done.note("POST", "/v1/payouts/{id}/cancel", &cancelled)["status"], "CANCELLED");
    let lost = admin.pay("k-4", &order("m1", "silent", "30.00")).is(201);
    done.post(admin, "/v1/test-clock/advance", &json!({"seconds": 60}));
    let stuck = admin.payout(id(&lost));
    assert_eq!(stuck["status"], "STUCK", "{stuck}");
    let ruled = admin.resolve("k-5", &stuck, "confirm_paid");
    assert_eq!(done.note("POST", "/v1/payouts/{id}/resolve", &ruled)["status"], "SUCCESS");
    admin.tell("silent", &said(&lost, "failed")).is(200);
    let open = admin.payout(id(&lost));
    assert_eq!(open["reason"], "contradicted", "{open}");
    assert_eq!(done.get(admin, "/v1/review")["data"][0]["flow"]["id"], lost["id"]);
    let path = format!("/v1/payouts/{}/case/close", id(&lost));
    let reason =
        json!({"reason": "a bank statement shows it", "expected_version": open["version"]});
    let closed = admin.move_money("k-6", &path, &reason);
    done.note("POST", "/v1/payouts/{id}/case/close", &closed);
    let found = admin.get("/v1/find?q=t-1");
    assert_eq!(done.note("GET", "/v1/find", &found)["data"][0]["id"], paid["id"]);
}

/// A scheduled payout is moved, and a channel is limited.
fn dispatched(done: &mut Done, admin: &Caller, waiting: &str) {
    let later = json!({"scheduled_at": "2099-02-01T00:00:00Z"}).to_string();
    let moved = admin.ask("PATCH", &format!("/v1/payouts/{waiting}"), &[], later.as_bytes());
    let moved = done.note("PATCH", "/v1/payouts/{id}", &moved);
    assert_eq!(moved["scheduled_at"], "2099-02-01T00:00:00Z", "{moved}");
    assert_eq!(done.get_one(admin, "/v1/dispatch/why/{id}", waiting)["reason"], "time");
    assert_eq!(done.get(admin, "/v1/dispatch/queue")["groups"][0]["waiting"], 1);
    let urgent = admin.pay("k-7", &order("m1", "calm", "1.00")).is(201);
    admin.payout_at(id(&urgent), "SUCCESS");
    let late =
        admin.post(&format!("/v1/payouts/{}/expedite", id(&urgent)), &json!({"reason": "x"}));
    late.refused(409, "not_waiting");
    done.note(
        "POST",
        "/v1/payouts/{id}/expedite",
        &admin.post(
            &format!("/v1/payouts/{}/expedite", waiting_again(admin)),
            &json!({"reason": "asked by telephone"}),
        ),
    );
    let route = "/v1/dispatch/config/{item_type}/{channel}";
    let path = "/v1/dispatch/config/payout/calm";
    assert_eq!(done.note("GET", route, &admin.get(path))["is_limited"], false);
    let settings = json!({"max_concurrency": 7}).to_string();
    let put = admin.ask("PUT", path, &[("If-Match", "0")], settings.as_bytes());
    assert_eq!(done.note("PUT", route, &put)["settings"]["max_concurrency"]["from"], "record");
    done.get(admin, "/v1/dispatch/config");
    done.get(admin, "/v1/dispatch/audit");
}

/// Another scheduled payout.
fn waiting_again(admin: &Caller) -> String {
    let mut later = order("m1", "calm", "2.00");
    later["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    id(&admin.pay("k-8", &later).is(201)).to_owned()
}

fn reports(done: &mut Done, admin: &Caller) {
    done.get_one(admin, "/v1/merchants/{id}/balances", "m1");
    let statement = done.get_one(admin, "/v1/merchants/{id}/statement", "m1");
    assert!(statement["rows"].as_array().unwrap().len() > 5, "{statement}");
    let scope = json!({"scope": "global", "reason": "drill"});
    done.post(admin, "/v1/dispatch/freeze", &scope);
    done.get(admin, "/v1/dispatch/freezes");
    done.post(admin, "/v1/dispatch/unfreeze", &scope);
    done.post(admin, "/v1/restore/begin", &json!({"reason": "drill"}));
    assert_eq!(done.get(admin, "/v1/restore")["status"], "RECHECKING");
    let rows = json!([{"reference": "r-9", "status": "paid", "amount": "1.00", "currency": "PKR"}]);
    let report = json!({"channel": "calm", "from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z", "rows": rows});
    assert_eq!(done.post(admin, "/v1/restore/report", &report)["status"], "REPORT_PROPOSED");
    assert_eq!(done.post(admin, "/v1/restore/end", &json!({}))["status"], "END_PROPOSED");
    for route in ["accounts", "trial-balance", "alm", "chart", "drift", "verify"] {
        done.get(admin, &format!("/v1/ledger/{route}"));
    }
    let overview = done.get(admin, "/v1/overview");
    assert!(overview["flows"].as_array().unwrap().len() > 3, "{overview}");
    let audit = done.get(admin, "/v1/audit");
    assert!(audit["data"].as_array().unwrap().len() > 8, "{audit}");
    let events = done.get(admin, "/v1/events");
    assert!(events["data"].as_array().unwrap().len() > 8, "{events}");
    done.get(&admin.without_key(), "/healthz");
    done.get(&admin.without_key(), "/readyz");
}

fn webhooks(done: &mut Done, admin: &Caller) {
    // No receiver listens there; deliveries stay pending.
    let body = json!({"merchant_id": "m1", "url": "https://merchant.invalid/hooks"});
    let made = done.post(admin, "/v1/webhook-endpoints", &body);
    done.get(admin, "/v1/webhook-endpoints");
    let route = "/v1/webhook-endpoints/{id}";
    done.get_one(admin, route, id(&made));
    let path = route.replace("{id}", id(&made));
    let fewer = json!({"event_types": ["payout.*"]}).to_string();
    done.note("PATCH", route, &admin.ask("PATCH", &path, &[], fewer.as_bytes()));
    let act = |done: &mut Done, action: &str| {
        let answer = admin.ask("POST", &format!("{path}/{action}"), &[], b"");
        done.note("POST", &format!("{route}/{action}"), &answer)
    };
    act(done, "rotate-secret");
    let sent = act(done, "test");
    act(done, "disable");
    act(done, "enable");
    done.get(admin, "/v1/deliveries");
    done.get_one(admin, "/v1/deliveries/{id}", id(&sent));
    let again = admin.ask("POST", &format!("/v1/deliveries/{}/replay", id(&sent)), &[], b"");
    done.note("POST", "/v1/deliveries/{id}/replay", &again);
    done.get(admin, "/v1/dead-letters");
    done.post(admin, "/v1/dead-letters/replay", &json!({"merchant_id": "m1"}));
    done.note("DELETE", route, &admin.ask("DELETE", &path, &[], b""));
}

/// Every operation once.
pub(crate) fn use_everything(admin: &Caller) {
    let mut done = Done(BTreeSet::new());
    house(&mut done, admin);
    approvals(&mut done, admin);
    money_in(&mut done, admin);
    money_out(&mut done, admin);
    webhooks(&mut done, admin);
    reports(&mut done, admin);
    admin.books_hold();
    let document = admin.without_key().get("/openapi.json").is(200);
    assert_eq!(done.0, operations(&document), "every operation of the document was used");
}

#[test]
fn every_operation_answers_when_it_is_used_as_it_is_meant() {
    let server = Server::with("", &["--test-clock"]);
    use_everything(&server.admin());
    let anonymous = server.admin().without_key();
    assert!(anonymous.get("/docs").text.contains("/v1/payouts/{id}/resolve"));
    let metrics = anonymous.get("/metrics");
    assert!(
        metrics.text.contains("bursar_http_requests_total{method=\"POST\",path=\"/v1/payouts\"")
    );
}
