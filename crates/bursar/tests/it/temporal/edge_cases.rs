//! Edge cases of workflows: id collisions, four eyes, termination, long histories.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{Fixture, QUICK, provider};
use crate::caller::until;
use crate::receiver::Receiver;

#[test]
fn two_payouts_that_want_one_name_are_told_apart() {
    let provider = provider("silent");
    let settings = format!("{QUICK}[temporal]\nkeys_are_unique = true\n");
    let fixture = Fixture::on_temporal(&provider.address, &settings, 1);
    let ids = ["m1", "m2"].map(|merchant| {
        fixture.merchant(merchant);
        fixture.pay("same", merchant, "10")
    });
    let stuck = ids.each_ref().map(|id| fixture.until(id, "STUCK"));
    // One payout has the wanted workflow id, the other one has a suffix.
    let names = ids.each_ref().map(|id| format!("disbursement-same-{id}"));
    let is_there =
        |name: &str| fixture.temporal().ask(&["workflow", "describe", "-w", name]).is_ok();
    let renamed = names.each_ref().map(|name| is_there(name));
    assert_eq!(renamed.iter().filter(|it| **it).count(), 1, "{names:?}");
    // Each workflow drives its own payout.
    for (id, stuck) in ids.iter().zip(&stuck) {
        let decision = json!({ "decision": "confirm_not_paid", "evidence": "call", "expected_version": stuck["version"] });
        fixture.api.move_money(id, &format!("/v1/payouts/{id}/resolve"), &decision).is(200);
    }
    for (id, (name, is_renamed)) in ids.iter().zip(names.iter().zip(renamed)) {
        let name = if is_renamed { name } else { "disbursement-same" };
        assert_eq!(fixture.ended(name), "COMPLETED");
        assert_eq!(fixture.temporal().result(name)["DisbursementID"], id.as_str());
    }
}

#[test]
fn a_large_payout_needs_a_second_person() {
    let provider = provider("silent");
    let alone = ["payin.record", "payout.create"]
        .map(|action| format!("[[approvals]]\naction = \"{action}\"\nquorum = 1\n"));
    let settings = format!("{QUICK}[review]\nfour_eyes_above = \"1000.00\"\n{}", alone.concat());
    let fixture = Fixture::on_temporal(&provider.address, &settings, 1);
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "5000");
    let stuck = fixture.until(&id, "STUCK");
    let workflow = "disbursement-m1-k1";
    let sara = json!({ "Status": "SUCCESS", "ResolvedBy": "sara", "Notes": "in their books" });
    fixture.signal(workflow, &sara);
    let waits = || {
        let explained = fixture.api.get(&format!("/v1/payouts/{id}/explain")).is(200).to_string();
        explained.contains("a second person must decide the same").then_some(())
    };
    until("it waits for a second person", waits);
    assert_eq!(fixture.payout(&id)["status"], "STUCK");
    // Another name in a signal is not another person.
    fixture
        .signal(workflow, &json!({ "Status": "SUCCESS", "ResolvedBy": "omar", "Notes": "me too" }));
    let refused = until("it is refused", || {
        let status = fixture.temporal().query(workflow, "status");
        status["LastError"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("approver"), "{refused}");
    assert_eq!(fixture.payout(&id)["status"], "STUCK");
    let key = json!({ "name": "abid", "role": "approver" });
    let key = fixture.api.post("/v1/keys", &key).is(201);
    let abid = fixture.api.with(key["key"].as_str().unwrap());
    let decision = json!({ "decision": "confirm_paid", "evidence": "their statement", "expected_version": stuck["version"] });
    abid.move_money("d1", &format!("/v1/payouts/{id}/resolve"), &decision).is(200);
    fixture.until(&id, "SUCCESS");
    assert_eq!(fixture.ended(workflow), "COMPLETED");
}

#[test]
fn a_workflow_that_is_terminated_is_started_again_when_its_payout_has_news() {
    let provider = provider("silent");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "10");
    let workflow = "disbursement-m1-k1";
    let stuck = fixture.until(&id, "STUCK");
    fixture.temporal().cli(&["workflow", "terminate", "-w", workflow]);
    assert_eq!(fixture.ended(workflow), "TERMINATED");
    assert_eq!(fixture.payout(&id), stuck, "terminating a workflow moves no money");
    // A new run continues from the current state.
    provider.ask("POST", "/_profile", &[], r#"{"profile":"calm"}"#);
    let decision = json!({ "decision": "new_attempt", "evidence": "not in their books", "expected_version": stuck["version"] });
    fixture.api.move_money("d1", &format!("/v1/payouts/{id}/resolve"), &decision).is(200);
    fixture.until(&id, "SUCCESS");
    assert_eq!(fixture.ended(workflow), "COMPLETED");
    let (jobs, _) = fixture.temporal().activities(workflow);
    assert!(jobs.contains(&"SubmitToChannel".to_owned()), "{jobs:?}");
}

#[test]
fn a_history_that_grows_long_is_begun_anew_and_the_payout_goes_on() {
    let provider = provider("silent");
    let limits: &[&str] = &["limit.historyCount.suggestContinueAsNew=40"];
    let channel = QUICK.replace(
        "requery_schedule_s = [1, 1]",
        "requery_schedule_s = [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]",
    );
    let mut fixture = Fixture::open(Some(limits), &provider.address, &channel);
    fixture.hire();
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "10");
    let workflow = "disbursement-m1-k1";
    fixture.until(&id, "STUCK");
    let runs = || {
        let query = format!("WorkflowId = '{workflow}'");
        let listed = fixture.temporal().json(&["workflow", "list", "--query", &query]);
        let status = |run: &Value| run["status"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(status).collect::<Vec<String>>()
    };
    until("it was begun anew", || {
        runs().contains(&"WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW".to_owned()).then_some(())
    });
    fixture.signal(
        workflow,
        &json!({ "Status": "FAILED", "ResolvedBy": "sara", "Notes": "not in their books" }),
    );
    fixture.until(&id, "FAILED");
    assert_eq!(fixture.ended(workflow), "COMPLETED");
    assert_eq!(fixture.temporal().result(workflow)["DisbursementID"], id.as_str());
    let books = provider.ask("GET", "/_books", &[], "").body;
    let payments = books["payments"].as_array().unwrap();
    assert!(payments.iter().all(|it| it["times_paid"] == 1), "{books}");
}

#[test]
fn a_worker_sends_as_much_at_once_as_an_endpoint_takes() {
    let provider = provider("calm");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let receiver = Receiver::start(move |_, _| {
        let together = now.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(together, Ordering::SeqCst);
        thread::park_timeout(Duration::from_millis(300));
        now.fetch_sub(1, Ordering::SeqCst);
        (200, Vec::new(), Vec::new())
    });
    let body = json!({ "merchant_id": "m1", "url": receiver.url("/hook"), "event_types": ["payout.success"], "concurrency": 2 });
    fixture.api.post("/v1/webhook-endpoints", &body).is(201);
    for number in 0..12 {
        fixture.pay(&format!("k{number}"), "m1", "10");
    }
    until("all are told", || {
        let page = fixture.api.get("/v1/deliveries?status=DELIVERED").is(200);
        (page["data"].as_array().unwrap().len() == 12).then_some(())
    });
    assert_eq!((receiver.got().len(), most.load(Ordering::SeqCst)), (12, 2));
}
