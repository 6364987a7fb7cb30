//! The channel simulator as a process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bursar::bursar;

struct Simulator {
    process: Child,
    address: String,
}

impl Simulator {
    fn new(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["simulate-channel", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        assert!(!address.ends_with(":0"), "the port is the real one");
        Self { process, address }
    }

    fn ask(&self, request: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
    }

    fn submit(&self, reference: &str) -> String {
        let body = format!(
            r#"{{"amount":"12.50","currency":"PKR","type":"disbursement","requestingOrganisationTransactionReference":"{reference}","creditParty":[]}}"#
        );
        let headers = format!("x-correlationid: {reference}\r\n");
        self.ask("POST /transactions", &headers, &body).0
    }

    fn books(&self) -> Value {
        serde_json::from_str(&self.ask("GET /_books", "", "").1).unwrap()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn the_simulator_pays_keeps_books_and_stops_when_it_is_told_to() {
    for (signal, arguments, times_paid) in [
        ("-TERM", &["--profile", "calm", "--idempotent"][..], 1),
        ("-INT", &["--profile", "calm"], 2),
    ] {
        let mut simulator = Simulator::new(arguments);
        assert_eq!(simulator.submit("r-1"), "200");
        assert_eq!(simulator.submit("r-1"), "200");
        let entry = &simulator.books()["payments"][0];
        assert_eq!(entry["reference"], "r-1");
        assert_eq!(entry["state"], "paid");
        assert_eq!(entry["submissions"], 2);
        assert_eq!(entry["times_paid"], times_paid);
        let (status, text) = simulator.ask("POST /_profile", "", r#"{"profile":"kind"}"#);
        assert_eq!(status, "400", "{text}");
        assert_eq!(simulator.ask("POST /_profile", "", r#"{"profile":"silent"}"#).0, "200");
        assert_eq!(simulator.books()["payments"].as_array().unwrap().len(), 1);
        let id = simulator.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert!(simulator.process.wait().unwrap().success(), "it stops cleanly");
    }
}

#[test]
fn a_simulator_that_cannot_do_what_is_asked_does_not_start() {
    for arguments in [
        &["--profile", "kind"][..],
        &["--callback-url", "http://127.0.0.1:1"],
        &["--callback-url", "nowhere", "--callback-secret", "s"],
        &["--listen", "203.0.113.1:1"],
    ] {
        let complaint = bursar(&[&["simulate-channel"], arguments].concat()).refused();
        assert!(!complaint.contains("panicked"), "{complaint}");
    }
}
