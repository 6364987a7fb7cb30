//! Webhooks driven by workflows.

use serde_json::{Value, json};

use super::fixture::{Fixture, QUICK, provider};
use crate::caller::until;
use crate::receiver::Receiver;

fn endpoint(fixture: &Fixture, url: &str) -> (String, String) {
    let body = json!({ "merchant_id": "m1", "url": url, "event_types": ["payout.success"] });
    let made = fixture.api.post("/v1/webhook-endpoints", &body).is(201);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}

fn deliveries(fixture: &Fixture) -> Vec<Value> {
    let page = fixture.api.get("/v1/deliveries?merchant_id=m1").is(200);
    page["data"].as_array().unwrap().clone()
}

#[test]
fn an_event_is_delivered_by_a_workflow_that_can_be_asked_and_cancelled() {
    let provider = provider("calm");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    // The receiver accepts the third attempt.
    let receiver = Receiver::start(|_, number| {
        let status = if number < 3 { 503 } else { 200 };
        (status, Vec::new(), b"said 923001234567".to_vec())
    });
    let (_, secret) = endpoint(&fixture, &receiver.url("/hook"));
    let id = fixture.pay("k1", "m1", "100");
    fixture.until(&id, "SUCCESS");
    let delivery = until("it is delivered", || {
        deliveries(&fixture).into_iter().find(|delivery| delivery["status"] == "DELIVERED")
    });
    assert_eq!(delivery["attempts"], 3);
    assert_eq!(receiver.got().len(), 3);
    let event = delivery["event_id"].as_str().unwrap();
    let workflow = format!("webhook-{event}");
    until("the workflow has ended", || {
        (fixture.temporal().status(&workflow) == "COMPLETED").then_some(())
    });
    let result = fixture.temporal().result(&workflow);
    assert_eq!(result["FinalStatus"], "DELIVERED", "{result}");
    assert_eq!((&result["EventID"], &result["Attempts"]), (&json!(event), &json!(3)));
    let status = fixture.temporal().query(&workflow, "delivery-status");
    assert_eq!((&status["Status"], &status["Attempts"]), (&json!("DELIVERED"), &json!(3)));
    let history = Value::from(fixture.temporal().history(&workflow)).to_string();
    for hidden in [secret.as_str(), "923001234567", "whsec_", "v1,"] {
        assert!(!history.contains(hidden), "{hidden} is in {history}");
    }
    fixture.assert_replays(&workflow, "delivery");
    let (jobs, _) = fixture.temporal().activities(&workflow);
    assert_eq!(jobs, ["DeliverWebhook"; 3]);
}

#[test]
fn a_delivery_whose_workflow_is_cancelled_is_cancelled_and_may_be_sent_again() {
    let provider = provider("calm");
    let fixture = Fixture::on_temporal(&provider.address, QUICK, 1);
    fixture.merchant("m1");
    let receiver =
        Receiver::start(|_, number| (if number < 4 { 500 } else { 200 }, Vec::new(), Vec::new()));
    endpoint(&fixture, &receiver.url("/hook"));
    let id = fixture.pay("k1", "m1", "100");
    fixture.until(&id, "SUCCESS");
    // The third attempt has failed: the next is due in a minute.
    let delivery = until("it waits", || {
        deliveries(&fixture)
            .into_iter()
            .find(|it| it["status"] == "WAITING_RETRY" && it["attempts"] == 3)
    });
    let workflow = format!("webhook-{}", delivery["event_id"].as_str().unwrap());
    until("the query says so", || {
        let status = fixture.temporal().query(&workflow, "delivery-status");
        (status["Status"] == "WAITING_RETRY" && status["Attempts"] == 3).then_some(())
    });
    fixture.temporal().cli(&["workflow", "cancel", "-w", &workflow]);
    until("it is cancelled", || (deliveries(&fixture)[0]["status"] == "CANCELLED").then_some(()));
    until("the workflow has ended", || {
        (fixture.temporal().status(&workflow) != "RUNNING").then_some(())
    });
    assert_eq!(fixture.temporal().result(&workflow)["FinalStatus"], "CANCELLED");
    fixture.assert_replays(&workflow, "cancelled-delivery");
    // A replay starts a new run of the same workflow.
    let path = format!("/v1/deliveries/{}/replay", delivery["id"].as_str().unwrap());
    let replayed = fixture.api.post(&path, &json!({}));
    assert!(replayed.status < 300, "{replayed:?}");
    until("it is delivered", || (deliveries(&fixture)[0]["status"] == "DELIVERED").then_some(()));
    assert_eq!(receiver.got().len(), 4);
}
