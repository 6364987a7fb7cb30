//! Webhooks under faults, and secrets that must not be logged.

use std::fs::File;
use std::process::Stdio;

use serde_json::json;

use super::actions::id;
use super::server::{ADMIN_KEY, Server};
use crate::caller::{Caller, until};
use crate::cluster::Cluster;
use crate::process::Process;
use crate::receiver::{Got, Receiver};
use crate::scratch::Scratch;

#[test]
fn a_database_that_restarts_while_events_are_sent_loses_none() {
    let receiver = Receiver::start(|_, _| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        (200, Vec::new(), Vec::new())
    });
    let cluster = Cluster::start();
    let config = "[webhooks]\nallow_hosts = [\"127.0.0.1\"]\ntimeout_s = 1\n";
    let server = Server::on_postgres_with(&cluster.url(), config, &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let body = json!({"merchant_id": "m1", "url": receiver.url("/")});
    admin.post("/v1/webhook-endpoints", &body).is(201);
    for number in 1..=100 {
        admin.fund("m1", &format!("{number}.00"));
    }
    cluster.crash();
    cluster.start_server();
    until("all have arrived and are known to have", || {
        let waiting = ["PENDING", "DELIVERING", "WAITING_RETRY"].map(|status| {
            let path = format!("/v1/deliveries?status={status}&limit=1");
            let listed = admin.try_ask("GET", &path, &[], b"")?;
            (listed.status == 200).then(|| listed.json()["data"] == json!([]))
        });
        (waiting == [Some(true); 3]).then_some(())
    });
    let events: std::collections::BTreeSet<String> =
        receiver.got().iter().map(Got::event).collect();
    assert_eq!(events.len(), 100);
    admin.books_hold();
}

/// With all log levels.
#[test]
fn nothing_that_is_secret_is_ever_logged() {
    let receiver = Receiver::start(|_, number| {
        let status = if number == 1 { 500 } else { 200 };
        (status, Vec::new(), Vec::new())
    });
    let scratch = Scratch::new();
    let text = "[webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = [1]\n";
    let config = scratch.file("bursar.toml", text);
    let data = scratch.path().join("data").display().to_string();
    let arguments =
        ["serve", "--init", "--listen", "127.0.0.1:0", "--config", &config, "--data", &data];
    let variables = [("BURSAR_ADMIN_KEY", ADMIN_KEY), ("BURSAR_LOG", "trace")];
    let log = scratch.path().join("log");
    let kept = Stdio::from(File::create(&log).unwrap());
    let process = Process::try_start(&arguments, &variables, kept).unwrap();
    let admin = Caller::new(&process.address, Some(ADMIN_KEY));
    admin.post("/v1/merchants", &json!({"id": "m1", "name": "m1"})).is(201);
    let body = json!({
        "merchant_id": "m1", "url": receiver.url("/path-with-a-token"),
        "headers": {"Authorization": "Bearer open-sesame"},
    });
    let made = admin.post("/v1/webhook-endpoints", &body).is(201);
    let path = format!("/v1/webhook-endpoints/{}", id(&made));
    let rotated = admin.post(&format!("{path}/rotate-secret"), &json!({})).is(200);
    admin.post(&format!("{path}/test"), &json!({})).is(202);
    let got = until("the second attempt", || receiver.got().into_iter().nth(1));
    assert_eq!(got.header("authorization"), "Bearer open-sesame");
    drop(process);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("request"), "something was logged: {text}");
    let secrets = [&made, &rotated].map(|body| body["secret"].as_str().unwrap().to_owned());
    let signatures = ["x-bursar-signature", "webhook-signature"].map(|name| got.header(name));
    let words = ["open-sesame", "whsec_", "path-with-a-token", ADMIN_KEY];
    for word in secrets.iter().map(String::as_str).chain(signatures).chain(words) {
        assert!(!text.contains(word), "{word} is in the log");
    }
}

