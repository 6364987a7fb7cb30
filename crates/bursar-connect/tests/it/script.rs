//! A server that does exactly what a script says, and remembers every byte it saw.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does on a connection, one after the other; at the end it hangs up.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Reads until a request is whole.
    Read,
    /// Reads no more than a few bytes of it.
    ReadSome,
    Say(String),
    /// Hangs up so that the other side gets an error instead of an end.
    Reset,
    /// Never says anything again. The clock is stopped, so that the test does not wait for real.
    Hang,
    /// Stays until the other side hangs up.
    Stay,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Seen {
    pub(crate) fn requests(&self) -> usize {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        text.matches("POST ").count() + text.matches("GET ").count()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Seen>>,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Server {
    /// Each connection has its own list of acts; those that come later have the last one's.
    pub(crate) async fn new(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let remembered = Arc::clone(&seen);
        let running = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = {
                    let mut seen = remembered.lock().unwrap();
                    seen.connections += 1;
                    seen.connections
                };
                let script = scripts[(number - 1).min(scripts.len() - 1)].clone();
                tokio::spawn(play(stream, script, Arc::clone(&remembered)));
            }
        });
        Self { url, seen, running }
    }

    pub(crate) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }
}

async fn play(mut stream: TcpStream, script: Vec<Act>, seen: Arc<Mutex<Seen>>) {
    for act in script {
        match act {
            Act::Read => {
                let mut request = Vec::new();
                while !is_whole(&request) {
                    let Some(bytes) = read(&mut stream, &seen, 4_096).await else { return };
                    request.extend(bytes);
                }
            }
            Act::ReadSome => {
                read(&mut stream, &seen, 7).await;
            }
            Act::Say(text) => {
                // The client may have hung up.
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            Act::Hang => {
                tokio::time::pause();
                while read(&mut stream, &seen, 4_096).await.is_some() {}
            }
            Act::Stay => while read(&mut stream, &seen, 4_096).await.is_some() {},
        }
    }
}

async fn read(stream: &mut TcpStream, seen: &Mutex<Seen>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; most];
    let count = stream.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
    bytes.truncate(count);
    seen.lock().unwrap().bytes.extend(&bytes);
    Some(bytes)
}

/// Whether a request has its head, and as much of a body as the head says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    body.len() >= length.map_or(0, |length| length.trim().parse().unwrap())
}

/// A whole answer.
pub(crate) fn answer(status: u16, body: &str) -> Act {
    answer_with(status, "", body)
}

pub(crate) fn answer_with(status: u16, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Say(format!("HTTP/1.1 {status} So\r\n{headers}content-length: {length}\r\n\r\n{body}"))
}
