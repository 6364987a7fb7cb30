//! The API on PostgreSQL, which rejects texts that SQLite accepts.

use serde_json::json;

use super::actions::{id, order, said};
use super::bodies::{odd_paths, odd_times};
use super::operations::use_everything;
use super::server::Server;
use crate::caller::{Answer, until};
use crate::cluster::Cluster;

#[test]
fn the_api_on_postgres_answers_everything_and_fails_at_nothing() {
    let cluster = Cluster::start();
    let server = Server::on_postgres(&cluster.url(), &["--test-clock"]);
    let admin = server.admin();
    use_everything(&admin);
    odd_paths(&admin);
    odd_times(&admin);
    for (path, body) in [
        ("/v1/merchants", json!({"id": "m\u{0}", "name": "n"})),
        ("/v1/merchants", json!({"id": "m", "name": "n\u{0}"})),
        ("/v1/keys", json!({"name": "n\u{0}", "role": "admin"})),
        ("/v1/beneficiaries", json!({"merchant_id": "m1\u{0}", "name": "n", "account": "1"})),
        (
            "/v1/beneficiaries",
            json!({"merchant_id": "m1", "name": "n", "account": "1", "bank": "\u{0}"}),
        ),
        (
            "/v1/payins",
            json!({"merchant_id": "\u{0}", "provider": "p", "reference": "r", "amount": "1.00", "currency": "PKR"}),
        ),
        ("/v1/dispatch/freeze", json!({"scope": "merchant", "id": "\u{0}", "reason": "r"})),
        ("/v1/dispatch/freeze", json!({"scope": "global", "reason": "\u{0}"})),
        (
            "/v1/ledger/transactions",
            json!({"event": "ADJUSTMENT_CREDIT", "reference": "\u{0}", "variables": {}}),
        ),
    ] {
        admin.post(path, &body).refused(400, "bad_request");
    }
    let mut noted = order("m1", "calm", "10.00");
    noted["metadata"] = json!({"note": "\u{0}"});
    admin.pay("nul", &noted).refused(400, "bad_request");
    noted["metadata"] = json!({"note": "\\u0000"});
    admin.pay("no-nul", &noted).is(201);
    admin.books_hold();
}

#[test]
fn two_servers_on_one_postgres_make_one_payout_of_one_key() {
    let cluster = Cluster::start();
    let servers = [(); 2].map(|()| Server::on_postgres(&cluster.url(), &[]));
    let [one, two] = [servers[0].admin(), servers[1].admin()];
    one.merchant("m1", "1000.00");
    let mut body = order("m1", "calm", "10.00");
    body["scheduled_at"] = json!("2099-01-01T00:00:00Z");
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let callers = std::iter::repeat_n([&one, &two], 10).flatten();
        let asking: Vec<_> =
            callers.map(|caller| scope.spawn(|| caller.pay("once", &body))).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (201, &answers[0].text));
    }
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1);
    assert_eq!(two.get("/v1/payouts").is(200)["data"].as_array().unwrap().len(), 1);
    // One server submits, the other receives the callback.
    let lost = one.pay("lost", &order("m1", "silent", "10.00")).is(201);
    let stuck = two.payout_at(id(&lost), "STUCK");
    two.tell("silent", &said(&stuck, "completed")).is(200);
    until("one knows", || (one.payout(id(&lost))["status"] == "SUCCESS").then_some(()));
    one.books_hold();
}
