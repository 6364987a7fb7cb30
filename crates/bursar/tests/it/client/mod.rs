//! Commands against a real server with a simulated provider.

mod approvals;
mod keys;
mod payins;
mod webhooks;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bursar::{Run, bursar, bursar_with};
use crate::process::Process;
use crate::scratch::Scratch;

const ADMIN: &str = "open-sesame-admin";

struct Server {
    _process: Process,
    url: String,
    _provider: Process,
    _scratch: Scratch,
}

impl Server {
    /// A server with one channel of this profile.
    fn new(profile: &str) -> Self {
        let simulate = ["simulate-channel", "--listen", "127.0.0.1:0", "--profile", profile];
        let provider = Process::start(&simulate, &[]);
        let scratch = Scratch::new();
        let config = format!(
            "[review]\nfour_eyes_above = \"50\"\n[[approvals]]\naction = \"payin.record\"\nquorum = 1\n[[approvals]]\naction = \"payout.create\"\nquorum = 1\n[[approvals]]\naction = \"payin.close_case\"\nquorum = 1\n[webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = []\n[channels.mobile_wallet]\nkind = \"http\"\nurl = \"http://{}\"\ncurrencies = [\"PKR\"]\nsubmit_timeout_s = 0.2\nquery_timeout_s = 0.2\nrequery_schedule_s = [0.1]\n",
            provider.address
        );
        let data = format!("{}/books", scratch.path().display());
        let config = scratch.file("bursar.toml", &config);
        let place = ["--data", &data, "--config", &config];
        let serve = [&["serve", "--init", "--listen", "127.0.0.1:0"], &place[..]].concat();
        let process = Process::start(&serve, &[("BURSAR_ADMIN_KEY", ADMIN), ("BURSAR_LOG", "off")]);
        let url = format!("http://{}", process.address);
        Self { _process: process, url, _provider: provider, _scratch: scratch }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_as(ADMIN, arguments)
    }

    fn run_as(&self, key: &str, arguments: &[&str]) -> Run {
        let run = bursar_with(arguments, &[("BURSAR_URL", &self.url), ("BURSAR_KEY", key)]);
        assert!(!run.stdout.contains(key) && !run.stderr.contains(key), "the key is not echoed");
        run
    }

    fn table(&self, arguments: &[&str]) -> String {
        let table = self.run(arguments).ok();
        assert!(!table.starts_with('{'), "{table}");
        table
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat()).ok()).unwrap()
    }

    /// A funded merchant with a payout.
    fn funded(&self) {
        self.json(&["merchant", "create", "m1", "--name", "Shop"]);
        self.json(&words(PAYIN));
    }

    /// Polls until a payout has this status, with a bound.
    fn wait(&self, id: &str, status: &str) -> Value {
        let mut looks = (0..1_000).map(|_| self.json(&["payout", "get", id]));
        looks.find(|payout| payout["status"] == status).expect("it gets there")
    }
}

const PAYIN: &str =
    "payin record --merchant m1 --provider easypay --reference r-1 --amount 5000.00 --currency PKR";
