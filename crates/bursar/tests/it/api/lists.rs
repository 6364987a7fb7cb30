//! Pagination: following the cursor returns every record once, in one order.

use serde_json::{Value, json};

use super::actions::order;
use super::server::Server;
use crate::caller::Caller;

/// All records, page by page.
fn walk(caller: &Caller, list: &str, limit: usize) -> Vec<Value> {
    let (mut found, mut place) = (Vec::new(), String::new());
    for _ in 0..100 {
        let joint = if list.contains('?') { '&' } else { '?' };
        let page = caller.get(&format!("{list}{joint}limit={limit}{place}")).is(200);
        let rows = page["data"].as_array().unwrap();
        assert!(rows.len() <= limit, "{list}: {page}");
        found.extend(rows.iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { return found };
        let is_feed = list.starts_with("/v1/events");
        // The feed has no end; an unchanged cursor means no more events for now.
        if is_feed && rows.is_empty() {
            return found;
        }
        let name = if is_feed { "after" } else { "cursor" };
        place = format!("&{name}={}", cursor.replace(' ', "%20"));
    }
    panic!("{list} does not end");
}

fn fill(admin: &Caller) {
    for merchant in ["m1", "m2"] {
        admin.merchant(merchant, "1000.00");
        admin.key(merchant, "merchant", Some(merchant));
        for number in 0..5 {
            let mut body = order(merchant, "calm", "10.00");
            body["scheduled_at"] = json!("2099-01-01T00:00:00Z");
            admin.pay(&format!("{merchant}-{number}"), &body).is(201);
            admin.fund(merchant, &format!("1{number}.00"));
            let beneficiary =
                json!({"merchant_id": merchant, "name": "A", "account": number.to_string()});
            admin.post("/v1/beneficiaries", &beneficiary).is(201);
        }
    }
}

#[test]
fn pages_of_any_size_are_the_same_list() {
    let server = Server::new();
    let admin = server.admin();
    fill(&admin);
    for (list, count) in [
        ("/v1/payouts", 10),
        ("/v1/payouts?merchant_id=m1", 5),
        ("/v1/payouts?status=SCHEDULED", 10),
        ("/v1/payouts?status=SUCCESS", 0),
        ("/v1/payouts?created_from=2099-01-01T00:00:00Z", 0),
        ("/v1/payouts?created_until=2099-01-01T00:00:00Z", 10),
        ("/v1/payins", 12),
        ("/v1/payins?merchant_id=m2&status=COLLECTED", 6),
        ("/v1/beneficiaries", 10),
        ("/v1/beneficiaries?merchant_id=m2", 5),
        ("/v1/merchants", 2),
        ("/v1/keys", 2),
        ("/v1/merchants/m1/keys", 1),
        ("/v1/ledger/accounts", 5),
        ("/v1/events", 22),
    ] {
        let whole = walk(&admin, list, 500);
        assert_eq!(whole.len(), count, "{list}");
        for limit in [1, 2, 5] {
            assert_eq!(walk(&admin, list, limit), whole, "{list} by {limit}");
        }
    }
    let audit = walk(&admin, "/v1/audit", 500);
    assert_eq!(walk(&admin, "/v1/audit", 3), audit);
    assert!(audit.len() > 10);
}

#[test]
fn lists_begin_with_the_newest_and_the_feed_with_the_oldest() {
    let server = Server::new();
    let admin = server.admin();
    fill(&admin);
    for (list, field, is_rising) in [
        ("/v1/payouts", "created_at", false),
        ("/v1/payins", "created_at", false),
        ("/v1/beneficiaries", "created_at", false),
        ("/v1/audit", "time", false),
        ("/v1/events", "time", true),
    ] {
        let rows = walk(&admin, list, 4);
        let mut times: Vec<&str> = rows.iter().map(|row| row[field].as_str().unwrap()).collect();
        if !is_rising {
            times.reverse();
        }
        // Times of different lengths do not compare as texts.
        let times: Vec<jiff::Timestamp> = times.iter().map(|time| time.parse().unwrap()).collect();
        assert!(times.is_sorted(), "{list}: {times:?}");
    }
}

#[test]
fn a_merchant_that_follows_the_feed_misses_nothing_of_its_own() {
    let server = Server::new();
    let admin = server.admin();
    fill(&admin);
    let mine = admin.key("Mina", "merchant", Some("m1"));
    let all = walk(&admin, "/v1/events", 500);
    let own: Vec<Value> = all.into_iter().filter(|event| event["merchant_id"] == "m1").collect();
    assert_eq!(own.len(), 11);
    for limit in [1, 3, 500] {
        assert_eq!(walk(&mine, "/v1/events", limit), own);
    }
}
