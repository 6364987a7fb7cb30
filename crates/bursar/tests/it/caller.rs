//! A minimal HTTP client.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

/// A caller with or without an API key.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    address: String,
    key: Option<String>,
    patience: Duration,
}

/// Default timeout of a request.
const PATIENCE: Duration = Duration::from_mins(1);

impl Caller {
    pub(crate) fn new(address: &str, key: Option<&str>) -> Self {
        Self { address: address.to_owned(), key: key.map(str::to_owned), patience: PATIENCE }
    }

    /// The same with another timeout.
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same server with another key.
    pub(crate) fn with(&self, key: &str) -> Self {
        Self::new(&self.address, Some(key))
    }

    /// The key of the caller, for the command line.
    pub(crate) fn key_text(&self) -> String {
        self.key.clone().unwrap_or_default()
    }

    pub(crate) fn without_key(&self) -> Self {
        Self::new(&self.address, None)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], body.to_string().as_bytes())
    }

    /// A request that moves money, with an idempotency key.
    pub(crate) fn move_money(&self, key: &str, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[("Idempotency-Key", key)], body.to_string().as_bytes())
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.try_ask(method, path, headers, body).unwrap()
    }

    /// None if the server closed the connection before it answered.
    pub(crate) fn try_ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Answer> {
        // A paused server accepts no more connections once its backlog is full.
        let address = self.address.parse().unwrap();
        let mut stream = TcpStream::connect_timeout(&address, self.patience).ok()?;
        stream.set_read_timeout(Some(self.patience)).unwrap();
        let mut head = vec![
            format!("{method} {path} HTTP/1.1"),
            "host: bursar".to_owned(),
            "connection: close".to_owned(),
            format!("content-length: {}", body.len()),
        ];
        head.extend(self.key.iter().map(|key| format!("authorization: Bearer {key}")));
        head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let head = format!("{}\r\n\r\n", head.join("\r\n"));
        // A server may answer before it has read the whole request.
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
        let mut answer = Vec::new();
        // It may reset the connection after its answer if request data is unread.
        drop(stream.read_to_end(&mut answer));
        Answer::read(&String::from_utf8(answer).unwrap(), method != "HEAD")
    }
}

impl Answer {
    pub(crate) fn read(text: &str, has_body: bool) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let answer = Self { status, headers, text: body.to_owned() };
        // A truncated answer counts as none.
        let length: usize = answer.header("content-length")?.parse().ok()?;
        Some(answer).filter(|_| length == body.len() || !has_body)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The body of an answer with this status.
    pub(crate) fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// A rejection is a problem with a code and a detail.
    pub(crate) fn refused(self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["type"], format!("urn:bursar:problem:{code}"));
        assert!(problem["detail"].as_str().unwrap().len() > 20, "{problem}");
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

/// Polls until there is a result, with a bound on the number of polls.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("it never came to pass: {what}");
}