const PAYOUT: &str = "payout create --merchant m1 --amount 100.00 --currency PKR --channel mobile_wallet --name Ali --msisdn 923001234567";

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn money_comes_in_and_goes_out_from_the_command_line() {
    let server = Server::new("calm");
    assert!(server.table(&["merchant", "create", "m1", "--name", "Shop"]).contains("│ name "));
    assert_eq!(server.json(&["merchant", "create", "m2", "--name", "Other"])["status"], "open");
    let payin = server.json(&words(PAYIN));
    assert_eq!((&payin["amount"], &payin["net"]), (&json!("5000.00"), &json!("4831.80")));
    let again = server.run(&words(PAYIN));
    assert!(again.stderr.contains("done before"), "{}", again.stderr);
    let id = text(&payin["id"]);
    assert!(again.ok().contains(id), "the same reference is the same pay-in");
    assert_eq!(server.json(&["payin", "get", id]), payin);
    assert!(server.table(&["payin", "get", id]).contains("easypay"));
    assert_eq!(server.json(&["payin", "list", "--merchant", "m1"])["data"][0], payin);
    assert!(server.table(&["payin", "list", "--status", "COLLECTED"]).contains("4831.80"));

    let to_ali = ["beneficiary", "add", "--merchant", "m1", "--name", "Ali", "--account", "PK36X7"];
    let ali = server.json(&[&to_ali[..], &["--bank", "HBL"]].concat());
    assert!(server.table(&to_ali).contains("**36X7"), "only its end is shown");
    assert_eq!(server.json(&["beneficiary", "list"])["data"].as_array().unwrap().len(), 2);
    assert!(server.table(&["beneficiary", "list", "--merchant", "m1"]).contains("HBL"));

    let create = ["--amount", "10.00", "--currency", "PKR", "--channel", "mobile_wallet"];
    let to_ali = ["payout", "create", "--merchant", "m1", "--beneficiary", text(&ali["id"])];
    let more = ["--metadata", "invoice=7", "--trace-id", "t-1"];
    let names = ["--external-id", "order-7", "--description", "for June"];
    let payout = server.json(&[&to_ali[..], &create, &more, &names].concat());
    assert_eq!(payout["metadata"], json!({"invoice": "7"}));
    assert_eq!(payout["trace_id"], "t-1");
    let id = text(&payout["id"]);
    server.wait(id, "SUCCESS");
    assert!(server.table(&words(PAYOUT)).contains("mobile_wallet"));
    assert!(server.table(&["payout", "get", id]).contains("SUCCESS"));
    shows_whom_it_pays(&server, id, text(&ali["id"]));
    let paid = server.json(&["payout", "list", "--status", "SUCCESS", "--merchant", "m1"]);
    assert!(paid["data"].as_array().unwrap().iter().any(|found| found["id"] == id));
    assert!(server.table(&["payout", "list"]).contains(id));
    let one = server.run(&["payout", "list", "--limit", "1"]);
    let cursor = one.stderr.trim().strip_prefix("there may be more: --cursor ").unwrap().to_owned();
    assert!(server.table(&["payout", "list", "--cursor", &cursor]).contains(id));
    assert!(server.table(&["payout", "explain", id]).contains("It was paid."));
    assert_eq!(server.json(&["payout", "explain", id])["attempts"][0]["knowledge"], "paid");
    assert!(server.table(&["payout", "timeline", id]).contains("payout.success"));
    assert_eq!(server.json(&["payout", "timeline", id])["data"][0]["sequence"], 1);

    assert_eq!(server.json(&["merchant", "balances", "m1"])["balances"][0]["currency"], "PKR");
    assert!(server.table(&["merchant", "balances", "m1"]).contains("available"));
    assert!(!server.json(&["merchant", "statement", "m1"])["rows"].as_array().unwrap().is_empty());
    let statement = server.table(&["merchant", "statement", "m1", "--until", "2020-01-01T00:00Z"]);
    assert!(statement.contains("Closing balances") && !statement.contains("PAYIN_COLLECTION"));
    assert_eq!(server.json(&["merchant", "list"])["data"].as_array().unwrap().len(), 2);
    assert!(server.table(&["merchant", "list"]).contains("Other"));
    assert_eq!(server.json(&["merchant", "get", "m1"])["name"], "Shop");
    assert!(server.table(&["merchant", "get", "m1"]).contains("Shop"));
    let closed = server.json(&["merchant", "change", "m2", "--status", "closed"]);
    assert_eq!(closed["status"], "closed");
    assert!(server.table(&["merchant", "change", "m2", "--name", "Renamed"]).contains("Renamed"));
}

fn shows_whom_it_pays(server: &Server, id: &str, beneficiary: &str) {
    let theirs = server.json(&["payout", "get", id]);
    let theirs = text(&theirs["provider_reference"]).to_owned();
    let got = server.table(&["payout", "get", id]);
    assert!(got.contains("beneficiary name") && got.contains("metadata invoice"), "{got}");
    let explained = server.table(&["payout", "explain", id]);
    let whom = format!("Beneficiary: A***, ****X7, HBL, {beneficiary}\n");
    let names =
        format!("Provider reference: {theirs}\nExternal id: order-7\nDescription: for June\n");
    assert!(explained.contains(&format!("{whom}{names}")), "{explained}");
    let listed = server.table(&["payout", "list", "--external-id", "order-7"]);
    for shown in [id, "A***", "****X7", "order-7", &theirs] {
        assert!(listed.contains(shown), "{shown}: {listed}");
        assert!(got.contains(shown), "{shown}: {got}");
    }
    assert!(!listed.contains("PK36X7"), "{listed}");
    assert!(!server.table(&["payout", "list", "--external-id", "order-8"]).contains("po_"));
    assert!(server.table(&["find", "order-7"]).contains(id));
}

