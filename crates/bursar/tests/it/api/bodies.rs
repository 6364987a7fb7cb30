//! Malformed, oversized and excessive requests.

use serde_json::json;

use super::actions::{id, order};
use super::server::Server;
use crate::caller::Caller;

#[test]
fn a_body_that_cannot_be_used_is_a_problem_and_changes_nothing() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let before = admin.books();
    let pay = |body: &[u8]| admin.ask("POST", "/v1/payouts", &[("Idempotency-Key", "k")], body);
    let mut large = order("m1", "calm", "10.00");
    large["metadata"] = json!({"note": "x".repeat(300 * 1_024)});
    pay(large.to_string().as_bytes()).refused(413, "too_large");
    let cancel = "/v1/payouts/po_00000000-0000-7000-8000-000000000000/cancel";
    let large = vec![b' '; 300 * 1_024];
    admin.ask("POST", cancel, &[("Idempotency-Key", "k")], &large).refused(413, "too_large");
    admin.ask("POST", "/v1/providers/calm/callbacks", &[], &large).refused(413, "too_large");
    let mut misspelt = order("m1", "calm", "10.00");
    misspelt["ammount"] = json!("1.00");
    let mut nul = order("m1", "calm", "10.00");
    nul["merchant_id"] = json!("m1\u{0}");
    let mut nul_key = order("m1", "calm", "10.00");
    nul_key["metadata"] = json!({"a\u{0}": "b"});
    let twice = order("m1", "calm", "10.00").to_string().replacen('{', "{\"amount\":\"1.00\",", 1);
    let bodies = [
        String::new(),
        "{".to_owned(),
        "nonsense".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        r#"["m1",null,{"name":"A","msisdn":"923001234567"},"1.00","PKR","calm",null,{},null]"#
            .to_owned(),
        "\u{feff}{}".to_owned(),
        "[".repeat(200_000),
        format!("{}1{}", "{\"a\":".repeat(40_000), "}".repeat(40_000)),
        misspelt.to_string(),
        nul.to_string(),
        nul_key.to_string(),
        twice,
        order("m1", "calm", "10.00").to_string() + "{}",
    ];
    for body in bodies {
        pay(body.as_bytes()).refused(400, "bad_request");
    }
    pay(b"{\"merchant_id\":\"\xff\xfe\"}").refused(400, "bad_request");
    assert_eq!(admin.books(), before);
}

#[test]
fn names_in_any_script_come_back_as_they_were_sent() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let names = [
        "\u{639}\u{627}\u{626}\u{634}\u{6c1}",
        "\u{9ae}\u{9bf}\u{9a8}\u{9be}",
        "Zo\u{eb} \u{1f4b8}",
        "a\\u0000b",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let body = json!({"merchant_id": "m1", "name": name, "msisdn": "923001234567"});
        let made = admin.post("/v1/beneficiaries", &body).is(201);
        let found = admin.get(&format!("/v1/beneficiaries/{}", id(&made))).is(200);
        assert_eq!(found["name"], name);
        let mut order = order("m1", "calm", "10.00");
        order["metadata"] = json!({name: name});
        let paid = admin.pay(&format!("k-{number}"), &order).is(201);
        assert_eq!(admin.payout_at(id(&paid), "SUCCESS")["metadata"][name], name);
    }
    let steering = json!({"merchant_id": "m1", "name": "a\u{1b}[2Jb", "msisdn": "923001234567"});
    admin.post("/v1/beneficiaries", &steering).refused(422, "bad_beneficiary");
}

#[test]
fn odd_paths_and_queries_are_problems() {
    let server = Server::new();
    odd_paths(&server.admin());
}

/// No path, id, cursor or filter makes the server fail.
pub(crate) fn odd_paths(admin: &Caller) {
    for path in ["/v1", "/v1/nothing", "/v1/payouts/", "/v2/payouts", "//", "/v1/%00"] {
        admin.get(path).refused(if path.contains("%00") { 400 } else { 404 }, code(path));
    }
    let resources = ["merchants", "payouts", "payins", "beneficiaries"];
    let ids =
        ["x", "po_", "%F0%9F%92%B8", "..", "a%2Fb", "po_00000000-0000-7000-8000-000000000000"];
    for resource in resources {
        for id in ids {
            admin.get(&format!("/v1/{resource}/{id}")).refused(404, "not_found");
        }
        for id in ["%00", "a%00b", "%FF"] {
            admin.get(&format!("/v1/{resource}/{id}")).refused(400, "bad_request");
        }
        let queries =
            ["limit=0", "limit=501", "limit=-1", "limit=x", "cursor=%00", "limit=1&limit=2"];
        for query in queries {
            let path = format!("/v1/{resource}?{query}");
            admin.get(&path).refused(400, "bad_request");
        }
    }
    for query in [
        "payouts?status=%00",
        "payins?merchant_id=a%00",
        "payouts?cursor=x",
        "payouts?created_from=yesterday",
        "events?after=x",
        "events?after=1",
        "events?after=-1.0",
        "audit?cursor=1.1",
        "merchants/m1/statement?from=never",
        "ledger/trial-balance?as_of=0",
    ] {
        admin.get(&format!("/v1/{query}")).refused(400, "bad_request");
    }
    let edges = [
        "payouts?status=NOTHING",
        "payouts?created_from=-009999-01-02T01:59:59Z",
        "payouts?created_until=9999-12-30T22:00:00Z",
        "events?after=18446744073709551615.18446744073709551615.9223372036854775807",
        "merchants?cursor=%F0%9F%92%B8",
        "ledger/accounts?cursor=zzz",
        "ledger/trial-balance?as_of=-009999-01-02T01:59:59Z",
    ];
    for query in edges {
        admin.get(&format!("/v1/{query}")).is(200);
    }
}

