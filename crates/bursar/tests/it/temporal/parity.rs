//! The same script on both hosts: the same postings, the same statuses, the same events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::fixture::{Fixture, QUICK};
use crate::bursar::bursar;
use crate::caller::until;
use crate::receiver::{Got, Receiver, Said};

/// A provider whose behaviour depends on the amount, and its submissions by reference.
#[derive(Default)]
struct Scripted(Mutex<BTreeMap<String, String>>);

impl Scripted {
    fn says(&self, got: &Got) -> Said {
        let mut known = self.0.lock().unwrap();
        let is_submission = got.path.ends_with("/transactions");
        let reference = if is_submission {
            let reference = got.header("x-correlationid").to_owned();
            let amount = got.json()["amount"].as_str().unwrap().to_owned();
            known.insert(reference.clone(), amount);
            reference
        } else {
            got.path.rsplit('/').next().unwrap().to_owned()
        };
        let amount = known[&reference].clone();
        let tries = known.values().filter(|other| **other == amount).count();
        let error =
            |code: &str| json!({ "errorCode": code, "errorDescription": "account 923001234567" });
        let completed = json!({ "status": "completed", "clientCorrelationId": reference, "transactionReference": format!("t-{amount}") });
        let pending = json!({ "status": "pending", "clientCorrelationId": reference });
        let (status, body) = match (amount.as_str(), is_submission) {
            ("109.00", true) if tries == 1 => (400, error("SystemBusy")),
            ("101.00" | "109.00", _) | ("102.00" | "104.00", false) => (200, completed),
            ("102.00" | "107.00", true) => (202, pending),
            ("103.00", _) => (400, error("AccountClosed")),
            ("107.00", false) => {
                let failed = json!({ "status": "failed", "clientCorrelationId": reference, "errorReference": error("AccountNotFound") });
                (200, failed)
            }
            _ => (500, json!({})),
        };
        (status, vec![("x-correlationid", reference)], body.to_string().into_bytes())
    }
}

/// The final state, without ids and times, which differ.
#[derive(Debug, PartialEq)]
struct Left {
    payouts: BTreeMap<String, Value>,
    events: BTreeMap<String, Vec<Value>>,
    delivered: BTreeSet<(String, u64)>,
    trial_balance: Value,
    postings: Vec<String>,
}

