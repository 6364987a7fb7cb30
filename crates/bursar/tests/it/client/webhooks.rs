//! `bursar webhook` against a real server and a real receiver.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::{PAYIN, Server, answering, response, text, words};
use crate::bursar::{bursar, bursar_with};
use crate::scratch::Scratch;

/// A received request: headers by name, and the body.
type Received = (BTreeMap<String, String>, Vec<u8>);

fn read(stream: &TcpStream) -> Received {
    let mut reader = BufReader::new(stream);
    let mut headers = BTreeMap::new();
    for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap_or_default();
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (headers, body)
}

/// A receiver that accepts everything and records requests.
fn receiver() -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let got = read(&stream);
            let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 6\r\n\r\nthanks";
            stream.write_all(answer.as_bytes()).unwrap();
            if tell.send(got).is_err() {
                return;
            }
        }
    });
    (url, told)
}

impl Server {
    /// Polls until a delivery has this status, with a bound.
    fn wait_delivery(&self, id: &str, status: &str) -> Value {
        let mut looks = (0..1_000).map(|_| self.json(&["webhook", "delivery", id]));
        looks.find(|delivery| delivery["status"] == status).expect("it gets there")
    }
}

#[test]
fn a_delivery_arrives_and_its_signature_verifies() {
    let server = Server::new("calm");
    let (url, told) = receiver();
    server.json(&["merchant", "create", "m1", "--name", "Shop"]);
    let add = ["webhook", "endpoints", "add", &url, "--merchant", "m1"];
    let more = ["--events", "payin.*,payout.success", "--header", "X-Token=t0ken"];
    let endpoint = server.json(&[&add[..], &more].concat());
    let (id, secret) = (text(&endpoint["id"]), text(&endpoint["secret"]));
    assert_eq!(endpoint["event_types"], json!(["payin.*", "payout.success"]));
    for look in [
        &["webhook", "endpoints", "list", "--merchant", "m1"][..],
        &["webhook", "endpoints", "get", id],
    ] {
        let table = server.table(look);
        assert!(table.contains(id) && table.contains(&url), "{table}");
        assert!(!table.contains("t0ken") && !table.contains(secret), "{table}");
    }

    server.json(&words(PAYIN));
    let (headers, body) = told.recv().unwrap();
    assert_eq!(headers["x-token"], "t0ken");
    let of_event = ["webhook", "deliveries", "--event", &headers["webhook-id"]];
    let delivery = text(&server.json(&of_event)["data"][0]["id"]).to_owned();
    let delivered = server.wait_delivery(&delivery, "DELIVERED");
    assert_eq!(text(&delivered["payload"]).as_bytes(), body);
    let table = server.table(&["webhook", "delivery", &delivery]);
    assert!(table.contains("Attempts") && table.contains("thanks"), "{table}");
    let filters = ["--endpoint", id, "--merchant", "m1", "--status", "DELIVERED"];
    assert!(server.table(&[&["webhook", "deliveries"][..], &filters].concat()).contains(&delivery));
    assert!(server.table(&["webhook", "dead-letters"]).contains("there are no dead letters"));

    let scratch = Scratch::new();
    let file = scratch.file("body.json", std::str::from_utf8(&body).unwrap());
    let standard =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| &headers[name]);
    let verify = ["webhook", "verify", "--body", &file];
    let simple = ["--simple-signature", &headers["x-bursar-signature"]];
    let signed = ["--id", standard[0], "--timestamp", standard[1], "--signature", standard[2]];
    let variables = [("BURSAR_WEBHOOK_SECRET", secret)];
    let verified = bursar_with(&[&verify[..], &signed, &simple].concat(), &variables).ok();
    assert_eq!(verified, "verified\n");
    assert!(
        bursar_with(&[&verify[..], &simple].concat(), &variables)
            .ok()
            .contains("may be an old one")
    );
}

