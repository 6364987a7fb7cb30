//! A channel whose answers are controlled by the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct State {
    /// References that were submitted, in the order they came.
    submitted: Vec<String>,
    /// Status and more fields of the answer to submissions, once it is set.
    answer: Option<(String, String)>,
    /// The same for queries; without it they are answered as pending.
    query_answer: Option<(String, String)>,
}

pub(crate) struct Channel {
    url: String,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Channel {
    /// Withholds answers until one is set.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream.unwrap(), &shared));
            }
        });
        Self { url, state }
    }

    /// Sets the answer to all past and future submissions.
    pub(crate) fn say(&self, status: &str) {
        self.say_more(status, "");
    }

    /// Same, with more fields, such as `"amount":"1.00"`.
    pub(crate) fn say_more(&self, status: &str, more: &str) {
        self.state.0.lock().unwrap().answer = Some((status.to_owned(), more.to_owned()));
        self.state.1.notify_all();
    }

    /// Sets the answer to all future queries.
    pub(crate) fn answer_queries(&self, status: &str, more: &str) {
        self.state.0.lock().unwrap().query_answer = Some((status.to_owned(), more.to_owned()));
    }

    pub(crate) fn submitted(&self) -> Vec<String> {
        self.state.0.lock().unwrap().submitted.clone()
    }

    /// The configuration of a channel with this name.
    pub(crate) fn config(&self, name: &str) -> String {
        let secret = super::server::CHANNEL_SECRET;
        format!(
            "[channels.{name}]\nkind = \"http\"\nurl = \"{}\"\ncurrencies = [\"PKR\"]\ncallback_secret = \"{secret}\"\n",
            self.url
        )
    }
}

fn serve(stream: &TcpStream, shared: &(Mutex<State>, Condvar)) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let is_submission = line.starts_with("POST ");
    let (mut reference, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "x-correlationid" => value.clone_into(&mut reference),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    let (status, more) = if is_submission {
        let mut state = shared.0.lock().unwrap();
        state.submitted.push(reference.clone());
        let state = shared.1.wait_while(state, |state| state.answer.is_none()).unwrap();
        state.answer.clone().unwrap()
    } else {
        let answer = shared.0.lock().unwrap().query_answer.clone();
        answer.unwrap_or_else(|| ("pending".to_owned(), String::new()))
    };
    let comma = if more.is_empty() { "" } else { "," };
    let body =
        format!(r#"{{"status":"{status}","clientCorrelationId":"{reference}"{comma}{more}}}"#);
    let head =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    let mut stream = stream;
    // The caller may have closed the connection.
    drop(stream.write_all(format!("{head}\r\n{body}").as_bytes()));
}
