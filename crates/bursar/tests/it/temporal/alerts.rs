//! Monitoring: metrics and alerts of workers, and the alert for an unreachable cluster.

use serde_json::{Value, json};

use super::fixture::{Fixture, QUICK, provider};
use crate::caller::until;
use crate::receiver::Receiver;

/// Waits for an alert event.
fn is_told(fixture: &Fixture, kind: &str, alert: &str) -> bool {
    let events = fixture.api.get("/v1/events?limit=500").is(200);
    let subject = format!("alert:{alert}");
    let is_it = |event: &Value| event["type"] == kind && event["subject"] == *subject;
    events["data"].as_array().unwrap().iter().any(is_it)
}

fn until_told(fixture: &Fixture, kind: &str, alert: &str) {
    until(&format!("{kind} {alert}"), || is_told(fixture, kind, alert).then_some(()));
}

#[test]
fn worker_failures_are_counted_and_raise_alerts() {
    let provider = provider("silent");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 0);
    fixture.merchant("m1");
    let worker = fixture.start(&["worker", "--listen", "127.0.0.1:0"]);
    let shown = |path: &str| worker.ask("GET", path, &[], "");
    assert_eq!(shown("/healthz").status, 200);
    until("it is ready", || (shown("/readyz").status == 200).then_some(()));
    assert_eq!(shown("/v1/payouts").status, 404, "there is no API here");

    let receiver = Receiver::willing();
    let body = json!({ "merchant_id": "m1", "url": receiver.url("/hook"), "event_types": ["payout.success"] });
    let endpoint = fixture.api.post("/v1/webhook-endpoints", &body).is(201);
    let path = format!("/v1/webhook-endpoints/{}/test", endpoint["id"].as_str().unwrap());
    fixture.api.post(&path, &json!({})).is(202);
    for number in 0..25 {
        fixture.pay(&format!("k{number}"), "m1", "10");
    }
    until_told(&fixture, "alert.raised", "unknown_rate:wallet");
    let metrics = shown("/metrics").body;
    let lines: Vec<&str> = metrics.as_str().unwrap().lines().collect();
    let value = |name: &str| {
        let line = lines.iter().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {lines:?}")).trim().parse::<u32>().unwrap()
    };
    assert!(value("bursar_submissions_unknown_total{channel=\"wallet\"}") >= 20);
    assert_eq!(value("bursar_delivery_attempts_total{result=\"taken\"}"), 1);
    assert_eq!(value("bursar_alert{name=\"unknown_rate:wallet\"}"), 1);
}

#[test]
fn a_cluster_that_is_gone_is_missed_and_told_everything_when_it_is_back() {
    let provider = provider("calm");
    let settings = format!("{QUICK}[alerts]\noutbox_age_s = 1\n");
    let mut fixture = Fixture::on_temporal(&provider.address, &settings, 1);
    fixture.merchant("m1");
    fixture.temporal.as_mut().unwrap().crash();
    let id = fixture.pay("k1", "m1", "10");
    until_told(&fixture, "alert.raised", "outbox_age");
    let metrics = fixture.api.get("/metrics").text;
    let overdue = "bursar_outbox_overdue{lane=\"outbox:PAYOUT_SAGA_REQUESTED\"} 1";
    assert!(metrics.contains(overdue), "{metrics}");
    assert_eq!(fixture.payout(&id)["status"], "READY");
    fixture.temporal.as_mut().unwrap().start_server();
    fixture.until(&id, "SUCCESS");
    until_told(&fixture, "alert.cleared", "outbox_age");
}
