//! The binary as a process that listens, and how it is asked.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::caller::{Answer, Caller};

/// A process of `bursar` that listens; killed when the test is over.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

/// What a request was answered with.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Process {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let started = Self::try_start(arguments, variables, Stdio::inherit());
        started.expect("it says where it listens")
    }

    /// Nothing if it ends before that. What it has to say goes to the log. A worker says for whom it works instead.
    pub(crate) fn try_start(
        arguments: &[&str],
        variables: &[(&str, &str)],
        log: Stdio,
    ) -> Option<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut process = Self { child, address: String::new() };
        let said = line.trim();
        let address =
            said.strip_prefix("listening on http://").or(said.strip_prefix("working for "));
        address?.clone_into(&mut process.address);
        Some(process)
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// As the machine would, when it loses power.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As its operator would, and how it ended.
    pub(crate) fn stop(mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.child.wait().unwrap()
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answered {
        ask(&self.address, method, path, headers, body).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One request on a connection of its own. Nothing if the process is not there, or goes away before it has answered.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> Option<Answered> {
    let headers: Vec<_> = headers.iter().filter_map(|header| header.split_once(": ")).collect();
    let caller = Caller::new(address, None);
    let Answer { status, text, .. } = caller.try_ask(method, path, &headers, body.as_bytes())?;
    // Some say what is wrong in plain words.
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Some(Answered { status, body })
}

/// A port that nobody uses now, for a process that comes back to where it was.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
