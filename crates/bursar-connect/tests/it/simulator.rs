//! The simulator as it is met: in this process and over a socket, by the real connector.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bursar_connect::simulator::{Options, Profile, ServeOptions, Telling, serve};
use bursar_connect::{
    Connection, Connections, HttpSettings, Secret, SimChannel, SimSettings, callback,
};
use bursar_core::payouts::Outcome;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::effects::{class, http, later, only, query, submit, word};

/// Signatures and bodies.
type Heard = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

struct Running {
    address: String,
    stop: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn new(profile: Profile, telling: Option<Telling>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let options = Options { seed: 42, profile, is_idempotent: false };
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let shutdown = async move { stopped.notified().await };
            serve(listener, ServeOptions { options, telling }, shutdown).await;
        });
        Self { address, stop, task }
    }

    /// A plain request: the status, and the body.
    async fn ask(&self, request: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    async fn set_profile(&self, profile: &str) -> (u16, String) {
        self.ask("POST /_profile", &json!({ "profile": profile }).to_string()).await
    }

    async fn books(&self) -> BTreeMap<String, Value> {
        let (status, body) = self.ask("GET /_books", "").await;
        assert_eq!(status, 200);
        let books: Value = serde_json::from_str(&body).unwrap();
        index(&books)
    }
}

fn index(books: &Value) -> BTreeMap<String, Value> {
    let payments = books["payments"].as_array().unwrap();
    let named = |entry: &Value| (entry["reference"].as_str().unwrap().to_owned(), entry.clone());
    payments.iter().map(named).collect()
}

fn references(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("ref-{number}")).collect()
}

async fn submit_all(connections: &Connections, count: usize) -> BTreeMap<String, Outcome> {
    let hands = Arc::new(Semaphore::new(64));
    let mut calls = JoinSet::new();
    for reference in references(count) {
        let (connections, hands) = (connections.clone(), Arc::clone(&hands));
        calls.spawn(async move {
            let hand = hands.acquire().await.unwrap();
            let outcome = submit(&connections, &reference, later()).await;
            drop(hand);
            (reference, outcome)
        });
    }
    calls.join_all().await.into_iter().collect()
}

/// Whatever was concluded is what the books say.
fn hold(outcomes: &BTreeMap<String, Outcome>, books: &BTreeMap<String, Value>) {
    for (reference, outcome) in outcomes {
        let state = books.get(reference).map(|entry| entry["state"].as_str().unwrap());
        let fits = match class(outcome) {
            "paid" => state == Some("paid"),
            "rejected" | "rejected for now" => state == Some("not_paid"),
            "accepted" | "duplicate" => state.is_some(),
            "not sent" => state.is_none(),
            found => found == "unknown",
        };
        assert!(fits, "{reference}: {outcome:?}, but the books say {state:?}");
        let submissions = books.get(reference).map(|entry| entry["submissions"].as_u64().unwrap());
        assert!(submissions.is_none_or(|count| count == 1), "{reference} was sent twice");
    }
}

