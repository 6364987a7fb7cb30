//! A Temporal server of its own, on a file, and what it and the merchants must know when everything is over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::end::REST;
use super::world::{MSISDN, World};
use crate::caller::until;
use crate::process::free_port;
use crate::receiver::{Got, Receiver, Said};

/// What seals the secrets of endpoints, in every process.
pub(super) const SECRET_KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// What merchants want to be told.
pub(super) const TOLD: [&str; 3] = ["payout.success", "payout.failed", "payout.late_success"];

pub(super) struct Temporal {
    program: PathBuf,
    pub(super) address: String,
    folder: PathBuf,
    server: Option<Child>,
}

impl Temporal {
    /// A missing program is a failure: `./test` installs it.
    pub(super) fn start(folder: &Path) -> Self {
        let programs = std::env::var("BURSAR_TEST_VENV").expect("./test says where programs are");
        let program = Path::new(&programs).join("bin/temporal");
        assert!(program.exists(), "no {}: run ./test, which installs it", program.display());
        let address = format!("127.0.0.1:{}", free_port());
        let mut temporal = Self { program, address, folder: folder.to_owned(), server: None };
        temporal.start_server();
        temporal
    }

    /// On the file where it has left everything.
    pub(super) fn start_server(&mut self) {
        let log = self.folder.join("temporal.log");
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let (_, port) = self.address.split_once(':').unwrap();
        let server = Command::new(&self.program)
            .args(["server", "start-dev", "--headless", "--log-level", "warn", "--port", port])
            .args(["--search-attribute", "BursarStatus=Keyword"])
            // The machine never loses power here, so what was written is there.
            .args(["--sqlite-pragma", "synchronous=OFF", "--db-filename"])
            .arg(self.file())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.server = Some(server.unwrap());
        until("the Temporal server answers", || self.ask(&["workflow", "count"]).ok());
    }

    /// As the machine would, when it loses power.
    pub(super) fn crash(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("temporal.sqlite")
    }

    /// What the command line of its users says.
    fn ask(&self, arguments: &[&str]) -> Result<Value, String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(["--address", &self.address, "-o", "json"]);
        let output = command.output().unwrap();
        if output.status.success() {
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Every run of every workflow for which this is so: its name, and how it ended.
    fn workflows(&self, query: &str) -> Vec<(String, String)> {
        let arguments = ["workflow", "list", "--limit", "1000000", "--query", query];
        let listed = until("the Temporal server lists workflows", || self.ask(&arguments).ok());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let run = |run: &Value| (text(&run["execution"]["workflowId"]), text(&run["status"]));
        listed.as_array().unwrap().iter().map(run).collect()
    }
}

impl Drop for Temporal {
    fn drop(&mut self) {
        self.crash();
    }
}

/// A merchant's server that is not always well.
pub(super) fn receiver() -> Receiver {
    Receiver::start(|_, number| -> Said {
        let status = if number % 5 == 0 { 500 } else { 200 };
        (status, Vec::new(), Vec::new())
    })
}

/// Every merchant was told, every workflow has ended as its flow has, and the cluster knows no secret.
pub(super) fn has_ended(world: &World, receiver: &Receiver, temporal: &Temporal) {
    everybody_was_told(world, receiver);
    let waiting = Instant::now();
    loop {
        let running = temporal.workflows("ExecutionStatus = 'Running'");
        if running.is_empty() {
            break;
        }
        assert!(waiting.elapsed() < REST, "their flows are over, they are not: {running:?}");
        thread::sleep(Duration::from_millis(500));
    }
    let mut ends = BTreeMap::<String, BTreeMap<String, usize>>::new();
    let mut names = BTreeSet::new();
    for (name, status) in temporal.workflows("") {
        let (kind, _) = name.split_once('-').unwrap();
        *ends.entry(kind.to_owned()).or_default().entry(status).or_default() += 1;
        names.insert(name);
    }
    println!("workflows: {ends:?}");
    let failed = temporal.workflows("ExecutionStatus != 'Completed'");
    assert!(failed.is_empty(), "a workflow ends with its flow: {failed:?}");
    let keys = &world.promised.lock().unwrap().keys;
    let missing: Vec<&String> = keys.iter().filter(|key| !names.contains(*key)).collect();
    assert!(missing.is_empty(), "every payout had a workflow: {missing:?}");
    let kept = std::fs::read(temporal.file()).unwrap();
    let has = |word: &str| kept.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(has("mobile_wallet"), "histories are where this test looks for them");
    assert!(!has(MSISDN), "an account number is in a history");
}

fn everybody_was_told(world: &World, receiver: &Receiver) {
    let waiting = Instant::now();
    for status in ["PENDING", "DELIVERING", "WAITING_RETRY"] {
        let path = format!("/v1/deliveries?status={status}&limit=500");
        loop {
            let listed = world.get(&path);
            if listed["data"].as_array().unwrap().is_empty() && listed["next_cursor"].is_null() {
                break;
            }
            assert!(waiting.elapsed() < REST, "merchants are not told: {}", listed["data"][0]);
            thread::sleep(Duration::from_millis(500));
        }
    }
    let letters = world.get("/v1/dead-letters");
    assert_eq!(letters["data"], Value::Array(Vec::new()), "nothing has died");
    let got: BTreeSet<String> = receiver.got().iter().map(Got::event).collect();
    let mut told = BTreeSet::new();
    let mut after = String::new();
    loop {
        let page = world.get(&format!("/v1/events?limit=500{after}"));
        let events = page["data"].as_array().unwrap();
        if events.is_empty() {
            break;
        }
        let wanted = events.iter().filter(|event| TOLD.contains(&event["type"].as_str().unwrap()));
        told.extend(wanted.map(|event| event["id"].as_str().unwrap().to_owned()));
        after = format!("&after={}", page["next_cursor"].as_str().unwrap());
    }
    assert_eq!(got, told, "every event was told, and nothing else");
    println!("told: {} events, {} requests", told.len(), receiver.got().len());
}
