//! A scripted name server that records its queries.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// The answer for a name: aliases, and the addresses of the last.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    pub(super) alias: Option<&'static str>,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) ttl: u32,
}

pub(super) fn reply(ttl: u32, addresses: &[&str]) -> Reply {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Reply { alias: None, addresses, ttl }
}

pub(super) struct Dns {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Dns {
    /// The replies are given in order to each kind of query; the last one repeats.
    pub(super) async fn new(replies: Vec<Reply>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        let running = tokio::spawn(async move {
            let mut bytes = vec![0; 4_096];
            loop {
                let (count, peer) = socket.recv_from(&mut bytes).await.unwrap();
                let (name, kind, end) = question(&bytes[..count]);
                let number = {
                    let mut asked = remembered.lock().unwrap();
                    asked.push((name, kind));
                    asked.iter().filter(|(_, other)| *other == kind).count()
                };
                let reply = &replies[(number - 1).min(replies.len() - 1)];
                socket.send_to(&message(&bytes[..end], kind, reply), peer).await.unwrap();
            }
        });
        Self { address, asked, running }
    }

    /// The names of all queries, each once, and the number of queries for IPv4 addresses.
    pub(super) fn asked(&self) -> (Vec<String>, usize) {
        let asked = self.asked.lock().unwrap();
        let mut names: Vec<String> = asked.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names.dedup();
        (names, asked.iter().filter(|(_, kind)| *kind == A).count())
    }
}

/// The name and the kind of the query, and where it ends.
fn question(bytes: &[u8]) -> (String, u16, usize) {
    let mut at = 12;
    let mut name = String::new();
    while bytes[at] != 0 {
        let length = usize::from(bytes[at]);
        name.push_str(&String::from_utf8_lossy(&bytes[at + 1..=at + length]));
        name.push('.');
        at += length + 1;
    }
    (name.to_lowercase(), u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]), at + 5)
}

fn message(asked: &[u8], kind: u16, reply: &Reply) -> Vec<u8> {
    // The owner of the next record: the name of the query, or the last alias.
    let mut owner = vec![0xc0, 12];
    let mut records = Vec::new();
    if let Some(alias) = reply.alias {
        let labels = alias.split('.').flat_map(|label| {
            [vec![u8::try_from(label.len()).unwrap()], label.as_bytes().to_vec()].concat()
        });
        let name: Vec<u8> = labels.chain([0]).collect();
        records.push(record(&owner, CNAME, reply.ttl, &name));
        owner = name;
    }
    for address in &reply.addresses {
        match address {
            IpAddr::V4(v4) if kind == A => records.push(record(&owner, A, reply.ttl, &v4.octets())),
            IpAddr::V6(v6) if kind == AAAA => {
                records.push(record(&owner, AAAA, reply.ttl, &v6.octets()));
            }
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
    }
    let count = u8::try_from(records.len()).unwrap();
    let head = [&asked[..2], &[0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0], &asked[12..]].concat();
    [head, records.concat()].concat()
}

fn record(owner: &[u8], kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    [owner, &kind.to_be_bytes(), &[0, 1], &ttl.to_be_bytes(), &length.to_be_bytes(), data].concat()
}