#[test]
fn what_is_scheduled_is_cancelled_once_under_its_key() {
    let server = Server::new("calm");
    server.funded();
    let later = [&words(PAYOUT)[..], &["--scheduled-at", "2100-01-01T00:00:00Z"]].concat();
    let once = [&later[..], &["--idempotency-key", "k-1"]].concat();
    let made = server.json(&once);
    let again = server.run(&[&once[..], &["--json"]].concat());
    assert!(again.stderr.contains("idempotency key: k-1"), "{}", again.stderr);
    assert!(again.stderr.contains("done before"), "{}", again.stderr);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), made);
    let fresh = server.run(&later);
    assert!(fresh.stderr.contains("idempotency key: cli-"), "{}", fresh.stderr);
    let id = text(&made["id"]);
    assert!(!fresh.ok().contains(id), "a fresh key is another payout");
    let other = [&once[..], &["--trace-id", "other"]].concat();
    assert!(server.run(&other).refused().contains("idempotency_mismatch, 409"));

    let stale = server.run(&["payout", "cancel", id, "--expected-version", "9"]);
    assert_eq!(stale.code, 1);
    assert!(stale.refused().contains("stale_version, 409"));
    assert_eq!(server.json(&["payout", "cancel", id])["status"], "CANCELLED");
    let other = server.json(&later);
    assert!(server.table(&["payout", "cancel", text(&other["id"])]).contains("CANCELLED"));
    assert_eq!(
        server.json(&["payout", "list", "--until", "2020-01-01T00:00:00Z"])["data"],
        json!([])
    );
}

#[test]
fn two_people_decide_what_is_stuck() {
    let server = Server::new("silent");
    server.funded();
    let key = |name: &str, role: &str| {
        let issue = ["key", "issue", "--name", name, "--role", role];
        text(&server.json(&issue)["key"]).to_owned()
    };
    let (maker, checker) = (key("maker", "operator"), key("checker", "approver"));
    let id = text(&server.json(&words(PAYOUT))["id"]).to_owned();
    let stuck = server.wait(&id, "STUCK");
    let reviews = server.table(&["review"]);
    assert!(reviews.contains("beneficiary") && reviews.contains("****4567"), "{reviews}");
    let version = stuck["version"].to_string();
    let resolve = [
        "payout",
        "resolve",
        &id,
        "--decision",
        "confirm_not_paid",
        "--evidence",
        "not on the provider's statement",
        "--expected-version",
        &version,
    ];
    let first = server.run_as(&maker, &resolve).ok();
    assert!(first.contains("a second person must decide the same"), "{first}");
    assert!(server.run_as(&maker, &resolve).refused().contains("second_person_needed, 409"));
    let second = server.run_as(&checker, &[&resolve[..], &["--json"]].concat()).ok();
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!((&second["status"], &second["final"]), (&json!("FAILED"), &json!(true)));
    let audit = server.table(&["audit"]);
    assert!(audit.contains("payout.confirm_not_paid") && audit.contains("maker/"), "{audit}");
    assert_eq!(server.json(&["audit", "--limit", "1"])["data"][0]["resource"], id);

    assert!(server.table(&["dispatch", "status"]).contains("nothing is frozen"));
    let scope = ["--scope", "channel", "--id", "mobile_wallet"];
    let freeze = [&["dispatch", "freeze"][..], &scope, &["--reason", "it is silent"]].concat();
    assert_eq!(server.json(&freeze)["status"], "FROZEN");
    let all = ["dispatch", "freeze", "--scope", "global", "--reason", "drill"];
    assert!(server.table(&all).contains("FROZEN"));
    assert!(server.table(&["dispatch", "status"]).contains("it is silent"));
    assert_eq!(server.json(&["dispatch", "status"])["data"].as_array().unwrap().len(), 2);
    let unfreeze = [&["dispatch", "unfreeze"][..], &scope, &["--json"]].concat();
    assert!(server.run_as(&maker, &unfreeze).ok().contains("UNFREEZE_PROPOSED"));
    assert!(server.run_as(&checker, &unfreeze).ok().contains("OPEN"));
}

