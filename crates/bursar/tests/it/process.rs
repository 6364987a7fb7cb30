//! The binary as a process that listens, and how it is asked.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

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
        let mut child = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.expect("it says where it listens").to_owned();
        Self { child, address }
    }

    /// As the machine would, when it loses power.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As its operator would, and how it ended.
    pub(crate) fn stop(mut self, signal: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
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

/// One request on a connection of its own. A process that is not there, or goes away, is an error.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> io::Result<Answered> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let headers: String = headers.iter().flat_map(|header| [header, "\r\n"]).collect();
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let broken = || io::Error::new(io::ErrorKind::UnexpectedEof, "half an answer");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    if length.is_some_and(|length: usize| length != body.len()) {
        return Err(broken());
    }
    // Some say what is wrong in plain words.
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::from(body));
    Ok(Answered { status: status.ok_or_else(broken)?, body })
}

/// A port that nobody uses now, for a process that comes back to where it was.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
