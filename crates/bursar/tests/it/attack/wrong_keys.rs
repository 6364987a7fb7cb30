//! A client guesses keys, or sends two of them.

use serde_json::json;

use crate::api::actions::order;
use crate::api::server::{ADMIN_KEY, Server};

#[test]
fn an_address_guesses_keys() {
    let server = Server::with("[http]\nwrong_keys_per_minute = 5\n", &[]);
    let admin = server.admin();
    let merchant = admin.key("shop", "operator", None);
    let answers: Vec<_> =
        (0..20).map(|number| admin.with(&format!("guess-{number}")).get("/v1/payouts")).collect();
    let (wrong, limited): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 401);
    assert!(wrong.len() >= 5 && limited.len() > 5, "{} {}", wrong.len(), limited.len());
    for answer in limited {
        let wait: u32 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        answer.refused(429, "too_many_wrong_keys");
    }
    // The same address.
    admin.get("/v1/payouts").is(200);
    merchant.get("/v1/payouts").is(200);
    admin.without_key().get("/v1/payouts").refused(401, "unauthenticated");
    admin.without_key().get("/healthz").is(200);
}

#[test]
fn a_request_has_two_keys() {
    let server = Server::new();
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let other = format!("Bearer {ADMIN_KEY}");
    for path in ["/v1/payouts", "/healthz"] {
        let twice = admin.ask("GET", path, &[("Authorization", &other)], b"");
        twice.refused(400, "doubled_header");
    }
    let body = order("m1", "calm", "10.00").to_string();
    for keys in [["a", "a"], ["a", "b"]] {
        let keys = keys.map(|key| ("Idempotency-Key", key));
        let twice = admin.ask("POST", "/v1/payouts", &keys, body.as_bytes());
        twice.refused(400, "doubled_header");
    }
    assert_eq!(admin.get("/v1/payouts").is(200)["data"], json!([]), "nothing was done");
}
