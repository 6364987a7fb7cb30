//! What people of a Temporal shop do, with the tools that they have.

use serde_json::{Value, json};

use super::shop::{ACCOUNT, QUICK, Shop, provider};
use crate::caller::until;

fn request(beneficiary: &str, key: &str) -> String {
    json!({ "DisbursementID": "", "MerchantID": "m1", "BeneficiaryID": beneficiary, "Amount": "250.00", "Currency": "PKR",
        "Channel": "wallet", "IdempotencyKey": key, "TraceID": "trace", "ScheduledAt": null, "Metadata": { "order": "7" } })
    .to_string()
}

fn start(shop: &Shop, workflow: &str, input: &str) {
    let kind = ["workflow", "start", "--type", "DisbursementWorkflow"];
    let place = ["--task-queue", "payout-worker", "-w", workflow, "--input", input];
    shop.temporal().cli(&[&kind[..], &place].concat());
}

#[test]
fn a_payout_that_a_client_starts_is_paid_once_however_often_it_is_started() {
    let provider = provider("calm");
    let shop = Shop::on_temporal(&provider.address, QUICK, 1);
    let beneficiary = shop.merchant("m1");
    let input = request(&beneficiary, "k1");
    start(&shop, "disbursement-m1-k1", &input);
    // The same key under another name, while the first runs.
    start(&shop, "another-name", &input);
    assert_eq!(shop.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(shop.ended("another-name"), "COMPLETED");
    let result = shop.temporal().result("disbursement-m1-k1");
    assert_eq!(result["Status"], "SUCCESS");
    assert_eq!((&result["NetAmount"], &result["Fee"]), (&json!("250.00"), &json!("15.00")));
    // And again, when it has closed.
    start(&shop, "disbursement-m1-k1", &input);
    assert_eq!(shop.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(shop.temporal().result("disbursement-m1-k1"), result);
    assert_eq!(shop.temporal().result("another-name"), result);

    // And through the API.
    let body = json!({ "merchant_id": "m1", "beneficiary_id": beneficiary, "amount": "250", "currency": "PKR",
        "channel": "wallet", "trace_id": "trace", "metadata": { "order": "7" } });
    let again = shop.api.move_money("k1", "/v1/payouts", &body);
    assert!(again.is_replay(), "{again:?}");
    assert_eq!(again.is(201)["id"], result["DisbursementID"]);
    let books = provider.ask("GET", "/_books", &[], "").body;
    assert_eq!(books["payments"].as_array().unwrap().len(), 1, "{books}");

    let (jobs, turns) = shop.temporal().activities("disbursement-m1-k1");
    assert!(jobs.is_empty(), "nothing is left to be done: {jobs:?}");
    assert_eq!(turns, ["ValidateRequest", "ReserveBalance"]);
    let (jobs, _) = shop.temporal().activities("another-name");
    assert!(jobs.len() <= 2, "{jobs:?}");
    let listed = shop.temporal().json(&["workflow", "list", "--query", "BursarStatus = 'SUCCESS'"]);
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");

    // Other values under the same key, and what cannot be read at all, end with a reason; nothing is paid.
    start(&shop, "other-values", &request(&beneficiary, "k1").replace("250.00", "251.00"));
    start(&shop, "unreadable", r#"{"Amount":5}"#);
    start(&shop, "nobody", &request("ben_unknown", "k2"));
    for (workflow, reason) in [
        ("other-values", "idempotency_mismatch"),
        ("unreadable", "bad_request"),
        ("nobody", "unknown_beneficiary"),
    ] {
        assert_eq!(shop.ended(workflow), "FAILED");
        let told = Value::from(shop.temporal().history(workflow)).to_string();
        assert!(told.contains(reason), "{workflow}: {told}");
        let status = shop.temporal().query(workflow, "status");
        assert_eq!(status["Status"], "REFUSED", "{status}");
        assert!(!status["LastError"].as_str().unwrap().is_empty(), "{status}");
    }
    assert_eq!(shop.count("SUCCESS"), 1);
}

#[test]
fn the_happy_path_is_short_and_names_everything_and_tells_no_secret() {
    let provider = provider("calm");
    let shop = Shop::on_temporal(&provider.address, QUICK, 1);
    shop.merchant("m1");
    let mut lengths = Vec::new();
    for number in 0..10 {
        let (key, workflow) = (format!("k{number}"), format!("disbursement-m1-k{number}"));
        let id = shop.pay(&key, "m1", "100");
        shop.until(&id, "SUCCESS");
        assert_eq!(shop.ended(&workflow), "COMPLETED");
        let (jobs, turns) = shop.temporal().activities(&workflow);
        assert!(jobs.iter().all(|it| it == "SubmitToChannel" || it == "PollChannelStatus"));
        assert_eq!(&turns[..2], ["ValidateRequest", "ReserveBalance"]);
        assert_eq!(turns.last().unwrap(), "UpdateLedger");
        let history = shop.temporal().history(&workflow);
        let text = Value::from(history.clone()).to_string();
        assert!(!text.contains(ACCOUNT) && !text.contains("Khan"), "{text}");
        lengths.push((jobs.len(), history.len()));
    }
    let shortest = lengths.iter().min().unwrap();
    // Paid at once; and where the provider takes its time, one question more.
    assert!(shortest.0 <= 2 && shortest.1 <= 25, "{lengths:?}");
    println!("jobs and events of ten payouts: {lengths:?}");
    let longest = lengths.iter().enumerate().max_by_key(|(_, length)| **length).unwrap().0;
    shop.assert_replays(&format!("disbursement-m1-k{longest}"), "payout");
    let listed = shop.temporal().cli(&["workflow", "list"]);
    assert!(listed.contains("DisbursementWorkflow") && listed.contains("disbursement-m1-k3"));
}

#[test]
fn people_decide_by_signal_about_what_is_stuck_and_about_nothing_else() {
    let provider = provider("silent");
    let shop = Shop::on_temporal(&provider.address, QUICK, 1);
    shop.merchant("m1");
    let id = shop.pay("k1", "m1", "100");
    let workflow = "disbursement-m1-k1";
    let resolve = |input: &str| {
        let name = ["workflow", "signal", "-w", workflow, "--name", "manual-resolve"];
        shop.temporal().cli(&[&name[..], &["--input", input]].concat());
    };
    let refused = |word: &str| {
        until(&format!("the query says {word:?}"), || {
            let status = shop.temporal().query(workflow, "status");
            status["LastError"].as_str().filter(|error| error.contains(word)).map(str::to_owned)
        })
    };
    until("the workflow runs", || {
        let listed = shop.temporal().cli(&["workflow", "list"]);
        listed.contains(workflow).then_some(())
    });
    resolve(r#"{"Status":"SUCCESS","ResolvedBy":"ops","Notes":"too early"}"#);
    refused("not STUCK");
    shop.until(&id, "STUCK");
    until("the query says so", || {
        (shop.temporal().query(workflow, "status")["Status"] == "STUCK").then_some(())
    });
    resolve(r#"{"Status":"MAYBE","ResolvedBy":"ops","Notes":"?"}"#);
    refused("MAYBE");
    resolve(r#"{"Status":"SUCCESS","Notes":"nobody"}"#);
    refused("ResolvedBy");
    assert_eq!(shop.payout(&id)["status"], "STUCK");
    resolve(r#"{"Status":"SUCCESS","ResolvedBy":"ops","Notes":"bank confirmed"}"#);
    shop.until(&id, "SUCCESS");
    assert_eq!(shop.ended(workflow), "COMPLETED");
    assert_eq!(shop.temporal().result(workflow)["Status"], "SUCCESS");
    shop.assert_replays(workflow, "stuck-payout");
    let audit = shop.api.get("/v1/audit?limit=100").is(200);
    let entries: Vec<(&str, &str)> = audit["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["resource"] == id.as_str())
        .map(|entry| (entry["actor"].as_str().unwrap(), entry["action"].as_str().unwrap()))
        .collect();
    assert_eq!(
        entries,
        [
            ("ops", "payout.confirm_paid"),
            ("temporal", "payout.resolve.refused"),
            ("ops", "payout.resolve.refused"),
            ("ops", "payout.resolve.refused"),
            ("admin", "payout.create"),
        ]
    );
}

#[test]
fn a_decision_through_the_api_ends_the_workflow_and_so_does_a_cancellation() {
    let provider = provider("silent");
    let shop = Shop::on_temporal(&provider.address, QUICK, 1);
    shop.merchant("m1");
    let id = shop.pay("k1", "m1", "100");
    let later = in_an_hour();
    let body = json!({ "merchant_id": "m1", "beneficiary": { "name": "B", "msisdn": ACCOUNT }, "amount": "5",
        "currency": "PKR", "channel": "wallet", "scheduled_at": later });
    let scheduled = shop.api.move_money("k2", "/v1/payouts", &body).is(201);
    let stuck = shop.until(&id, "STUCK");
    let decision = json!({ "decision": "confirm_not_paid", "evidence": "call with the bank", "expected_version": stuck["version"] });
    let path = format!("/v1/payouts/{id}/resolve");
    shop.api.move_money("d1", &path, &decision).is(200);
    shop.until(&id, "FAILED");
    assert_eq!(shop.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(shop.temporal().result("disbursement-m1-k1")["Status"], "FAILED");

    // What is scheduled waits as a row: the cluster does not know of it yet.
    assert_eq!(scheduled["status"], "SCHEDULED");
    let listed = shop.temporal().cli(&["workflow", "list"]);
    assert!(!listed.contains("disbursement-m1-k2"), "{listed}");
    let path = format!("/v1/payouts/{}/cancel", scheduled["id"].as_str().unwrap());
    shop.api.move_money("c1", &path, &json!({})).is(200);

    // A payout that may be paid is not cancelled by cancelling its workflow; it says so.
    shop.pay("k3", "m1", "7");
    let workflow = "disbursement-m1-k3";
    until("the workflow runs", || {
        shop.temporal().cli(&["workflow", "list"]).contains(workflow).then_some(())
    });
    shop.temporal().cli(&["workflow", "cancel", "-w", workflow]);
    until("the query says why", || {
        let status = shop.temporal().query(workflow, "status");
        status["LastError"].as_str().filter(|error| error.contains("cancel")).map(drop)
    });
    assert_eq!(shop.temporal().status(workflow), "RUNNING");
}

fn in_an_hour() -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1)).to_string()
}
