//! Whoever watches: workers count and raise what they meet, and a cluster that is gone is missed.

use serde_json::{Value, json};

use super::shop::{QUICK, Shop, provider};
use crate::caller::until;
use crate::receiver::Receiver;

/// Whether somebody was told.
fn is_told(shop: &Shop, kind: &str, alert: &str) -> bool {
    let events = shop.api.get("/v1/events?limit=500").is(200);
    let subject = format!("alert:{alert}");
    let is_it = |event: &Value| event["type"] == kind && event["subject"] == *subject;
    events["data"].as_array().unwrap().iter().any(is_it)
}

fn until_told(shop: &Shop, kind: &str, alert: &str) {
    until(&format!("{kind} {alert}"), || is_told(shop, kind, alert).then_some(()));
}

#[test]
fn what_workers_meet_is_counted_and_somebody_is_told() {
    let provider = provider("silent");
    let shop = Shop::on_temporal(&provider.address, QUICK, 0);
    shop.merchant("m1");
    let worker = shop.start(&["worker", "--listen", "127.0.0.1:0"]);
    let shown = |path: &str| worker.ask("GET", path, &[], "");
    assert_eq!(shown("/healthz").status, 200);
    until("it is ready", || (shown("/readyz").status == 200).then_some(()));
    assert_eq!(shown("/v1/payouts").status, 404, "there is no API here");

    let receiver = Receiver::willing();
    let body = json!({ "merchant_id": "m1", "url": receiver.url("/hook"), "event_types": ["payout.success"] });
    let endpoint = shop.api.post("/v1/webhook-endpoints", &body).is(201);
    let path = format!("/v1/webhook-endpoints/{}/test", endpoint["id"].as_str().unwrap());
    shop.api.post(&path, &json!({})).is(202);
    for number in 0..25 {
        shop.pay(&format!("k{number}"), "m1", "10");
    }
    until_told(&shop, "alert.raised", "unknown_rate:wallet");
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
    let mut shop = Shop::on_temporal(&provider.address, &settings, 1);
    shop.merchant("m1");
    shop.temporal.as_mut().unwrap().crash();
    let id = shop.pay("k1", "m1", "10");
    until_told(&shop, "alert.raised", "outbox_age");
    let metrics = shop.api.get("/metrics").text;
    let overdue = "bursar_outbox_overdue{lane=\"outbox:PAYOUT_SAGA_REQUESTED\"} 1";
    assert!(metrics.contains(overdue), "{metrics}");
    assert_eq!(shop.payout(&id)["status"], "READY");
    shop.temporal.as_mut().unwrap().start_server();
    shop.until(&id, "SUCCESS");
    until_told(&shop, "alert.cleared", "outbox_age");
}