fn script(fixture: &Fixture) -> Left {
    fixture.merchant("m1");
    // The receiver rejects some events once: the third attempt would come a minute later.
    let rejected = Mutex::new(BTreeSet::new());
    let merchant = Receiver::start(move |got, number| {
        let is_rejected = number % 7 == 3 && rejected.lock().unwrap().insert(got.event());
        (if is_rejected { 503 } else { 200 }, Vec::new(), Vec::new())
    });
    let endpoint = json!({ "merchant_id": "m1", "url": merchant.url("/") });
    fixture.api.post("/v1/webhook-endpoints", &endpoint).is(201);
    let amounts = ["101", "102", "103", "104", "105", "106", "107", "109"];
    let mut ids: BTreeMap<String, String> = amounts
        .iter()
        .map(|amount| (fixture.pay(&format!("k{amount}"), "m1", amount), (*amount).to_owned()))
        .collect();
    // A repeated request, one without funds, and a scheduled one.
    fixture.pay("k101", "m1", "101");
    let body = |amount: &str, more: Value| {
        let mut body = json!({ "merchant_id": "m1", "beneficiary": { "name": "B", "msisdn": "923001234567" },
            "amount": amount, "currency": "PKR", "channel": "wallet" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    fixture
        .api
        .move_money("much", "/v1/payouts", &body("9999999", json!({})))
        .refused(422, "missing_funds");
    let later = body("108", json!({ "scheduled_at": "2099-01-01T00:00:00Z" }));
    let scheduled = fixture.api.move_money("k108", "/v1/payouts", &later).is(201);
    let scheduled = scheduled["id"].as_str().unwrap().to_owned();
    fixture.api.move_money("c", &format!("/v1/payouts/{scheduled}/cancel"), &json!({})).is(200);
    ids.insert(scheduled, "108".to_owned());
    for (id, amount) in &ids {
        let (decision, status) = match amount.as_str() {
            "105" => ("confirm_paid", "SUCCESS"),
            "106" => ("confirm_not_paid", "FAILED"),
            _ => continue,
        };
        let stuck = fixture.until(id, "STUCK");
        // Operators decide through the API or by signal.
        if let Some(temporal) = &fixture.temporal {
            let input = json!({ "Status": status, "ResolvedBy": "ops", "Notes": "statement" });
            let workflow = format!("disbursement-m1-k{amount}");
            let signal = ["workflow", "signal", "-w", &workflow, "--name", "manual-resolve"];
            temporal.cli(&[&signal[..], &["--input", &input.to_string()]].concat());
        } else {
            let decision = json!({ "decision": decision, "evidence": "statement", "expected_version": stuck["version"] });
            let path = format!("/v1/payouts/{id}/resolve");
            fixture.api.move_money(&format!("d{amount}"), &path, &decision).is(200);
        }
    }
    for (id, amount) in &ids {
        until(&format!("{amount} is final"), || {
            (fixture.payout(id)["final"] == true).then_some(())
        });
    }
    until("everything is delivered", || {
        let page = fixture.api.get("/v1/deliveries?merchant_id=m1&limit=500").is(200);
        let deliveries = page["data"].as_array().unwrap().clone();
        deliveries.iter().all(|it| it["status"] == "DELIVERED").then_some(())
    });
    left(fixture, &ids, &merchant)
}

fn left(fixture: &Fixture, ids: &BTreeMap<String, String>, merchant: &Receiver) -> Left {
    let bare = |value: &Value| {
        let mut value = value.clone();
        let fields = value.as_object_mut().unwrap();
        fields.retain(|name, _| {
            !matches!(name.as_str(), "id" | "reference" | "created_at" | "updated_at")
        });
        value
    };
    let payouts =
        ids.iter().map(|(id, amount)| (amount.clone(), bare(&fixture.payout(id)))).collect();
    let page = fixture.api.get("/v1/events?limit=500").is(200);
    let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in page["data"].as_array().unwrap() {
        let Some(amount) = event["subject"].as_str().and_then(|subject| ids.get(subject)) else {
            continue;
        };
        let told = json!([event["type"], event["sequence"], bare(&event["data"])]);
        events.entry(amount.clone()).or_default().push(told);
    }
    let delivered: BTreeSet<(String, u64)> = merchant
        .got()
        .iter()
        .map(Got::json)
        .filter_map(|event| {
            let amount = ids.get(event["subject"].as_str()?)?;
            let kind = event["type"].as_str()?;
            Some((format!("{amount} {kind}"), event["sequence"].as_u64()?))
        })
        .collect();
    assert!(delivered.len() > 30, "the merchant was told: {delivered:?}");
    let url = fixture.books.url();
    let ledger =
        |report: &[&str]| bursar(&[&["ledger"], report, &["--database-url", &url]].concat()).ok();
    assert!(ledger(&["verify"]).contains("ok: every balance"));
    let trial_balance = serde_json::from_str(&ledger(&["trial-balance", "--json"])).unwrap();
    // Without the time, and without the running balance, which depends on the order.
    let statement = ledger(&["statement", "m1", "--csv"]);
    let posting = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let reference = ids.get(fields[2]).map_or("a pay-in", String::as_str);
        [&[fields[1], reference], &fields[3..11]].concat().join(",")
    };
    let mut postings: Vec<String> = statement.lines().map(posting).collect();
    postings.sort();
    Left { payouts, events, delivered, trial_balance, postings }
}

#[test]
fn both_hosts_leave_the_same_books_and_tell_the_same() {
    let provider = || {
        let scripted = Scripted::default();
        Receiver::start(move |got, _| scripted.says(got))
    };
    let (first, second) = (provider(), provider());
    // The provider always answers: a busy machine must not turn its answers into timeouts.
    let channel = QUICK.replace("timeout_s = 2", "timeout_s = 20");
    let embedded = script(&Fixture::embedded(&first.address, &channel));
    let temporal = script(&Fixture::on_temporal(&second.address, &channel, 2));
    let statuses: BTreeMap<&str, &str> = embedded
        .payouts
        .iter()
        .map(|(amount, payout)| (amount.as_str(), payout["status"].as_str().unwrap()))
        .collect();
    let expected = [
        ("101", "SUCCESS"),
        ("102", "SUCCESS"),
        ("103", "FAILED"),
        ("104", "SUCCESS"),
        ("105", "SUCCESS"),
        ("106", "FAILED"),
        ("107", "FAILED"),
        ("108", "CANCELLED"),
        ("109", "SUCCESS"),
    ];
    assert_eq!(statuses, BTreeMap::from(expected));
    assert_eq!(embedded, temporal);
}
