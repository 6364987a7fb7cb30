//! Payouts started, queried and signalled with the Temporal command line.

use serde_json::{Value, json};

use super::fixture::{ACCOUNT, Fixture, QUICK, provider};
use crate::caller::until;

fn request(beneficiary: &str, key: &str) -> String {
    json!({ "DisbursementID": "", "MerchantID": "m1", "BeneficiaryID": beneficiary, "Amount": "250.00", "Currency": "PKR",
        "Channel": "wallet", "IdempotencyKey": key, "TraceID": "trace", "ExternalID": "order-7",
        "Description": "for June", "ScheduledAt": null, "Metadata": { "order": "7" } })
    .to_string()
}

fn start(fixture: &Fixture, workflow: &str, input: &str) {
    let kind = ["workflow", "start", "--type", "DisbursementWorkflow"];
    let place = ["--task-queue", "payout-worker", "-w", workflow, "--input", input];
    fixture.temporal().cli(&[&kind[..], &place].concat());
}

#[test]
fn a_payout_that_a_client_starts_is_paid_once_however_often_it_is_started() {
    let provider = provider("calm");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    let beneficiary = fixture.merchant("m1");
    let input = request(&beneficiary, "k1");
    start(&fixture, "disbursement-m1-k1", &input);
    // The same key under another workflow id, while the first runs.
    start(&fixture, "another-name", &input);
    assert_eq!(fixture.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(fixture.ended("another-name"), "COMPLETED");
    let result = fixture.temporal().result("disbursement-m1-k1");
    assert_eq!(result["Status"], "SUCCESS");
    assert_eq!((&result["NetAmount"], &result["Fee"]), (&json!("250.00"), &json!("15.00")));
    // And again, when it has closed.
    start(&fixture, "disbursement-m1-k1", &input);
    assert_eq!(fixture.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(fixture.temporal().result("disbursement-m1-k1"), result);
    assert_eq!(fixture.temporal().result("another-name"), result);

    // And through the API.
    let body = json!({ "merchant_id": "m1", "beneficiary_id": beneficiary, "amount": "250", "currency": "PKR",
        "channel": "wallet", "trace_id": "trace", "external_id": "order-7", "description": "for June",
        "metadata": { "order": "7" } });
    let again = fixture.api.move_money("k1", "/v1/payouts", &body);
    assert!(again.is_replay(), "{again:?}");
    let again = again.is(201);
    assert_eq!(again["id"], result["DisbursementID"]);
    assert_eq!(again["beneficiary"]["id"], beneficiary, "{again}");
    assert_eq!(
        (&again["external_id"], &again["description"]),
        (&json!("order-7"), &json!("for June"))
    );
    let books = provider.ask("GET", "/_books", &[], "").body;
    assert_eq!(books["payments"].as_array().unwrap().len(), 1, "{books}");

    let (jobs, turns) = fixture.temporal().activities("disbursement-m1-k1");
    assert!(jobs.is_empty(), "nothing is left to be done: {jobs:?}");
    assert_eq!(turns, ["ValidateRequest", "ReserveBalance"]);
    let (jobs, _) = fixture.temporal().activities("another-name");
    assert!(jobs.len() <= 2, "{jobs:?}");
    let listed =
        fixture.temporal().json(&["workflow", "list", "--query", "BursarStatus = 'SUCCESS'"]);
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");

    // Other values under the same key, and unreadable input, end with a reason; nothing is paid.
    start(&fixture, "other-values", &request(&beneficiary, "k1").replace("250.00", "251.00"));
    start(&fixture, "unreadable", r#"{"Amount":5}"#);
    start(&fixture, "unknown", &request("ben_unknown", "k2"));
    for (workflow, reason) in [
        ("other-values", "idempotency_mismatch"),
        ("unreadable", "bad_request"),
        ("unknown", "unknown_beneficiary"),
    ] {
        assert_eq!(fixture.ended(workflow), "FAILED");
        let told = Value::from(fixture.temporal().history(workflow)).to_string();
        assert!(told.contains(reason), "{workflow}: {told}");
        let status = fixture.temporal().query(workflow, "status");
        assert_eq!(status["Status"], "REFUSED", "{status}");
        assert!(!status["LastError"].as_str().unwrap().is_empty(), "{status}");
    }
    assert_eq!(fixture.count("SUCCESS"), 1);
}

#[test]
fn the_happy_path_is_short_and_names_everything_and_tells_no_secret() {
    let provider = provider("calm");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let mut lengths = Vec::new();
    for number in 0..10 {
        let (key, workflow) = (format!("k{number}"), format!("disbursement-m1-k{number}"));
        let id = fixture.pay(&key, "m1", "100");
        fixture.until(&id, "SUCCESS");
        assert_eq!(fixture.ended(&workflow), "COMPLETED");
        let (jobs, turns) = fixture.temporal().activities(&workflow);
        assert!(jobs.iter().all(|it| it == "SubmitToChannel" || it == "PollChannelStatus"));
        assert_eq!(&turns[..2], ["ValidateRequest", "ReserveBalance"]);
        assert_eq!(turns.last().unwrap(), "UpdateLedger");
        let history = fixture.temporal().history(&workflow);
        let text = Value::from(history.clone()).to_string();
        assert!(!text.contains(ACCOUNT) && !text.contains("Khan"), "{text}");
        assert!(!text.contains("***"), "not even masked: {text}");
        lengths.push((jobs.len(), history.len()));
    }
    let shortest = lengths.iter().min().unwrap();
    // Paid at once; a slow provider needs one status query more.
    assert!(shortest.0 <= 2 && shortest.1 <= 25, "{lengths:?}");
    println!("jobs and events of ten payouts: {lengths:?}");
    let longest = lengths.iter().enumerate().max_by_key(|(_, length)| **length).unwrap().0;
    fixture.assert_replays(&format!("disbursement-m1-k{longest}"), "payout");
    let listed = fixture.temporal().cli(&["workflow", "list"]);
    assert!(listed.contains("DisbursementWorkflow") && listed.contains("disbursement-m1-k3"));
}

#[test]
fn people_decide_by_signal_about_what_is_stuck_and_about_nothing_else() {
    let provider = provider("silent");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "100");
    let workflow = "disbursement-m1-k1";
    let resolve = |input: &str| {
        let name = ["workflow", "signal", "-w", workflow, "--name", "manual-resolve"];
        fixture.temporal().cli(&[&name[..], &["--input", input]].concat());
    };
    let refused = |word: &str| {
        until(&format!("the query says {word:?}"), || {
            let status = fixture.temporal().query(workflow, "status");
            status["LastError"].as_str().filter(|error| error.contains(word)).map(str::to_owned)
        })
    };
    until("the workflow runs", || {
        let listed = fixture.temporal().cli(&["workflow", "list"]);
        listed.contains(workflow).then_some(())
    });
    resolve(r#"{"Status":"SUCCESS","ResolvedBy":"ops","Notes":"too early"}"#);
    refused("not STUCK");
    fixture.until(&id, "STUCK");
    until("the query says so", || {
        (fixture.temporal().query(workflow, "status")["Status"] == "STUCK").then_some(())
    });
    resolve(r#"{"Status":"MAYBE","ResolvedBy":"ops","Notes":"?"}"#);
    refused("MAYBE");
    resolve(r#"{"Status":"SUCCESS","Notes":"none"}"#);
    refused("ResolvedBy");
    assert_eq!(fixture.payout(&id)["status"], "STUCK");
    resolve(r#"{"Status":"SUCCESS","ResolvedBy":"ops","Notes":"bank confirmed"}"#);
    fixture.until(&id, "SUCCESS");
    assert_eq!(fixture.ended(workflow), "COMPLETED");
    assert_eq!(fixture.temporal().result(workflow)["Status"], "SUCCESS");
    fixture.assert_replays(workflow, "stuck-payout");
    let audit = fixture.api.get("/v1/audit?limit=100").is(200);
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
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let id = fixture.pay("k1", "m1", "100");
    let later = in_an_hour();
    let body = json!({ "merchant_id": "m1", "beneficiary": { "name": "B", "msisdn": ACCOUNT }, "amount": "5",
        "currency": "PKR", "channel": "wallet", "scheduled_at": later });
    let scheduled = fixture.api.move_money("k2", "/v1/payouts", &body).is(201);
    let stuck = fixture.until(&id, "STUCK");
    let decision = json!({ "decision": "confirm_not_paid", "evidence": "call with the bank", "expected_version": stuck["version"] });
    let path = format!("/v1/payouts/{id}/resolve");
    fixture.api.move_money("d1", &path, &decision).is(200);
    fixture.until(&id, "FAILED");
    assert_eq!(fixture.ended("disbursement-m1-k1"), "COMPLETED");
    assert_eq!(fixture.temporal().result("disbursement-m1-k1")["Status"], "FAILED");

    // A scheduled payout is a row: the cluster has no workflow for it yet.
    assert_eq!(scheduled["status"], "SCHEDULED");
    let listed = fixture.temporal().cli(&["workflow", "list"]);
    assert!(!listed.contains("disbursement-m1-k2"), "{listed}");
    let path = format!("/v1/payouts/{}/cancel", scheduled["id"].as_str().unwrap());
    fixture.api.move_money("c1", &path, &json!({})).is(200);

    // Cancelling the workflow does not cancel a payout that may be paid; the reply says so.
    fixture.pay("k3", "m1", "7");
    let workflow = "disbursement-m1-k3";
    until("the workflow runs", || {
        fixture.temporal().cli(&["workflow", "list"]).contains(workflow).then_some(())
    });
    fixture.temporal().cli(&["workflow", "cancel", "-w", workflow]);
    until("the query says why", || {
        let status = fixture.temporal().query(workflow, "status");
        status["LastError"].as_str().filter(|error| error.contains("cancel")).map(drop)
    });
    assert_eq!(fixture.temporal().status(workflow), "RUNNING");
}

fn in_an_hour() -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1)).to_string()
}
