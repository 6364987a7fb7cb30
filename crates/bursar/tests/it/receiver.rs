//! A webhook receiver with scripted answers, which records requests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        &self.headers[name]
    }

    pub(crate) fn event(&self) -> String {
        self.header("webhook-id").to_owned()
    }
}

/// Status, more headers, body.
pub(crate) type Said = (u16, Vec<(&'static str, String)>, Vec<u8>);

pub(crate) struct Receiver {
    pub(crate) address: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    /// Answers with the result of a function of the request and its number, from 1.
    pub(crate) fn start(says: impl Fn(&Got, usize) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (got, says) = (Arc::new(Mutex::new(Vec::new())), Arc::new(says));
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, says) = (Arc::clone(&kept), Arc::clone(&says));
                std::thread::spawn(move || serve(stream, &kept, &*says));
            }
        });
        Self { address, got }
    }

    /// Accepts every request.
    pub(crate) fn willing() -> Self {
        Self::start(|_, _| (200, Vec::new(), b"ok".to_vec()))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    kept: &Mutex<Vec<Got>>,
    says: &(dyn Fn(&Got, usize) -> Said + Send + Sync),
) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(got) = read(&mut reader) {
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(got.clone());
            kept.len()
        };
        let (status, headers, body) = says(&got, number);
        let more: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let more = more.concat();
        let head =
            format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n{more}\r\n", body.len());
        if writer.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    reader.read_exact(&mut body).ok()?;
    Some(Got { path, headers, body })
}
