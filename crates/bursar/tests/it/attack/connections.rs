//! Clients without a key take all connections, from the address that honest callers use.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::open_connection::OpenConnection;
use crate::api::actions::{id, order};
use crate::api::scripted_channel::Channel;
use crate::api::server::Server;
use crate::caller::{Answer, until};

/// What a connection sends at first: nothing, half a header, half a body, or a request after which it idles.
const OPENINGS: [&str; 4] = [
    "",
    "GET /healthz HTTP/1.1\r\nhost: bursar\r\nx-dribble: ",
    "POST /v1/providers/calm/callbacks HTTP/1.1\r\nhost: bursar\r\ncontent-length: 1000\r\n\r\n{",
    "GET /healthz HTTP/1.1\r\nhost: bursar\r\n\r\n",
];

/// Holds this many connections: sends a byte on each in turn, and opens those again that the server closes.
struct Flood {
    is_over: Arc<AtomicBool>,
    opened: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn new(address: SocketAddr, count: usize) -> Self {
        let (is_over, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (ends, counts) = (Arc::clone(&is_over), Arc::clone(&opened));
        let thread = thread::spawn(move || hold(address, count, &ends, &counts));
        Self { is_over, opened, thread: Some(thread) }
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

fn hold(address: SocketAddr, count: usize, is_over: &AtomicBool, opened: &AtomicUsize) {
    let mut sockets: Vec<Option<TcpStream>> = (0..count).map(|_| None).collect();
    for number in (0..count).cycle() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let (socket, opening) = (&mut sockets[number], OPENINGS[number % OPENINGS.len()]);
        if socket.as_mut().is_none_or(|socket| !dribble(socket, opening)) {
            *socket = open(address, opening);
            opened.fetch_add(usize::from(socket.is_some()), Ordering::Relaxed);
        }
    }
}

fn open(address: SocketAddr, opening: &str) -> Option<TcpStream> {
    let mut socket = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    socket.set_nonblocking(true).ok()?;
    socket.write_all(opening.as_bytes()).ok()?;
    Some(socket)
}

/// False if the server has closed it.
fn dribble(socket: &mut TcpStream, opening: &str) -> bool {
    let is_open = loop {
        match socket.read(&mut [0; 1_024]) {
            Ok(0) => break false,
            Ok(_) => {}
            Err(error) => break error.kind() == std::io::ErrorKind::WouldBlock,
        }
    };
    let says_more = !opening.is_empty() && !opening.ends_with("\r\n\r\n");
    is_open && (!says_more || socket.write_all(b"x").is_ok())
}

#[test]
fn twelve_hundred_connections_without_a_key_are_held_open() {
    let channel = Channel::new();
    channel.say("completed");
    let server = Server::with_files(1_024, &channel.config("wallet"));
    let admin = server.admin();
    admin.merchant("m1", "10000.00");
    let flood = Flood::new(server.address().parse().unwrap(), 1_200);
    until("the flood is there", || (flood.opened() >= 1_200).then_some(()));
    let payouts: Vec<_> = (0..3)
        .map(|number| {
            admin.without_key().get("/healthz").is(200);
            admin.get("/v1/payouts").is(200);
            admin.pay(&format!("k{number}"), &order("m1", "wallet", "100.00")).is(201)
        })
        .collect();
    until("due payouts are sent", || (channel.submitted().len() == 3).then_some(()));
    drop(flood);
    for payout in &payouts {
        admin.payout_at(id(payout), "SUCCESS");
    }
    assert_eq!(channel.submitted().len(), 3, "each was sent once");
    let metrics = admin.get("/metrics").text;
    let evicted = "bursar_http_connections_closed_total{reason=\"evicted\"} ";
    let evicted = metrics.lines().find_map(|line| line.strip_prefix(evicted)).unwrap();
    assert!(evicted.parse::<usize>().unwrap() > 500, "{evicted}");
    admin.books_hold();
}

/// Keeps every place of its address busy with requests that need no key, and connects again and again.
async fn ask_without_end(address: SocketAddr, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let Ok(mut socket) = tokio::net::TcpStream::connect(address).await else { continue };
        let mut answer = [0; 1_024];
        while !is_over.load(Ordering::Relaxed) {
            let asked = socket.write_all(OPENINGS[3].as_bytes()).await;
            if asked.is_err() || socket.read(&mut answer).await.unwrap_or(0) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[test]
fn one_address_sends_requests_on_all_its_connections() {
    let config = "[http]\nconnections_max = 40\nconnections_per_address = 30\n";
    let server = Server::with(config, &[]);
    let address: SocketAddr = server.address().parse().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let flood = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let asking = async {
                let mut clients = tokio::task::JoinSet::new();
                for _ in 0..45 {
                    clients.spawn(ask_without_end(address, Arc::clone(&is_over)));
                }
                clients.join_all().await;
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(asking);
        }
    });
    let metrics = || server.admin().get("/metrics").text;
    until("it reconnects", || {
        let evicted = "bursar_http_connections_closed_total{reason=\"evicted\"} ";
        let metrics = metrics();
        let count = metrics.lines().find_map(|line| line.strip_prefix(evicted));
        count.filter(|count| count.parse::<usize>().unwrap() > 100).map(drop)
    });
    // Another address is served meanwhile.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..20 {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
            let mut socket = socket.connect(address).await.unwrap();
            socket.write_all(OPENINGS[3].as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            socket.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 200");
        }
    });
    is_over.store(true, Ordering::Relaxed);
    flood.join().unwrap();
}

#[test]
fn a_caller_with_a_key_opens_more_connections_than_its_address_may() {
    let server = Server::with("[http]\nconnections_per_address = 3\n", &[]);
    // Their requests are under way, so neither makes room.
    let mut first = OpenConnection::with_half_a_body(&server, "{", 20);
    let mut second = OpenConnection::with_half_a_body(&server, "{", 20);
    let mut idle = OpenConnection::sending(&server, OPENINGS[3]);
    assert_eq!(idle.answer().status, 200);
    let mut third = OpenConnection::with_half_a_body(&server, "{", 20);
    assert_eq!(idle.rest(), "", "it has no key and makes room");
    let refused = Answer::read(&OpenConnection::new(&server).rest(), true).unwrap();
    assert_eq!(refused.header("retry-after"), Some("2"));
    refused.refused(503, "too_many_connections");
    for connection in [&mut first, &mut second, &mut third] {
        assert!(connection.send("                   "));
        connection.answer().refused(400, "bad_request");
    }
    server.admin().get("/v1/payouts").is(200);
}