/// The smallest and largest times are stored unchanged.
pub(crate) fn odd_times(admin: &Caller) {
    admin.merchant("odd", "1000.00");
    for (number, time) in
        ["-009999-01-02T01:59:59Z", "9999-12-30T22:00:00.999999999Z"].iter().enumerate()
    {
        let mut body = order("odd", "calm", "10.00");
        body["scheduled_at"] = json!(time);
        let made = admin.pay(&format!("odd-{number}"), &body).is(201);
        assert!(admin.pay(&format!("odd-{number}"), &body).is_replay());
        admin.explain(id(&made));
        let event = json!({
            "event": "ADJUSTMENT_CREDIT",
            "reference": format!("odd-{number}"),
            "variables": {"merchantId": "odd", "currency": "PKR", "amount": "1.00"},
            "effective_at": time,
        });
        admin.post("/v1/ledger/transactions", &event).is(201);
    }
    admin
        .get("/v1/merchants/odd/statement?from=-009999-01-02T01:59:59Z&until=9999-12-30T22:00:00Z")
        .is(200);
    admin.books_hold();
}

#[test]
fn times_at_the_ends_of_the_calendar_are_kept() {
    let server = Server::new();
    odd_times(&server.admin());
}

#[test]
fn unauthenticated_requests_do_not_grow_the_metrics() {
    let server = Server::new();
    let anonymous = server.admin().without_key();
    for number in 0..50 {
        anonymous.ask(&format!("METHOD{number}"), &format!("/path/{number}"), &[], b"");
        anonymous.ask(&format!("METHOD{number}"), "/healthz", &[], b"");
    }
    let metrics = anonymous.get("/metrics").text;
    assert!(!metrics.contains("METHOD"), "{metrics}");
    assert!(!metrics.contains("/path/"), "{metrics}");
    assert!(metrics.contains("method=\"other\",path=\"none\",status=\"404\"} 50"), "{metrics}");
}

fn code(path: &str) -> &'static str {
    if path.contains("%00") { "bad_request" } else { "not_found" }
}

#[test]
fn a_method_that_a_path_does_not_take_is_a_problem_that_names_the_others() {
    let server = Server::new();
    let admin = server.admin();
    for (method, path, allowed) in [
        ("DELETE", "/v1/payouts", "GET"),
        ("PUT", "/v1/payins", "POST"),
        ("POST", "/healthz", "GET"),
        ("PATCH", "/v1/audit", "GET"),
        ("OPTIONS", "/v1/payouts", "GET"),
    ] {
        let answer = admin.ask(method, path, &[], b"");
        assert!(answer.header("allow").unwrap_or_default().contains(allowed), "{answer:?}");
        answer.refused(405, "method_not_allowed");
    }
    let head = |caller: &Caller| caller.ask("HEAD", "/v1/payouts", &[], b"").status;
    assert_eq!((head(&admin), head(&admin.without_key())), (200, 401));
}

#[test]
fn every_answer_names_its_request() {
    let server = Server::new();
    let admin = server.admin();
    for (path, status) in [("/healthz", 200), ("/v1/payouts", 200), ("/nowhere", 404)] {
        let answer = admin.ask("GET", path, &[("X-Request-Id", "mine-1")], b"");
        assert_eq!((answer.status, answer.header("x-request-id")), (status, Some("mine-1")));
        let first = admin.get(path);
        let second = admin.get(path);
        assert!(first.header("x-request-id").unwrap().starts_with("req_"));
        assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    }
    let long = "x".repeat(65);
    let answer = admin.ask("GET", "/healthz", &[("X-Request-Id", &long)], b"");
    assert_ne!(answer.header("x-request-id"), Some(long.as_str()), "what is too long is not kept");
}

#[test]
fn the_rate_limit_applies_to_each_key() {
    let server = Server::with("[api]\nrate_limit_per_s = 5\n", &[]);
    let admin = server.admin();
    let answers: Vec<_> = (0..40).map(|_| admin.get("/v1/payouts")).collect();
    assert_eq!(answers[0].status, 200);
    let slowed = answers.iter().find(|answer| answer.status == 429).cloned().unwrap();
    assert_eq!(slowed.header("retry-after"), Some("1"));
    slowed.refused(429, "too_many_requests");
    assert_eq!(admin.without_key().get("/healthz").status, 200, "who has no key is not counted");
    let stranger = admin.with("another-key").get("/v1/payouts");
    stranger.refused(401, "unauthenticated");
}