#[test]
fn following_the_feed_misses_no_event() {
    let server = Server::new("calm");
    server.funded();
    let page = server.json(&["events", "--limit", "1"]);
    assert_eq!(page["data"][0]["type"], "payin.success");
    assert!(server.table(&["events"]).contains("payin.success"));
    let cursor = text(&page["next_cursor"]);
    assert_eq!(server.json(&["events", "--after", cursor])["data"], json!([]));
    for format in [&[][..], &["--json"]] {
        let mut following = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["events", "--follow", "--after", cursor])
            .args(format)
            .envs([("BURSAR_URL", server.url.as_str()), ("BURSAR_KEY", ADMIN)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let id = text(&server.json(&words(PAYOUT))["id"]).to_owned();
        let lines = BufReader::new(following.stdout.take().unwrap()).lines().map(Result::unwrap);
        let told: Vec<String> = lines.filter(|line| line.contains(&id)).take(3).collect();
        let kinds = ["payout.ready", "payout.submitting", "payout.success"];
        for (line, kind) in told.iter().zip(kinds) {
            assert!(line.contains(kind), "{line}");
        }
        following.kill().unwrap();
        following.wait().unwrap();
    }
}

#[test]
fn a_server_that_says_no_is_quoted_with_its_code() {
    let server = Server::new("calm");
    server.funded();
    let much = PAYOUT.replace("100.00", "9000000.00");
    for (arguments, words) in [
        (words(&much), "missing_funds, 422"),
        (vec!["payout", "get", "po_nope"], "not_found, 404"),
        (vec!["payout", "get", "../merchants"], "not_found, 404"),
        (vec!["merchant", "get", "absent"], "not_found, 404"),
        (vec!["payin", "get", "pi_nope"], "not_found, 404"),
        (vec!["payout", "list", "--limit", "501"], "bad_request, 400"),
        (vec!["events", "--after", "nowhere"], "bad_request, 400"),
        (vec!["events", "--follow", "--after", "nowhere"], "bad_request, 400"),
    ] {
        let run = server.run(&arguments);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
    let refused = server.run_as("some-other-key", &["audit"]).refused();
    assert!(refused.contains("(unauthenticated, 401)"), "{refused}");
    let keyless = bursar(&["audit", "--url", &server.url]).refused();
    assert!(keyless.contains("(unauthenticated, 401)"), "{keyless}");
}

#[test]
fn an_unreachable_server_is_reported_and_nothing_is_sent() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    let refused = bursar(&["payout", "list", "--url", &url, "--key", "s3same"]).refused();
    assert!(refused.contains("Nothing was sent") && !refused.contains("s3same"), "{refused}");
    for url in ["nowhere", "http://user:s3same@127.0.0.1:1", "ftp://127.0.0.1"] {
        let refused = bursar(&["payout", "list", "--url", url]).refused();
        assert!(refused.contains("is not a URL") && !refused.contains("s3same"), "{refused}");
    }
}

/// Reads one request and answers it with this, or with nothing. Returns its idempotency key.
fn converse(mut stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.trim().split_once(": ").unwrap_or_default();
        match name {
            "idempotency-key" => value.clone_into(&mut key),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    stream.write_all(answer.as_bytes()).unwrap();
    key
}

/// A server that gives these answers in order, and records idempotency keys.
fn answering(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = move || {
        // Answers first: a server without answers left must not accept another connection.
        let streams = answers.iter().zip(listener.incoming());
        streams.map(|(answer, stream)| converse(stream.unwrap(), answer)).collect()
    };
    (url, std::thread::spawn(answer))
}

fn response(status: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

#[test]
fn a_payout_is_asked_for_again_under_the_same_key() {
    let busy = json!({"code": "too_many_requests", "detail": "slowly"});
    let (url, server) = answering(vec![
        String::new(),
        response("429 Too Many Requests", &busy),
        response("503 Service Unavailable", &json!({})),
        response("201 Created", &json!({"id": "po_1"})),
    ]);
    let run = bursar(&[&words(PAYOUT)[..], &["--url", &url, "--json"]].concat());
    let keys = server.join().unwrap();
    assert!(keys[0].starts_with("cli-") && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert!(run.stderr.contains(&keys[0]), "{}", run.stderr);
    assert_eq!(run.ok(), "{\"id\":\"po_1\"}\n");
}

#[test]
fn a_lost_answer_says_which_key_is_safe_to_repeat() {
    let (url, server) = answering(vec![String::new(); 6]);
    let run = bursar(&[&words(PAYOUT)[..], &["--url", &url, "--idempotency-key", "k-9"]].concat());
    assert_eq!(server.join().unwrap(), ["k-9"; 6]);
    assert_eq!(run.code, 1);
    let words = "The same key is safe to repeat: run the same command with --idempotency-key k-9";
    assert!(run.refused().contains(words));
    let (url, server) = answering(vec![String::new()]);
    let refused = bursar(&["merchant", "create", "m", "--name", "M", "--url", &url]).refused();
    server.join().unwrap();
    assert!(refused.contains("look before you ask again"), "without a key it is asked once");
}