/// Once it is calm, every question is answered with what the books say.
async fn ask_all(connections: &Connections, books: &BTreeMap<String, Value>, count: usize) {
    for reference in references(count) {
        let expected = match books.get(&reference).map(|entry| entry["state"].as_str().unwrap()) {
            Some("paid") => "paid",
            Some("not_paid") => "not paid",
            Some(_) => panic!("{reference} is still pending"),
            None => "not found",
        };
        let answer = query(connections, &reference, later()).await;
        assert!(word(&answer).starts_with(expected), "{reference}: {answer:?}, not {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hostile_channel_in_this_process_is_never_believed_too_much() {
    let channel = SimChannel::new(SimSettings::new(Profile::Hostile, 42));
    let connections = only(Connection::Sim(channel));
    let outcomes = submit_all(&connections, 1_000).await;
    let Some(Connection::Sim(channel)) = connections.get("wallet") else { panic!("it is there") };
    let books = || index(&serde_json::to_value(channel.books()).unwrap());
    hold(&outcomes, &books());
    let classes: std::collections::BTreeSet<&str> = outcomes.values().map(class).collect();
    let all = ["accepted", "duplicate", "paid", "rejected", "rejected for now", "unknown"];
    assert!(classes.iter().copied().eq(all), "{classes:?}");

    channel.set_profile(Profile::Calm);
    tokio::time::advance(Duration::from_secs(5)).await;
    ask_all(&connections, &books(), 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_submitted_in_this_process_after_the_lease() {
    let connections = only(Connection::Sim(SimChannel::new(SimSettings::new(Profile::Calm, 1))));
    let now = tokio::time::Instant::now();
    assert_eq!(class(&submit(&connections, "a", now).await), "not sent");
    assert_eq!(word(&query(&connections, "a", now).await), "failed");
    assert_eq!(word(&query(&connections, "a", later()).await), "not found");
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
}

#[tokio::test]
async fn a_hostile_channel_over_a_socket_is_never_believed_too_much() {
    const COUNT: usize = 400;
    let server = Running::new(Profile::Hostile, None).await;
    let settings = HttpSettings {
        submit_timeout: Duration::from_millis(500),
        ..HttpSettings::new(format!("http://{}", server.address))
    };
    let connections = http(settings);
    let outcomes = submit_all(&connections, COUNT).await;
    assert_eq!(server.set_profile("calm").await.0, 200);
    let mut books = server.books().await;
    hold(&outcomes, &books);
    // Each look is a conversation over a socket; the provider needs two seconds at most.
    for _ in 0..100_000 {
        if books.values().all(|entry| entry["state"] != "pending") {
            break;
        }
        books = server.books().await;
    }
    ask_all(&connections, &books, COUNT).await;
    assert!(!books.is_empty(), "some were processed");
}

#[tokio::test]
async fn books_and_profile_answer_even_when_it_is_silent() {
    let server = Running::new(Profile::Silent, None).await;
    let url = format!("http://{}", server.address);
    let impatient = HttpSettings {
        submit_timeout: Duration::from_millis(50),
        query_timeout: Duration::from_millis(50),
        ..HttpSettings::new(&url)
    };
    let connections = http(impatient);
    assert!(["unknown", "not sent"].contains(&class(&submit(&connections, "a", later()).await)));
    assert_eq!(word(&query(&connections, "a", later()).await), "failed");
    assert!(server.books().await.is_empty());

    for body in ["{\"profile\":\"evil\"}", "{}", "calm"] {
        let (status, text) = server.ask("POST /_profile", body).await;
        assert_eq!(status, 400);
        assert!(text.contains("Nothing was changed"), "{text}");
    }
    let connections = http(HttpSettings::new(&url));
    assert_eq!(server.set_profile("calm").await.0, 200);
    assert_eq!(word(&query(&connections, "a", later()).await), "not found");
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
    let expected = json!({
        "reference": "a",
        "amount": "1500.00",
        "currency": "PKR",
        "state": "paid",
        "submissions": 1,
        "times_paid": 1,
    });
    assert_eq!(server.books().await["a"], expected);
}

#[tokio::test]
async fn a_submission_that_cannot_be_read_is_refused_and_not_processed() {
    let server = Running::new(Profile::Calm, None).await;
    for body in ["", "{}", r#"{"amount":1,"currency":"PKR"}"#] {
        let (status, text) = server.ask("POST /transactions", body).await;
        assert_eq!((status, text.as_str()), (400, r#"{"errorCode":"FormatError"}"#));
    }
    assert_eq!(server.ask("GET /nowhere", "").await.0, 404);
    assert!(server.books().await.is_empty());
}

#[tokio::test]
async fn it_stops_when_it_is_told_to_and_hangs_up() {
    let server = Running::new(Profile::Silent, None).await;
    let connections = http(HttpSettings::new(format!("http://{}", server.address)));
    let waiting = tokio::spawn(async move { submit(&connections, "a", later()).await });
    // A client is being ignored when it stops.
    while server.ask("GET /_books", "").await.0 != 200 {}
    server.stop.notify_one();
    server.task.await.unwrap();
    assert!(["unknown", "not sent"].contains(&class(&waiting.await.unwrap())));
}

/// A listener for callbacks: the first one is met with an error, as by a server that is just starting.
async fn listen(heard: Heard) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/providers/sim/callbacks", listener.local_addr().unwrap());
    let router = axum::Router::new().route(
        "/v1/providers/sim/callbacks",
        axum::routing::post(
            async move |headers: axum::http::HeaderMap, body: axum::body::Bytes| {
                let mut heard = heard.lock().unwrap();
                let signature = headers["x-signature"].to_str().unwrap().to_owned();
                heard.push((signature, body.to_vec()));
                if heard.len() == 1 {
                    axum::http::StatusCode::SERVICE_UNAVAILABLE
                } else {
                    axum::http::StatusCode::OK
                }
            },
        ),
    );
    tokio::spawn(serve_plainly(listener, router));
    url
}

async fn serve_plainly(listener: TcpListener, router: axum::Router) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let service = hyper_util::service::TowerToHyperService::new(router.clone());
        let io = hyper_util::rt::TokioIo::new(socket);
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, service));
    }
}

#[tokio::test]
async fn callbacks_are_signed_and_sent_again_if_they_were_not_heard() {
    let heard = Heard::default();
    let url = listen(Arc::clone(&heard)).await;
    let secret = Secret::new("open sesame");
    let telling = Telling::new(&url, secret.clone()).unwrap();
    let server = Running::new(Profile::Calm, Some(telling)).await;
    let connections = http(HttpSettings::new(format!("http://{}", server.address)));
    let outcomes = submit_all(&connections, 20).await;
    assert!(outcomes.values().all(|outcome| class(outcome) == "paid"));
    // One of the twenty has to be told twice.
    for _ in 0..100_000 {
        if heard.lock().unwrap().len() >= 21 {
            break;
        }
        server.books().await;
    }
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 21);
    for (signature, body) in heard.iter() {
        assert!(callback::verify(&secret, signature, body));
        let callback = callback::parse(body).unwrap();
        assert!(outcomes.contains_key(&callback.reference));
        assert_eq!(callback.evidence.verdict, bursar_core::payouts::attempt::Verdict::Paid);
    }
}
