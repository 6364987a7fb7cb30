//! The binary as a server process, and requests to it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::bursar::state_home;
use crate::caller::{Answer, Caller};

/// A `bursar` server process, killed on drop.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Process {
    /// Starts the process and waits until it prints its address.
    pub(crate) fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let started = Self::try_start(arguments, variables, Stdio::inherit());
        started.expect("it says where it listens")
    }

    /// None if it exits before that. Standard error goes to the log. A worker prints its cluster instead of an address.
    pub(crate) fn try_start(
        arguments: &[&str],
        variables: &[(&str, &str)],
        log: Stdio,
    ) -> Option<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bursar"));
        Self::run(command.args(arguments), variables, log)
    }

    /// Starts the process with a limit of open files.
    pub(crate) fn start_with_files(
        most: u32,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_bursar")]).args(arguments);
        let started = Self::run(&mut command, variables, Stdio::inherit());
        started.expect("it says where it listens")
    }

    fn run(command: &mut Command, variables: &[(&str, &str)], log: Stdio) -> Option<Self> {
        let mut child = command
            .env("XDG_STATE_HOME", state_home())
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

    /// The exit status, if it has exited.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Sets the number of files that the process may have open: those above it stay open, and no new one can be opened.
    pub(crate) fn limit_files(&self, most: u32) {
        let (id, limit) = (self.child.id().to_string(), format!("--nofile={most}:"));
        let done = Command::new("prlimit").args(["--pid", &id, &limit]).status().unwrap();
        assert!(done.success(), "prlimit {limit}");
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; returns the exit status.
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
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One request on a new connection. None if the process is down or goes down before it answers.
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
    // Some errors are plain text.
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Some(Answered { status, body })
}

/// A free port, for a process that restarts on the same address.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