/// Dead letters of a disabled endpoint do not block others in a replay.
#[test]
fn a_replay_of_many_gets_past_those_whose_endpoint_is_off() {
    let receiver = Receiver::start(|_, _| (500, Vec::new(), Vec::new()));
    let config = "[webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = []\n";
    let server = Server::with(config, &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let body = json!({"merchant_id": "m1", "url": receiver.url("/")});
    let add = || admin.post("/v1/webhook-endpoints", &body).is(201);
    let [_on, off] = [add(), add()];
    for number in 1..=3 {
        admin.fund("m1", &format!("{number}.00"));
    }
    until("all are dead", || {
        let dead = admin.get("/v1/dead-letters").is(200);
        (dead["data"].as_array().unwrap().len() == 6).then_some(())
    });
    admin.post(&format!("/v1/webhook-endpoints/{}/disable", id(&off)), &json!({})).is(200);
    let (mut replayed, mut passed_over, mut cursor) = (0, 0, json!(null));
    for _ in 0..10 {
        let body = json!({"limit": 1, "include_cancelled": true, "cursor": cursor});
        let round = admin.post("/v1/dead-letters/replay", &body).is(202);
        replayed += round["replayed"].as_u64().unwrap();
        passed_over += round["passed_over"].as_u64().unwrap();
        assert_eq!(round["has_more"], json!(!round["next_cursor"].is_null()));
        cursor = round["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((replayed, passed_over, cursor), (3, 3, json!(null)));
    let made_up = json!({"cursor": "webhook-dead.x"});
    admin.post("/v1/dead-letters/replay", &made_up).refused(400, "bad_request");
}

/// For example after a rollback from a newer version.
#[test]
fn with_an_endpoint_that_cannot_be_read_it_starts_and_serves_all_others() {
    let receiver = Receiver::start(|_, _| (200, Vec::new(), Vec::new()));
    let mut server = Server::with("[webhooks]\nallow_hosts = [\"127.0.0.1\"]\n", &[]);
    let admin = server.admin();
    let mut made = Vec::new();
    for merchant in ["m1", "m2"] {
        admin.merchant(merchant, "0.00");
        let body = json!({"merchant_id": merchant, "url": receiver.url("/")});
        made.push(admin.post("/v1/webhook-endpoints", &body).is(201));
    }
    server.kill();
    let books = std::path::Path::new(&server.data()).join("bursar.sqlite");
    let spoil = "UPDATE registry SET content = '{\"new\":1,' || substr(content, 2) WHERE id = ?1";
    let connection = rusqlite::Connection::open(books).unwrap();
    assert_eq!(connection.execute(spoil, [id(&made[0])]).unwrap(), 1);
    drop(connection);
    // Its encryption keys are still required.
    let keys = std::path::Path::new(&server.data()).join("secret-keys");
    let away = keys.with_extension("away");
    std::fs::rename(&keys, &away).unwrap();
    let said = server.start_in_vain();
    assert!(said.contains("BURSAR_SECRET_KEYS"), "{said}");
    std::fs::rename(&away, &keys).unwrap();

    server.start();
    let admin = server.admin();
    let listed = admin.get("/v1/webhook-endpoints").is(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let path = format!("/v1/webhook-endpoints/{}/test", id(&made[0]));
    admin.post(&path, &json!({})).refused(500, "unreadable");
    admin.fund("m1", "5.00");
    admin.fund("m2", "6.00");
    let got = until("the other receives its event", || receiver.got().into_iter().next());
    assert_eq!(got.json()["merchant_id"], "m2");
    until("its delivery waits", || {
        let waits = admin.get("/v1/deliveries?merchant_id=m1").is(200);
        (waits["data"][0]["status"] == "PENDING").then_some(())
    });
    server.kill();
    let rotate = ["secret-keys", "rotate", "--data", &server.data()];
    let said = crate::bursar::bursar_with(&rotate, &[]).refused();
    assert!(said.contains("keep the older keys"), "{said}");
}

/// For example a tampered secret. The receiver cannot repair it, so an alert is raised.
#[test]
fn what_cannot_be_signed_is_a_dead_letter_an_alert_and_can_be_replayed() {
    let receiver = Receiver::start(|_, _| (200, Vec::new(), Vec::new()));
    let server = Server::with("[webhooks]\nallow_hosts = [\"127.0.0.1\"]\n", &[]);
    let keys = std::path::Path::new(&server.data()).join("secret-keys");
    let keys = std::fs::read_to_string(keys).unwrap();
    let name = keys.split_once(':').unwrap().0;
    assert!(name.starts_with("k20") && name.len() == "k20261116-154000".len(), "{name}");
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let body = json!({"merchant_id": "m1", "url": receiver.url("/")});
    let path = format!(
        "/v1/webhook-endpoints/{}",
        id(&admin.post("/v1/webhook-endpoints", &body).is(201))
    );
    let books = std::path::Path::new(&server.data()).join("bursar.sqlite");
    let change = r#"UPDATE registry SET content = replace(content, '\"text\":\"', '\"text\":\"AAAA')
                    WHERE kind = 'webhook_endpoint'"#;
    assert_eq!(rusqlite::Connection::open(books).unwrap().execute(change, []).unwrap(), 1);
    admin.post(&format!("{path}/test"), &json!({})).is(202);
    let dead = until("it is dead", || {
        let dead = admin.get("/v1/dead-letters").is(200);
        dead["data"].get(0).cloned()
    });
    assert_eq!(dead["reason"], "SIGNING_FAILED");
    assert_eq!(receiver.got().len(), 0, "nothing is sent unsigned");
    until("an alert is raised", || {
        let text = admin.get("/metrics").text;
        text.contains("bursar_alert{name=\"unsendable_webhooks\"} 1").then_some(())
    });
    assert!(
        admin.get("/metrics").text.contains("attempts_total{result=\"unsendable\"} 1"),
        "and it is counted"
    );

    admin.post(&format!("{path}/rotate-secret"), &json!({"overlap_s": 0})).is(200);
    admin.post(&format!("/v1/deliveries/{}/replay", id(&dead)), &json!({})).is(202);
    until("it arrives", || receiver.got().into_iter().next());
}
