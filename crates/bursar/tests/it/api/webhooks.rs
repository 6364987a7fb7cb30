//! Webhooks: registered through the API, sent over sockets, retried on a test clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use serde_json::{Value, json};
use standardwebhooks::Webhook;

use super::actions::id;
use super::server::Server;
use crate::caller::{Caller, until};
use crate::receiver::Receiver;

const ALLOWED: &str = "[webhooks]\nallow_hosts = [\"127.0.0.1\"]\n";

fn endpoint(admin: &Caller, url: &str, event_types: &[&str]) -> Value {
    let body = json!({"merchant_id": "m1", "url": url, "event_types": event_types});
    admin.post("/v1/webhook-endpoints", &body).is(201)
}

fn advance(admin: &Caller, seconds: u64) {
    admin.post("/v1/test-clock/advance", &json!({"seconds": seconds})).is(200);
}

/// The only delivery of the only event.
fn only(admin: &Caller) -> Value {
    let listed = admin.get("/v1/deliveries").is(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    admin.get(&format!("/v1/deliveries/{}", id(&listed["data"][0]))).is(200)
}

#[test]
fn the_headers_are_those_that_were_agreed_and_both_signatures_hold() {
    let receiver = Receiver::willing();
    let server = Server::with(&format!("{ALLOWED}brand = \"Simpaisa\"\n"), &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let body = json!({
        "merchant_id": "m1", "url": receiver.url("/hooks?shop=7"), "event_types": ["*"],
        "version": "2024-01-01", "headers": {"X-Token": "open sesame"},
    });
    let made = admin.post("/v1/webhook-endpoints", &body).is(201);
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));
    admin.fund("m1", "100.00");
    let got = until("the event arrives", || receiver.got().pop());
    assert_eq!(got.path, "/hooks?shop=7");
    let event = got.json();
    assert_eq!(event["type"], "payin.success");
    let mut names: Vec<&str> = got.headers.keys().map(String::as_str).collect();
    names.retain(|name| name.starts_with("x-simpaisa-") || name.starts_with("webhook-"));
    let expected = [
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "x-simpaisa-delivery-attempt",
        "x-simpaisa-event-id",
        "x-simpaisa-event-type",
        "x-simpaisa-signature",
        "x-simpaisa-timestamp",
    ];
    assert_eq!(names, expected);
    assert_eq!(got.header("x-simpaisa-event-id"), event["id"]);
    assert_eq!(got.header("x-simpaisa-event-type"), "payin.success");
    assert_eq!(got.header("x-simpaisa-delivery-attempt"), "1");
    assert_eq!(got.header("x-simpaisa-timestamp"), got.header("webhook-timestamp"));
    assert_eq!(got.header("user-agent"), "Simpaisa-Webhooks/1.0");
    assert_eq!(got.header("content-type"), "application/json");
    assert_eq!(got.header("x-token"), "open sesame");
    let mut headers = axum::http::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, got.header(name).parse().unwrap());
    }
    Webhook::new(secret).unwrap().verify(&got.body, &headers).unwrap();
    let known = bursar_connect::webhook::SigningSecret::parse(secret).unwrap();
    let simple = got.header("x-simpaisa-signature");
    assert_eq!(simple, bursar_connect::webhook::sign::simple(&known, &got.body));

    // Secrets are not readable again.
    let shown = admin.get(&format!("/v1/webhook-endpoints/{}", id(&made))).is(200);
    assert_eq!(shown["headers"], json!(["X-Token"]));
    let all =
        format!("{shown}{}{}", admin.get("/v1/audit").is(200), admin.get("/v1/events").is(200));
    assert!(!all.contains("sesame") && !all.contains("whsec_"));
    let book = server.bytes_of_its_books();
    for word in ["sesame", secret.trim_start_matches("whsec_")] {
        assert!(!book.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
    }
}

