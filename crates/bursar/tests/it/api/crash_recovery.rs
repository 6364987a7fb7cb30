//! A server that is killed under load executes each request once and keeps every acknowledged one.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::actions::{id, order};
use super::server::{Server, Simulator};
use crate::caller::{Answer, Caller, until};

const CALLERS: usize = 8;
const ORDERS: usize = 40;

fn body(number: usize) -> Value {
    order("m1", "wallet", &format!("{}.00", 10 + number % 5))
}

fn ask(caller: &Caller, number: usize) -> Option<Answer> {
    let key = format!("k-{number}");
    let body = body(number).to_string();
    caller.try_ask("POST", "/v1/payouts", &[("Idempotency-Key", &key)], body.as_bytes())
}

/// Concurrent requests, some of which are never answered. Returns numbers and answers.
fn ask_all(caller: &Caller, answered: &AtomicUsize) -> Vec<(usize, Answer)> {
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..CALLERS)
            .map(|first| {
                scope.spawn(move || {
                    let numbers = (first..CALLERS * ORDERS).step_by(CALLERS);
                    let heard = numbers.filter_map(|number| {
                        let answer = ask(caller, number)?;
                        answered.fetch_add(1, Ordering::Relaxed);
                        Some((number, answer))
                    });
                    heard.collect::<Vec<_>>()
                })
            })
            .collect();
        asking.into_iter().flat_map(|asking| asking.join().unwrap()).collect()
    })
}

#[test]
fn a_server_that_is_killed_among_many_requests_pays_each_once_and_stands_by_its_word() {
    let simulator = Simulator::calm();
    let wallet = simulator.config("wallet") + "requery_schedule_s = [0.1, 0.1, 0.2, 0.4]\n";
    let mut server = Server::with(&wallet, &["--test-clock"]);
    server.admin().merchant("m1", "100000.00");
    let mut heard: Vec<(usize, Answer)> = Vec::new();
    for round in 1..=3 {
        let answered = AtomicUsize::new(0);
        let caller = server.admin();
        let answers = std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask_all(&caller, &answered));
            until("some are answered", || {
                (answered.load(Ordering::Relaxed) > round * 40).then_some(())
            });
            server.kill();
            asking.join().unwrap()
        });
        assert!(answers.len() < CALLERS * ORDERS, "it was killed in the middle");
        heard.extend(answers);
        server.start();
    }
    let admin = server.admin();
    let last = ask_all(&admin, &AtomicUsize::new(0));
    assert_eq!(last.len(), CALLERS * ORDERS);
    for (number, answer) in &last {
        assert_eq!(answer.status, 201, "{answer:?}");
        for (_, before) in heard.iter().filter(|(known, _)| known == number) {
            assert_eq!(before.text, answer.text, "what was said is said again");
        }
    }
    let mut ids: Vec<String> =
        last.iter().map(|(_, answer)| id(&answer.json()).to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), CALLERS * ORDERS, "each key has a payout of its own");
    settle(&admin, &simulator, ids.len());
}

/// Every flow ends: one payout for each key, each paid once according to the provider's books.
fn settle(admin: &Caller, simulator: &Simulator, payouts: usize) {
    // Leases of calls of the killed process expire.
    admin.post("/v1/test-clock/advance", &json!({"seconds": 600})).is(200);
    let open = ["SCHEDULED", "READY", "SUBMITTING", "UNCONFIRMED", "PROCESSING"];
    until("everything is over", || {
        let listed = |status| admin.get(&format!("/v1/payouts?status={status}")).is(200);
        let is_over = open.iter().all(|status| listed(status)["data"] == json!([]));
        is_over.then_some(())
    });
    let all = admin.get("/v1/payouts?limit=500").is(200);
    assert_eq!(all["data"].as_array().unwrap().len(), payouts);
    let count = |status: &str| {
        all["data"].as_array().unwrap().iter().filter(|payout| payout["status"] == status).count()
    };
    let books = simulator.payments();
    for payment in &books {
        assert_eq!(payment["times_paid"], 1, "{payment}");
    }
    // A submission that was lost before it was sent cannot be confirmed: it is stuck for an operator and not sent again.
    assert_eq!(count("SUCCESS"), books.len());
    assert_eq!(count("SUCCESS") + count("STUCK"), payouts);
    admin.books_hold();
}