#[test]
fn dead_letters_are_replayed() {
    let server = Server::new("calm");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (url, told) = receiver();
    server.json(&["merchant", "create", "m1", "--name", "Shop"]);
    let away = format!("http://{closed}/");
    let endpoint = server.json(&["webhook", "endpoints", "add", &away, "--merchant", "m1"]);
    let id = text(&endpoint["id"]);
    let of = |verb: &'static str| ["webhook", "endpoints", verb, id];
    let tests = [server.json(&of("test")), server.json(&of("test"))];
    let [first, second] = tests.each_ref().map(|test| text(&test["id"]));
    for delivery in [first, second] {
        server.wait_delivery(delivery, "DLQ");
    }
    let dead = server.table(&["webhook", "dead-letters", "--endpoint", id]);
    assert!(dead.contains(first) && dead.contains("EXHAUSTED"), "{dead}");

    let changed = server.json(&[&of("change")[..], &["--to", &url, "--no-headers"]].concat());
    assert_eq!(changed["url"], json!(url));
    let none = server.json(&["webhook", "replay", "--dead", "--since", "2100-01-01T00:00:00Z"]);
    assert_eq!(none, json!({"replayed": 0, "passed_over": 0}));
    let replay = ["webhook", "replay", "--dead", "--endpoint", id, "--merchant", "m1"];
    assert_eq!(server.run(&replay).ok(), "2 are sent again\n");
    for delivery in [first, second] {
        server.wait_delivery(delivery, "DELIVERED");
    }
    assert!(server.table(&["webhook", "replay", first]).contains(first), "also what was taken");
    assert_eq!(told.iter().take(3).count(), 3);
    let some = server.run(&["webhook", "replay", "dlv_nope", second, "--json"]);
    assert!(some.stdout.contains(second) && some.stderr.contains("not_found"), "{}", some.stderr);
    assert!(some.refused().contains("1 of 2 were not sent again"));
}

#[test]
fn an_endpoint_is_switched_rotated_and_deleted() {
    let server = Server::new("calm");
    let (url, _told) = receiver();
    server.json(&["merchant", "create", "m1", "--name", "Shop"]);
    let endpoint = server.json(&["webhook", "endpoints", "add", &url, "--merchant", "m1"]);
    let id = text(&endpoint["id"]);
    let of = |verb: &'static str| ["webhook", "endpoints", verb, id];
    let rotate = [&of("rotate-secret")[..], &["--overlap", "60"]].concat();
    let rotated = server.json(&rotate);
    assert_ne!(rotated["secret"], endpoint["secret"]);
    assert!(server.table(&of("rotate-secret")).contains("it is not shown again"));
    let off = server.json(&[&of("disable")[..], &["--reason", "moving"]].concat());
    assert_eq!((&off["status"], &off["reason"]), (&json!("disabled"), &json!("moving")));
    let refused = server.run(&of("test")).refused();
    assert!(refused.contains("409"), "{refused}");
    assert_eq!(server.json(&of("enable"))["status"], "enabled");
    let limited = server.json(&[&of("change")[..], &["--rate-limit", "5"]].concat());
    assert_eq!(limited["rate_limit_per_s"], 5);
    assert_eq!(server.run(&of("change")).code, 2, "nothing to change");
    assert_eq!(server.json(&of("delete"))["status"], "deleted");
    let elsewhere = ["webhook", "endpoints", "add", "http://10.0.0.1/", "--merchant", "m1"];
    assert!(server.run(&elsewhere).refused().contains("refused_url, 422"));
    let unknown = server.run(&["webhook", "delivery", "dlv_nope"]).refused();
    assert!(unknown.contains("not_found, 404"), "{unknown}");
}

fn round(replayed: u32, next: Option<&str>) -> String {
    let round = json!({"replayed": replayed, "passed_over": 2, "next_cursor": next});
    response("202 Accepted", &round)
}

/// Also over a full page of skipped deliveries.
#[test]
fn a_replay_goes_on_until_there_is_no_more() {
    let rounds = [round(500, Some("a")), round(0, Some("b")), round(3, None)];
    let (url, server) = answering(rounds.to_vec());
    let run = bursar(&["webhook", "replay", "--dead", "--url", &url]);
    server.join().unwrap();
    assert_eq!(
        run.ok(),
        "503 are sent again\n6 were passed over, because their endpoint is off: enable it, then replay\n"
    );
}