#[test]
fn attempts_are_made_at_their_times_and_end_among_the_dead_letters() {
    let receiver = Receiver::start(|_, _| (503, Vec::new(), b"not now".to_vec()));
    let server = Server::with(ALLOWED, &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    endpoint(&admin, &receiver.url("/"), &["payin.*"]);
    admin.fund("m1", "100.00");
    until("the first attempt", || (receiver.got().len() == 1).then_some(()));
    for (number, pause) in [(2, 60), (3, 300), (4, 1_800), (5, 7_200), (6, 43_200), (7, 86_400)] {
        advance(&admin, 0);
        let waiting = only(&admin);
        assert_eq!(waiting["status"], "WAITING_RETRY");
        assert_eq!(waiting["attempts"], number - 1);
        advance(&admin, pause - 20);
        assert_eq!(receiver.got().len(), number - 1, "not before its time");
        advance(&admin, 21);
        assert_eq!(receiver.got().len(), number);
    }
    advance(&admin, 259_201);
    let dead = only(&admin);
    assert_eq!((&dead["status"], &dead["reason"]), (&json!("DLQ"), &json!("EXHAUSTED")));
    assert_eq!((&dead["attempts"], &dead["last_error"]), (&json!(8), &json!("it answered 503")));
    assert_eq!(dead["history"][7]["response"], "not now");
    advance(&admin, 1_000_000);
    let got = receiver.got();
    assert_eq!(got.len(), 8, "and never again");
    let attempts: Vec<&str> =
        got.iter().map(|got| got.header("x-bursar-delivery-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    assert!(got.iter().all(|one| one.body == got[0].body && one.event() == got[0].event()));
    let stamps: std::collections::BTreeSet<&str> =
        got.iter().map(|got| got.header("webhook-timestamp")).collect();
    assert_eq!(stamps.len(), 8, "each is signed anew");
    let listed = admin.get("/v1/dead-letters").is(200);
    assert_eq!(id(&listed["data"][0]), id(&dead));
    admin.books_hold();
}

#[test]
fn an_endpoint_that_recovers_at_the_fifth_attempt_gets_no_further_attempts() {
    let receiver = Receiver::start(|_, number| {
        // Bytes that are not valid text: stored as they are.
        if number < 5 {
            (500, Vec::new(), Vec::new())
        } else {
            (204, Vec::new(), b"\0\xff".to_vec())
        }
    });
    let server = Server::with(ALLOWED, &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    endpoint(&admin, &receiver.url("/"), &["*"]);
    admin.fund("m1", "100.00");
    until("the first attempt", || (!receiver.got().is_empty()).then_some(()));
    advance(&admin, 10_000);
    assert_eq!(only(&admin)["status"], "DELIVERED");
    advance(&admin, 1_000_000);
    let delivered = only(&admin);
    assert_eq!((receiver.got().len(), &delivered["attempts"]), (5, &json!(5)));
    assert_eq!(delivered["history"][4]["http_status"], 204);
}

#[test]
fn retry_after_is_respected_and_a_gone_endpoint_is_disabled() {
    let status = Arc::new(AtomicU16::new(429));
    let says = Arc::clone(&status);
    let receiver = Receiver::start(move |_, _| {
        let retry = ("retry-after", "3600".to_owned());
        (
            says.load(Ordering::SeqCst),
            vec![retry, ("location", "http://127.0.0.1:1/".to_owned())],
            Vec::new(),
        )
    });
    let server = Server::with(ALLOWED, &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let made = endpoint(&admin, &receiver.url("/"), &["*"]);
    admin.fund("m1", "100.00");
    until("the first attempt", || (!receiver.got().is_empty()).then_some(()));
    advance(&admin, 3_000);
    assert_eq!(receiver.got().len(), 1, "it asked for an hour");
    status.store(307, Ordering::SeqCst);
    advance(&admin, 601);
    assert_eq!(receiver.got().len(), 2, "a redirect is not followed");
    assert_eq!(only(&admin)["last_error"], "it answered 307");
    status.store(410, Ordering::SeqCst);
    admin.fund("m1", "50.00");
    let path = format!("/v1/webhook-endpoints/{}", id(&made));
    let off = until("it is off", || {
        Some(admin.get(&path).is(200)).filter(|endpoint| endpoint["status"] == "disabled")
    });
    assert_eq!(off["reason"], "it answered 410 Gone");
    until("nothing waits", || {
        let listed = admin.get("/v1/deliveries").is(200);
        let rows = listed["data"].as_array().unwrap();
        rows.iter().all(|row| row["status"] == "CANCELLED").then_some(())
    });
    let events = admin.get("/v1/events?limit=500").is(200);
    let told = events["data"].as_array().unwrap().iter();
    assert_eq!(told.filter(|event| event["type"] == "webhook_endpoint.disabled").count(), 1);
    admin.fund("m1", "25.00");
    admin.post(&format!("{path}/test"), &json!({})).refused(409, "endpoint_off");
    assert_eq!(receiver.got().len(), 3);

    // The operator enables the endpoint and replays.
    status.store(200, Ordering::SeqCst);
    admin.ask("POST", &format!("{path}/enable"), &[], b"").is(200);
    advance(&admin, 100);
    assert_eq!(receiver.got().len(), 3, "nothing is sent again by itself");
    let again = json!({"endpoint_id": id(&made), "include_cancelled": true});
    let done = admin.post("/v1/dead-letters/replay", &again).is(202);
    assert_eq!((&done["replayed"], &done["has_more"]), (&json!(2), &json!(false)));
    until("both arrive", || (receiver.got().len() == 5).then_some(()));
    let audit = admin.get("/v1/audit").is(200).to_string();
    for action in ["webhook_endpoint.add", "webhook_endpoint.enable", "delivery.replay"] {
        assert!(audit.contains(action), "{action}");
    }
}

#[test]
fn a_secret_is_rotated_while_events_go_on() {
    let receiver = Receiver::willing();
    let server = Server::with(ALLOWED, &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let made = endpoint(&admin, &receiver.url("/"), &["*"]);
    let path = format!("/v1/webhook-endpoints/{}", id(&made));
    let rotated =
        admin.post(&format!("{path}/rotate-secret"), &json!({"overlap_s": 3_600})).is(200);
    let secrets = [&made, &rotated].map(|body| body["secret"].as_str().unwrap().to_owned());
    assert_ne!(secrets[0], secrets[1]);
    let verified = |number: usize| {
        admin.post(&format!("{path}/test"), &json!({})).is(202);
        let got = until("it arrives", || receiver.got().into_iter().nth(number));
        let signature = got.header("webhook-signature").to_owned();
        let stamp = got.header("webhook-timestamp").parse().unwrap();
        let known = secrets.clone().map(|secret| {
            let secret = bursar_connect::webhook::SigningSecret::parse(&secret).unwrap();
            let one =
                bursar_connect::webhook::sign::standard(&secret, &got.event(), stamp, &got.body);
            let simple = bursar_connect::webhook::sign::simple(&secret, &got.body);
            let is_simple = simple == got.header("x-bursar-signature");
            (signature.split(' ').any(|part| part == one.as_deref().unwrap()), is_simple)
        });
        (signature.split(' ').count(), known)
    };
    assert_eq!(verified(0), (2, [(true, true), (true, false)]), "both count for an hour");
    advance(&admin, 3_600);
    assert_eq!(verified(1), (1, [(false, false), (true, true)]));
    admin.post(&format!("{path}/rotate-secret"), &json!({"overlap_s": 0})).is(200);
    assert_eq!(verified(2), (1, [(false, false), (false, false)]), "revoked at once");
    admin
        .post(&format!("{path}/rotate-secret"), &json!({"overlap_s": 700_000}))
        .refused(422, "bad_endpoint");
}

#[test]
fn where_nothing_may_be_sent_nothing_is_registered() {
    let config = "[webhooks]\nown_hosts = [\"pay.bursar.example\"]\n";
    let server = Server::with(config, &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    for url in [
        "http://merchant.example/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://user:pass@merchant.example/",
        "https://merchant.example:22/",
        "https://pay.bursar.example/",
        "gopher://merchant.example/",
        "https://merchant.example/#part",
        "nonsense",
    ] {
        let body = json!({"merchant_id": "m1", "url": url});
        admin.post("/v1/webhook-endpoints", &body).refused(422, "refused_url");
    }
    // A name that does not resolve now may resolve later.
    let made = endpoint(&admin, "https://merchant.example/hooks", &["*"]);
    let path = format!("/v1/webhook-endpoints/{}", id(&made));
    let inside = json!({"url": "https://192.168.0.1/"}).to_string();
    admin.ask("PATCH", &path, &[], inside.as_bytes()).refused(422, "refused_url");
    for headers in [json!({"Host": "x"}), json!({"webhook-id": "x"}), json!({"X-A": "b\r\nc: d"})] {
        let body = json!({"headers": headers}).to_string();
        admin.ask("PATCH", &path, &[], body.as_bytes()).refused(422, "bad_header");
    }
    let body = json!({"event_types": ["payout.success"], "concurrency": 4, "rate_limit_per_s": 9});
    let changed = admin.ask("PATCH", &path, &[], body.to_string().as_bytes()).is(200);
    assert_eq!((&changed["concurrency"], &changed["rate_limit_per_s"]), (&json!(4), &json!(9)));
    for body in
        [json!({"event_types": []}), json!({"version": "1999-01-01"}), json!({"concurrency": 0})]
    {
        admin.ask("PATCH", &path, &[], body.to_string().as_bytes()).refused(422, "bad_endpoint");
    }
    let gone = admin.ask("DELETE", &path, &[], b"").is(200);
    assert_eq!(gone["status"], "deleted");
    admin.ask("POST", &format!("{path}/enable"), &[], b"").refused(404, "not_found");
}

#[test]
fn without_the_keys_of_its_secrets_it_does_not_start() {
    let keys = format!("k1:{}", "A".repeat(43));
    let mut server = Server::with_variables("", &[], &[("BURSAR_SECRET_KEYS", &keys)]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    endpoint(&admin, "https://merchant.example/hooks", &["*"]);
    server.kill();
    let said = server.start_in_vain();
    assert!(said.contains("BURSAR_SECRET_KEYS"), "{said}");
    let newer = format!("k2:{}A,{keys}", "B".repeat(42));
    server.start_with(&[("BURSAR_SECRET_KEYS", &newer)]);
    let listed = server.admin().get("/v1/webhook-endpoints").is(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);

    // After re-encryption with the newer key, the older key is not needed.
    server.kill();
    let data = server.data();
    let rotate = ["secret-keys", "rotate", "--data", data.as_str()];
    let said = crate::bursar::bursar_with(&rotate, &[("BURSAR_SECRET_KEYS", &newer)]).ok();
    assert!(said.contains("1 endpoints were sealed anew"), "{said}");
    let newest = newer.split(',').next().unwrap();
    server.start_with(&[("BURSAR_SECRET_KEYS", newest)]);
    let path = format!("/v1/webhook-endpoints/{}/test", id(&listed["data"][0]));
    server.admin().post(&path, &json!({})).is(202);
    let sent = until("it was tried", || {
        let sent = server.admin().get("/v1/deliveries").is(200);
        Some(sent["data"][0].clone())
            .filter(|sent| sent["attempts"] == 1 && !sent["last_error"].is_null())
    });
    assert_eq!(sent["status"], "WAITING_RETRY", "it could be signed: {sent}");
}

#[test]
fn a_server_that_is_killed_among_many_deliveries_loses_none() {
    let is_slow = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&is_slow);
    let receiver = Receiver::start(move |_, _| {
        if slow.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        (200, Vec::new(), Vec::new())
    });
    let config = format!("{ALLOWED}timeout_s = 1\n");
    let mut server = Server::with(&config, &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let made = endpoint(&admin, &receiver.url("/"), &["*"]);
    let concurrency = usize::try_from(made["concurrency"].as_u64().unwrap()).unwrap();
    let mut told = 0;
    let kills = 4;
    for round in 1..=kills {
        let admin = server.admin();
        for _ in 0..150 {
            told += 1;
            admin.fund("m1", &format!("{told}.00"));
        }
        until("many have arrived", || (receiver.got().len() > round * 60).then_some(()));
        server.kill();
        server.start();
    }
    is_slow.store(false, Ordering::SeqCst);
    let admin = server.admin();
    until("all are delivered", || {
        let waiting = ["PENDING", "DELIVERING", "WAITING_RETRY"].map(|status| {
            let listed = admin.get(&format!("/v1/deliveries?status={status}&limit=1")).is(200);
            listed["data"].as_array().unwrap().len()
        });
        (waiting == [0; 3]).then_some(())
    });
    let got = receiver.got();
    let events: std::collections::BTreeSet<String> =
        got.iter().map(crate::receiver::Got::event).collect();
    assert_eq!(events.len(), told, "each has arrived");
    let twice = got.len() - events.len();
    assert!(twice <= kills * concurrency, "{twice} twice: only what was under way");
    admin.books_hold();
}
