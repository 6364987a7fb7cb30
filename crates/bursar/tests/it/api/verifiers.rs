//! The verifiers of `docs/webhooks.md`, run against real requests of a server.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::actions::id;
use super::server::Server;
use crate::caller::until;
use crate::receiver::{Got, Receiver};
use crate::scratch::Scratch;

const DOCUMENT: &str = include_str!("../../../../../docs/webhooks.md");

/// Runs each case through `verify`, and the first one twice through `receive`.
const IN_PYTHON: &str = r#"
import json, sys
cases = json.load(sys.stdin)
for case in cases:
    try:
        print(verify(case["headers"], bytes.fromhex(case["body"]), case["secrets"], case["now"]))
    except ValueError as error:
        print(error)
seen = set()
for _ in range(2):
    receive(cases[0]["headers"], bytes.fromhex(cases[0]["body"]), cases[0]["secrets"], seen)
print(len(seen))
"#;

const IN_JAVASCRIPT: &str = r#"
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const body = (from) => Buffer.from(from.body, "hex");
for (const one of cases) {
  try {
    console.log(verify(one.headers, body(one), one.secrets, one.now));
  } catch (error) {
    console.log(error.message);
  }
}
const seen = new Set();
for (let time = 0; time < 2; time++) receive(cases[0].headers, body(cases[0]), cases[0].secrets, seen);
console.log(seen.size);
"#;

/// The only block of the document in this language.
pub(super) fn block(language: &str) -> &'static str {
    let blocks: Vec<&str> = DOCUMENT.split(&format!("```{language}\n")).skip(1).collect();
    let [block] = blocks[..] else { panic!("{} blocks of {language}", blocks.len()) };
    block.split_once("\n```").unwrap().0
}

/// The output of a program for these cases, line by line.
fn said(program: &str, script: &str, cases: &[Value]) -> Vec<String> {
    let mut child = Command::new(program)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("no {program}: run ./test, which installs it. {error}"));
    let mut input = child.stdin.take().unwrap();
    input.write_all(json!(cases).to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} failed");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A real request, sent during a rotation, with both secrets, the newer one first.
fn sent() -> (Got, [String; 2]) {
    let receiver = Receiver::willing();
    let server = Server::with("[webhooks]\nallow_hosts = [\"127.0.0.1\"]\n", &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let body = json!({"merchant_id": "m1", "url": receiver.url("/")});
    let made = admin.post("/v1/webhook-endpoints", &body).is(201);
    let path = format!("/v1/webhook-endpoints/{}", id(&made));
    let rotated = admin.post(&format!("{path}/rotate-secret"), &json!({})).is(200);
    admin.post(&format!("{path}/test"), &json!({})).is(202);
    let got = until("it arrives", || receiver.got().into_iter().next());
    let secret = |made: &Value| made["secret"].as_str().unwrap().to_owned();
    (got, [secret(&rotated), secret(&made)])
}

const BAD: &str = "no signature fits";
const LATE: &str = "too old, or from the future";

/// A request, and the expected result of its verification.
struct Cases {
    got: Got,
    at: i64,
    secrets: Vec<String>,
    all: Vec<(Value, String)>,
}

impl Cases {
    fn add(&mut self, headers: &BTreeMap<String, String>, body: &[u8], now: i64, expected: &str) {
        let body = bursar_core::registry::hexadecimal(body);
        let case = json!({"headers": headers, "body": body, "secrets": self.secrets, "now": now});
        self.all.push((case, expected.to_owned()));
    }

    fn with_secrets(&mut self, secrets: &[&str], expected: &str) {
        let known = std::mem::replace(
            &mut self.secrets,
            secrets.iter().map(|secret| (*secret).to_owned()).collect(),
        );
        self.at_time(0, expected);
        self.secrets = known;
    }

    fn at_time(&mut self, after: i64, expected: &str) {
        let (headers, body) = (self.got.headers.clone(), self.got.body.clone());
        self.add(&headers, &body, self.at + after, expected);
    }

    /// With another value of a header, or without it.
    fn with_header(&mut self, name: &str, value: Option<&str>, expected: &str) {
        let (mut headers, body) = (self.got.headers.clone(), self.got.body.clone());
        headers.remove(name);
        headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self.add(&headers, &body, self.at, expected);
    }
}

fn cases() -> (Vec<Value>, Vec<String>) {
    let (got, [newer, older]) = sent();
    let (good, at) = (got.event(), got.header("webhook-timestamp").parse().unwrap());
    let signatures = got.header("webhook-signature").to_owned();
    let secrets = vec![newer.clone(), older.clone()];
    let mut cases = Cases { got, at, secrets, all: Vec::new() };
    cases.at_time(0, &good);
    let stranger = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for known in [&[newer.as_str()][..], &[&older], &[stranger, &newer]] {
        cases.with_secrets(known, &good);
    }
    cases.with_secrets(&[stranger], BAD);
    cases.with_secrets(&[], BAD);
    for after in [299, -299] {
        cases.at_time(after, &good);
    }
    for after in [301, -301, 86_400] {
        cases.at_time(after, LATE);
    }
    let (headers, mut body) = (cases.got.headers.clone(), cases.got.body.clone());
    body[0] ^= 1;
    cases.add(&headers, &body, at, BAD);
    cases.add(&headers, &[], at, BAD);
    cases.with_header("webhook-id", Some("evt_00000000000000000000000000000000"), BAD);
    cases.with_header("webhook-id", None, BAD);
    cases.with_header("webhook-timestamp", Some(&(at + 1).to_string()), BAD);
    for time in [Some(""), Some("soon"), Some("-5"), Some("1e9"), Some("\u{661}\u{662}"), None] {
        cases.with_header("webhook-timestamp", time, LATE);
    }
    let only = signatures.split(' ').next().unwrap();
    let (_, mac) = only.split_once(',').unwrap();
    cases.with_header("webhook-signature", Some(&format!("v2,x v1,é v1, {only}")), &good);
    for claim in [mac, &format!("v2,{mac}"), "v1,", "", "v1", &signatures[..20]] {
        cases.with_header("webhook-signature", Some(claim), BAD);
    }
    cases.with_header("webhook-signature", None, BAD);
    cases.all.push((cases.all[0].0.clone(), good));
    let (cases, mut expected): (Vec<_>, Vec<_>) = cases.all.into_iter().unzip();
    expected.push("1".to_owned());
    (cases, expected)
}

#[test]
fn the_documented_verifiers_take_what_is_sent_and_nothing_else() {
    let (cases, expected) = cases();
    let scratch = Scratch::new();
    let python = scratch.file("verify.py", &[block("python"), IN_PYTHON].join("\n"));
    let javascript = scratch.file("verify.cjs", &[block("javascript"), IN_JAVASCRIPT].join("\n"));
    for (program, script) in [("python3", python), ("node", javascript)] {
        let found = said(program, &script, &cases);
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{program}, case {number}: {:?}", cases.get(number));
        }
    }
}
