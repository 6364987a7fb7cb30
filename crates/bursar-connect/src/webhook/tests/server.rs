//! A scripted server, and a sender that may reach it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::http::Roots;
use crate::webhook::{Class, OpenedCall, Policy, Sender, Sent, Settings, SigningSecret};

/// A step of the server on a connection; after the last it closes the connection.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Reads a complete request.
    Read,
    Say(Vec<u8>),
    /// Sends this again and again until the client closes.
    Flood(Vec<u8>),
    /// Sends this once a second, on the paused clock.
    Drip(Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Sends nothing more, and reads nothing, on the paused clock.
    Hang,
    /// Waits until the client closes.
    Stay,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) connections: usize,
    pub(super) ended: usize,
    pub(super) bytes: Vec<u8>,
    /// Bytes that the server could send before it was cut off.
    pub(super) said: usize,
}

impl Seen {
    pub(super) fn requests(&self) -> usize {
        String::from_utf8_lossy(&self.bytes).matches("POST ").count()
    }
}

pub(super) struct Server {
    pub(super) port: u16,
    seen: Arc<Mutex<Seen>>,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Server {
    /// Each connection has its own script; later connections have the last one.
    pub(super) async fn new(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let remembered = Arc::clone(&seen);
        let running = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = remembered.lock().unwrap().connections;
                remembered.lock().unwrap().connections += 1;
                let script = scripts[number.min(scripts.len() - 1)].clone();
                let seen = Arc::clone(&remembered);
                tokio::spawn(async move {
                    play(stream, script, &seen).await;
                    seen.lock().unwrap().ended += 1;
                });
            }
        });
        Self { port, seen, running }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    pub(super) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    /// Waits until the server has noticed that this many connections have ended.
    pub(super) async fn ended(&self, count: usize) {
        for _ in 0..10_000 {
            if self.seen(|seen| seen.ended >= count) {
                return;
            }
            tokio::task::yield_now().await;
            std::thread::yield_now();
        }
        panic!("the connection is still open");
    }
}

async fn play(mut stream: TcpStream, script: Vec<Act>, seen: &Mutex<Seen>) {
    for act in script {
        let is_over = match act {
            Act::Read => read_request(&mut stream, seen).await.is_none(),
            Act::Say(bytes) => stream.write_all(&bytes).await.is_err(),
            Act::Flood(bytes) => {
                while let Ok(count) = stream.write(&bytes).await {
                    seen.lock().unwrap().said += count;
                }
                true
            }
            Act::Drip(bytes) => {
                tokio::time::pause();
                while stream.write_all(&bytes).await.is_ok() {
                    seen.lock().unwrap().said += bytes.len();
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_secs(1)) => {}
                        _ = read(&mut stream, seen) => break,
                    }
                }
                true
            }
            Act::Reset => {
                stream.set_zero_linger().unwrap();
                true
            }
            Act::Hang => {
                tokio::time::pause();
                while read(&mut stream, seen).await.is_some() {}
                true
            }
            Act::Stay => {
                while read(&mut stream, seen).await.is_some() {}
                true
            }
        };
        if is_over {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, seen: &Mutex<Seen>) -> Option<()> {
    let mut request = Vec::new();
    while !is_whole(&request) {
        request.extend(read(stream, seen).await?);
    }
    Some(())
}

async fn read(stream: &mut TcpStream, seen: &Mutex<Seen>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4_096];
    let count = stream.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
    bytes.truncate(count);
    seen.lock().unwrap().bytes.extend(&bytes);
    Some(bytes)
}

/// Whether a request has its head, and a body of the announced length.
fn is_whole(request: &[u8]) -> bool {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else { return false };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    request.len() - end - 4 >= length.map_or(0, |length| length.trim().parse().unwrap())
}

pub(super) fn say(text: &str) -> Act {
    Act::Say(text.as_bytes().to_vec())
}

/// A complete answer.
pub(super) fn answer(status: u16, body: &str) -> Act {
    let length = body.len();
    say(&format!("HTTP/1.1 {status} So\r\ncontent-length: {length}\r\n\r\n{body}"))
}

pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn certificate() -> Vec<u8> {
    rcgen::generate_simple_self_signed(names(&["stranger.example"]))
        .unwrap()
        .cert
        .pem()
        .into_bytes()
}

/// Settings that allow this machine, with a certificate that no server uses.
pub(super) fn settings() -> Settings {
    Settings {
        policy: Policy::new(&names(&["127.0.0.1"]), &[]).unwrap(),
        roots: Roots::Pem(certificate()),
        ..Settings::default()
    }
}

pub(super) fn sender() -> Sender {
    Sender::new(settings()).unwrap()
}

pub(super) fn secret(byte: u8) -> SigningSecret {
    SigningSecret::from_random([byte; 32])
}

pub(super) fn call(url: &str) -> OpenedCall {
    OpenedCall {
        url: url.to_owned(),
        body: br#"{"amount":1}"#.to_vec(),
        event_id: "evt_1".to_owned(),
        event_type: "payout.success".to_owned(),
        attempt: 1,
        at: Timestamp::from_second(1_784_000_000).unwrap(),
        headers: Vec::new(),
        simple_secret: secret(1),
        secrets: vec![secret(1)],
    }
}

pub(super) fn later() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

pub(super) async fn send(sender: &Sender, url: &str) -> Sent {
    sender.send(call(url), later()).await
}

/// The status, or why there is none.
pub(super) fn word(sent: &Sent) -> Result<u16, Class> {
    sent.result.as_ref().map(|answered| answered.status).map_err(|failed| failed.class)
}
