//! A session of another program holds locks on the tables of the books: every request is answered while it does, and nothing
//! is lost or doubled.

use serde_json::json;

use super::provider::Provider;
use super::psql::Session;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::{Answer, Caller, until};
use crate::cluster::Cluster;

/// Locks, and whether a payout can be saved meanwhile.
const LOCKS: [(&str, bool); 6] = [
    ("LOCK TABLE flows IN ACCESS EXCLUSIVE MODE", false),
    ("LOCK TABLE head IN ACCESS EXCLUSIVE MODE", false),
    ("SELECT 1 FROM head FOR UPDATE", false),
    // A merchant that the engine remembers is not read again.
    ("LOCK TABLE registry IN ACCESS EXCLUSIVE MODE", true),
    ("LOCK TABLE accounts IN SHARE MODE", false),
    ("SELECT 1 FROM flows FOR UPDATE", true),
];

/// Each path is read by callers of their own, at the same time.
const READS: [&str; 6] = [
    "/v1/payouts",
    "/v1/merchants/m1",
    "/v1/merchants/m1/balances",
    "/v1/events",
    "/v1/ledger/trial-balance",
    "/readyz",
];

/// An answer says that it was done, or when to ask again.
fn check(answer: &Answer, lock: &str) {
    match answer.status {
        200 | 201 => {}
        503 => assert!(answer.header("retry-after").is_some(), "{lock}: {answer:?}"),
        _ => panic!("{lock}: {answer:?}"),
    }
}

/// The lock is held until every one of these requests is answered: a server that waits for the lock never answers.
fn ask_all(admin: &Caller, lock: &str, keys: &[String], merchant: &str) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let pay = |key| move || admin.pay(key, &order("m1", "wallet", "100.00"));
        let paying: Vec<_> = keys.iter().map(|key| scope.spawn(pay(key))).collect();
        let reading: Vec<_> =
            READS.iter().map(|path| scope.spawn(move || admin.get(path))).collect();
        let body = json!({"id": merchant, "name": "Shop"});
        let making = scope.spawn(move || admin.post("/v1/merchants", &body));
        for answer in reading.into_iter().chain([making]) {
            check(&answer.join().unwrap(), lock);
        }
        let answers = paying.into_iter().map(|answer| answer.join().unwrap());
        answers.inspect(|answer| check(answer, lock)).collect()
    })
}

#[test]
fn another_session_locks_the_tables() {
    let (cluster, provider) = (Cluster::start(), Provider::start());
    let config = format!("[store]\nanswer_timeout_s = 1\n{}", provider.config("wallet", ""));
    let server = Server::on_postgres_with(&cluster.url(), &config, &[]);
    let admin = server.admin();
    until("there is a merchant with money", || {
        (admin.post("/v1/merchants", &json!({"id": "m1", "name": "Shop"})).status < 300)
            .then_some(())
    });
    let payin = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r", "amount": "1000000.00", "currency": "PKR"});
    until("it has money", || (admin.post("/v1/payins", &payin).status < 300).then_some(()));
    let mut all = Vec::new();
    for (number, (lock, can_pay)) in LOCKS.into_iter().enumerate() {
        let keys: Vec<String> = (0..4).map(|key| format!("k{number}-{key}")).collect();
        let mut session = Session::open(&cluster.url()).unwrap();
        assert!(session.run(&format!("BEGIN; {lock};")));
        for _ in 0..2 {
            for answer in ask_all(&admin, lock, &keys, &format!("shop{number}")) {
                let is_paid = answer.status < 300;
                assert!(can_pay || !is_paid, "{lock}: nothing can be saved now: {answer:?}");
            }
        }
        drop(session);
        all.extend(keys);
    }
    for key in &all {
        let payout = until("it is accepted", || {
            let answer = admin.pay(key, &order("m1", "wallet", "100.00"));
            (answer.status == 201).then(|| answer.json())
        });
        until("it is paid", || {
            let answer = admin.get(&format!("/v1/payouts/{}", id(&payout)));
            (answer.status == 200 && answer.json()["status"] == "SUCCESS").then_some(())
        });
    }
    provider.assert_paid_once();
    assert_eq!(provider.paid(), all.len(), "each was paid, and nothing else");
    admin.books_hold();
}
