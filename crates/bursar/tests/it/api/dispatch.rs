//! Rates, windows and turns, over HTTP and on a test clock.

use serde_json::{Value, json};

use super::actions::{id, order};
use super::server::{Server, Simulator};
use crate::caller::Caller;

/// Tomorrow at 11:00 UTC is 16:00 in Karachi.
const WINDOW: &str = r#"windows = [{ open = "16:00", close = "17:00", zone = "Asia/Karachi" }]"#;

fn limited(simulator: &Simulator, settings: &str) -> Server {
    let config = format!("{}\n[dispatch.payout.wallet]\n{settings}\n", simulator.config("wallet"));
    Server::with(&config, &["--test-clock"])
}

fn advance(admin: &Caller, seconds: u64) {
    admin.post("/v1/test-clock/advance", &json!({"seconds": seconds})).is(200);
}

fn why(admin: &Caller, payout: &Value) -> Value {
    admin.get(&format!("/v1/dispatch/why/{}", id(payout))).is(200)
}

/// Seconds until this time of the day, by the time of a payout.
fn until_hour(payout: &Value, hour: i64) -> u64 {
    let now: jiff::Timestamp = payout["created_at"].as_str().unwrap().parse().unwrap();
    let passed = now.as_second().rem_euclid(86_400);
    u64::try_from((hour * 3_600 - passed).rem_euclid(86_400)).unwrap()
}

#[test]
fn a_window_is_waited_for_and_why_says_so() {
    let simulator = Simulator::calm();
    let server = limited(&simulator, WINDOW);
    let admin = server.admin();
    admin.merchant("m1", "10000.00");
    let first = admin.pay("k-1", &order("m1", "wallet", "10.00")).is(201);
    // Into the hour before it opens, whatever the time is now.
    advance(&admin, until_hour(&first, 12));
    let payout = admin.pay("k-2", &order("m1", "wallet", "10.00")).is(201);
    let closed = why(&admin, &payout);
    assert_eq!(closed["reason"], "window", "{closed}");
    assert!(closed["summary"].as_str().unwrap().contains("opens at"), "{closed}");
    let paid = simulator.payments().len();
    advance(&admin, 22 * 3_600);
    assert_eq!(simulator.payments().len(), paid, "nothing is sent while it is closed");
    advance(&admin, 3_600);
    admin.payout_at(id(&payout), "SUCCESS");
    let audit = admin.get("/v1/dispatch/audit?channel=wallet").is(200);
    let reasons: Vec<&str> = audit["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["reason"].as_str().unwrap())
        .collect();
    assert!(reasons.contains(&"closed"), "{audit}");
    admin.books_hold();
}

#[test]
fn what_misses_the_cut_off_expires() {
    let simulator = Simulator::calm();
    let server =
        limited(&simulator, &format!("{WINDOW}\nat_cut_off = \"expire\"\nrate_per_s = 0.001"));
    let admin = server.admin();
    admin.merchant("m1", "10000.00");
    let first = admin.pay("k-0", &order("m1", "wallet", "10.00")).is(201);
    advance(&admin, until_hour(&first, 10) + 86_400);
    let payouts: Vec<Value> = (1..=6)
        .map(|number| admin.pay(&format!("k-{number}"), &order("m1", "wallet", "10.00")).is(201))
        .collect();
    let before = admin.get("/v1/merchants/m1/balances").is(200);
    // Four slots in an hour, and the window closes.
    advance(&admin, 3 * 3_600);
    let statuses: Vec<String> = payouts
        .iter()
        .map(|payout| admin.payout(id(payout))["status"].as_str().unwrap().to_owned())
        .collect();
    let count = |status: &str| statuses.iter().filter(|it| *it == status).count();
    assert_eq!((count("SUCCESS"), count("EXPIRED")), (4, 2), "{statuses:?} {before}");
    let expired = payouts.iter().find(|it| admin.payout(id(it))["status"] == "EXPIRED").unwrap();
    assert!(admin.explain(id(expired))["money"].as_str().unwrap().starts_with("released"));
    assert_eq!(why(&admin, expired)["reason"], "nothing");
    admin.books_hold();
}

#[test]
fn an_expedited_payout_goes_first_and_weights_are_shares() {
    let simulator = Simulator::calm();
    let server = limited(&simulator, "rate_per_s = 0.01");
    let admin = server.admin();
    for merchant in ["m1", "m2"] {
        admin.merchant(merchant, "10000.00");
    }
    let heavy = json!({"dispatch": {"weight": 300}}).to_string();
    let share = admin.ask("PATCH", "/v1/merchants/m2", &[], heavy.as_bytes()).is(200);
    assert_eq!(share["dispatch"]["weight"], 300);
    let pay = |merchant: &str, number: u32| {
        admin.pay(&format!("{merchant}-{number}"), &order(merchant, "wallet", "1.00")).is(201)
    };
    pay("m1", 0);
    let mine: Vec<Value> = (1..=20).map(|number| pay("m1", number)).collect();
    let theirs: Vec<Value> = (1..=20).map(|number| pay("m2", number)).collect();
    let last = mine.last().unwrap();
    let rate = why(&admin, last);
    assert_eq!((&rate["reason"], &rate["waiting_of_merchant"]), (&json!("rate"), &json!(20)));
    let reason = json!({"reason": "the hospital waits"});
    admin.post(&format!("/v1/payouts/{}/expedite", id(last)), &reason).is(200);
    advance(&admin, 150);
    admin.payout_at(id(last), "SUCCESS");
    advance(&admin, 1_600);
    let done = |payouts: &[Value]| {
        let status = |it: &&Value| admin.payout(id(it))["status"] == "SUCCESS";
        payouts.iter().filter(status).count()
    };
    let (mine, theirs) = (done(&mine) - 1, done(&theirs));
    assert!((15..=17).contains(&(mine + theirs)), "{mine} and {theirs}");
    assert!(theirs >= 3 * mine - 2 && theirs <= 3 * mine + 4, "{mine} and {theirs}");
    admin.books_hold();
}
