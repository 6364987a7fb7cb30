//! The test clock.

use serde_json::json;

use super::actions::{id, order};
use super::server::Server;

#[test]
fn a_test_clock_advances_an_unanswered_payout_until_it_is_stuck() {
    // Default timeouts of a channel: half an hour of status queries.
    let config = "[channels.mute]\nkind = \"sim\"\nprofile = \"silent\"\nsubmit_timeout_s = 0.05\nquery_timeout_s = 0.05\n";
    let server = Server::with(config, &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let payout = admin.pay("k", &order("m1", "mute", "100.00")).is(201);
    let advance = |seconds: u64| {
        let answer = admin.post("/v1/test-clock/advance", &json!({"seconds": seconds})).is(200);
        (admin.payout(id(&payout)), answer)
    };
    let (early, _) = advance(60);
    assert_eq!(early["status"], "UNCONFIRMED", "{early}");
    let (late, now) = advance(3_600);
    assert_eq!(late["status"], "STUCK", "{late}");
    assert!(now["now"].as_str() > payout["created_at"].as_str());
    assert_eq!(admin.balance("m1"), ("882.60".to_owned(), "117.40".to_owned()));
    let (still, _) = advance(86_400);
    assert_eq!(still["status"], "STUCK", "only an operator resolves it");
    admin.books_hold();
}

#[test]
fn a_scheduled_payout_is_sent_when_its_time_has_come() {
    let server = Server::with("", &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let now = admin.post("/v1/test-clock/advance", &json!({"seconds": 0})).is(200);
    let now: jiff::Timestamp = now["now"].as_str().unwrap().parse().unwrap();
    let mut body = order("m1", "calm", "100.00");
    body["scheduled_at"] = json!(now + jiff::SignedDuration::from_hours(2));
    let payout = admin.pay("k", &body).is(201);
    admin.post("/v1/test-clock/advance", &json!({"seconds": 3_600})).is(200);
    assert_eq!(admin.payout(id(&payout))["status"], "SCHEDULED");
    admin.post("/v1/test-clock/advance", &json!({"seconds": 3_700})).is(200);
    assert_eq!(admin.payout(id(&payout))["status"], "SUCCESS");
}

#[test]
fn without_a_test_clock_time_cannot_be_advanced() {
    let server = Server::new();
    let admin = server.admin();
    admin.post("/v1/test-clock/advance", &json!({"seconds": 1})).refused(404, "not_found");
    let document = admin.get("/openapi.json").is(200);
    assert!(document["paths"].get("/v1/test-clock/advance").is_none());
}

#[test]
fn a_clock_goes_forward_by_at_most_a_year() {
    let server = Server::with("", &["--test-clock"]);
    let admin = server.admin();
    for wrong in [json!(31_536_001), json!(-1), json!(1.5), json!("1"), json!(null)] {
        let body = json!({"seconds": wrong});
        admin.post("/v1/test-clock/advance", &body).refused(400, "bad_request");
    }
}
