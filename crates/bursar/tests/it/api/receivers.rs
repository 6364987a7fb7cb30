//! The receivers of `examples/`: they accept each signed webhook once, and nothing else.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::actions::id;
use super::server::Server;
use super::verifiers::block;
use crate::caller::{Caller, until};
use crate::process::free_port;
use crate::scratch::Scratch;

const STRANGER: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// A receiver process, killed on drop.
struct Running {
    child: Child,
    log: PathBuf,
    caller: Caller,
    _scratch: Scratch,
}

impl Running {
    fn start(program: &str, name: &str, port: u16, secrets: &str) -> Self {
        let scratch = Scratch::new();
        let log = scratch.path().join("log");
        let child = Command::new(program)
            .arg(example(name))
            .arg(port.to_string())
            .env("BURSAR_WEBHOOK_SECRET", secrets)
            .stdout(File::create(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("no {program}: run ./test, which installs it. {error}"));
        let caller = Caller::new(&format!("127.0.0.1:{port}"), None);
        let running = Self { child, log, caller, _scratch: scratch };
        until("it listens", || {
            running.printed().contains("receiving on http://127.0.0.1:").then_some(())
        });
        running
    }

    fn printed(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until a delivery succeeds after this many attempts.
fn delivered(admin: &Caller, delivery: &str, attempts: usize) -> Value {
    until("it is delivered", || {
        let found = admin.get(&format!("/v1/deliveries/{delivery}")).is(200);
        let made = found["history"].as_array().unwrap().len();
        (found["status"] == "DELIVERED" && made == attempts).then_some(found)
    })
}

fn takes_what_is_signed_once_and_nothing_else(program: &str, name: &str) {
    let server = Server::with("[webhooks]\nallow_hosts = [\"127.0.0.1\"]\n", &[]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let port = free_port();
    let body = json!({"merchant_id": "m1", "url": format!("http://127.0.0.1:{port}/")});
    let made = admin.post("/v1/webhook-endpoints", &body).is(201);
    let secrets = format!("{STRANGER} {}", made["secret"].as_str().unwrap());
    let receiver = Running::start(program, name, port, &secrets);
    let ready = receiver.caller.get("/");
    assert_eq!((ready.status, ready.text.as_str()), (200, "ready\n"));

    let sent = admin.post(&format!("/v1/webhook-endpoints/{}/test", id(&made)), &json!({})).is(202);
    let delivery = id(&sent);
    let event = delivered(&admin, delivery, 1)["event_id"].as_str().unwrap().to_owned();
    let line = |printed: &str| {
        let lines = printed.lines().filter(|line| line.starts_with("verified: webhook.test "));
        lines.filter(|line| line.ends_with(&event)).count()
    };
    assert_eq!(line(&receiver.printed()), 1, "{}", receiver.printed());

    admin.post(&format!("/v1/deliveries/{delivery}/replay"), &json!({})).is(202);
    delivered(&admin, delivery, 2);
    assert_eq!(line(&receiver.printed()), 1, "an event that comes again is answered, not taken");

    let forged = [("webhook-id", event.as_str()), ("webhook-signature", "v1,AAAA")];
    let refused = receiver.caller.ask("POST", "/", &forged, b"{}");
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(receiver.printed().ends_with("refused: too old, or from the future\n"));
}

#[test]
fn the_receiver_in_python_takes_what_is_signed_once_and_nothing_else() {
    takes_what_is_signed_once_and_nothing_else("python3", "receiver.py");
}

#[test]
fn the_receiver_in_javascript_takes_what_is_signed_once_and_nothing_else() {
    takes_what_is_signed_once_and_nothing_else("node", "receiver.js");
}

/// The verifiers of docs/webhooks.md are tested with forgeries; the examples contain the same code.
#[test]
fn the_receivers_verify_as_the_document_does() {
    for (language, name, from, to) in [
        ("python", "receiver.py", "def verify(", "\n\ndef receive("),
        ("javascript", "receiver.js", "function verify(", "\n\nfunction receive("),
    ] {
        let documented = block(language);
        let (verify, _) = documented[documented.find(from).unwrap()..].split_once(to).unwrap();
        let text = std::fs::read_to_string(example(name)).unwrap();
        assert!(text.contains(verify.trim_end()), "{name} does not verify as docs/webhooks.md");
    }
}
