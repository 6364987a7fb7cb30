//! Workers and the Temporal server are killed under load.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{Fixture, QUICK, provider};
use crate::receiver::{Got, Receiver};

/// Polls slowly; a dev server is slow.
fn patiently<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(found) = look() {
            return found;
        }
        thread::park_timeout(Duration::from_millis(200));
    }
    panic!("it never came to pass: {what}");
}

const PAYOUTS: usize = 500;

#[test]
fn a_worker_that_is_killed_and_a_server_that_is_restarted_lose_and_double_nothing() {
    let provider = provider("calm");
    // On a busy machine two questions may both come too late, and a stuck payout is asked about after an hour only.
    let pauses = "requery_schedule_s = [1, 1, 2, 2, 4, 4, 8, 8, 16, 16]";
    let channel = QUICK.replace("requery_schedule_s = [1, 1]", pauses);
    assert_ne!(channel, QUICK);
    let mut fixture = Fixture::on_temporal(&provider.address, &channel, 0);
    fixture.merchant("m1");
    for number in 0..PAYOUTS {
        fixture.pay(&format!("k{number}"), "m1", "10");
    }
    assert_eq!(fixture.count("READY"), PAYOUTS, "no worker runs yet");
    fixture.hire();
    fixture.hire();
    patiently("some are paid", || (fixture.count("SUCCESS") >= 50).then_some(()));
    fixture.workers.remove(0).kill();
    patiently("more are paid", || (fixture.count("SUCCESS") >= 150).then_some(()));
    let temporal = fixture.temporal.as_mut().unwrap();
    temporal.crash();
    temporal.start_server();
    patiently("all are paid", || {
        assert_eq!(fixture.count("STUCK"), 0, "the provider answers every question");
        (fixture.count("SUCCESS") == PAYOUTS).then_some(())
    });

    let page = fixture.api.get("/v1/payouts?limit=500").is(200);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let settled: BTreeSet<String> =
        page["data"].as_array().unwrap().iter().map(|payout| text(&payout["reference"])).collect();
    let books = provider.ask("GET", "/_books", &[], "").body;
    let payments = books["payments"].as_array().unwrap();
    assert!(payments.iter().all(|payment| payment["times_paid"] == 1), "{books}");
    let paid: BTreeSet<String> =
        payments.iter().map(|payment| text(&payment["reference"])).collect();
    assert_eq!(paid, settled);
    assert_eq!(paid.len(), PAYOUTS);
    patiently("no workflow is left", || {
        let query = "ExecutionStatus = 'Running'";
        let count = fixture.temporal().json(&["workflow", "count", "--query", query]);
        (count["count"].as_str().unwrap_or("0") == "0").then_some(())
    });
    let url = fixture.books.url();
    let verified = crate::bursar::bursar(&["ledger", "verify", "--database-url", &url]).ok();
    assert!(verified.contains("ok: every balance"), "{verified}");
}

/// Accepts submissions without an answer; status queries return the truth.
fn hanging(got: &Got, taken: &mpsc::Sender<String>) -> crate::receiver::Said {
    if got.path.ends_with("/transactions") {
        taken.send(got.header("x-correlationid").to_owned()).unwrap();
        thread::park_timeout(Duration::from_mins(5));
    }
    let reference = got.path.rsplit('/').next().unwrap();
    let state = json!({ "status": "completed", "clientCorrelationId": reference });
    (200, vec![("content-type", "application/json".to_owned())], state.to_string().into_bytes())
}

#[test]
fn what_was_sent_by_a_worker_that_is_gone_is_asked_for_and_never_sent_again() {
    let (taken, is_taken) = mpsc::channel();
    let taken = Arc::new(Mutex::new(taken));
    let provider = Receiver::start(move |got, _| {
        let taken = taken.lock().unwrap().clone();
        hanging(got, &taken)
    });
    let channel = QUICK.replace("submit_timeout_s = 2", "submit_timeout_s = 8");
    let mut fixture = Fixture::on_temporal(&provider.address, &channel, 1);
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "10");
    let sent = is_taken.recv_timeout(Duration::from_mins(1)).unwrap();
    fixture.workers.remove(0).kill();
    fixture.hire();
    // And a submission whose answer is too late.
    let slow = fixture.pay("k2", "m1", "11");
    let also_sent = is_taken.recv_timeout(Duration::from_mins(1)).unwrap();
    for (id, reference) in [(&id, &sent), (&slow, &also_sent)] {
        let paid = patiently("it is found to be paid", || {
            Some(fixture.payout(id)).filter(|payout| payout["status"] == "SUCCESS")
        });
        assert_eq!(paid["reference"], reference.as_str());
    }
    assert!(is_taken.try_recv().is_err(), "nothing was sent twice");
    let (jobs, _) = fixture.temporal().activities("disbursement-m1-k1");
    assert_eq!(jobs.iter().filter(|job| *job == "SubmitToChannel").count(), 1, "{jobs:?}");
    assert!(jobs.contains(&"PollChannelStatus".to_owned()), "{jobs:?}");
}
