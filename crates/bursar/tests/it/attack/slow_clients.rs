//! Clients send slowly, or not at all, also while the process stops.

use std::time::{Duration, Instant};

use super::open_connection::OpenConnection;
use crate::api::server::{ADMIN_KEY, Server};
use crate::caller::{Answer, until};

#[test]
fn a_client_sends_no_header_or_half_of_one() {
    let server = Server::with("[http]\nheader_timeout_s = 0.2\n", &[]);
    let mut silent = OpenConnection::new(&server);
    let mut half = OpenConnection::sending(&server, "GET /healthz HTTP/1.1\r\nhost");
    assert_eq!((silent.rest(), half.rest()), (String::new(), String::new()));
    let mut dribbling = OpenConnection::sending(&server, "GET /healthz HTTP/1.1\r\nx-long: ");
    until("it is closed", || (!dribbling.send("x")).then_some(()));
    server.admin().without_key().get("/healthz").is(200);
}

#[test]
fn a_client_keeps_a_connection_without_requests() {
    let server = Server::with("[http]\nidle_timeout_s = 0.2\n", &[]);
    let request = format!(
        "GET /v1/payouts HTTP/1.1\r\nhost: bursar\r\nauthorization: Bearer {ADMIN_KEY}\r\n\r\n"
    );
    let mut idle = OpenConnection::sending(&server, &request);
    assert_eq!(idle.answer().status, 200);
    assert_eq!(idle.rest(), "");
}

#[test]
fn a_client_with_a_key_dribbles_a_body() {
    let server = Server::with("[http]\nbody_grace_s = 0.2\n", &[]);
    let mut silent = OpenConnection::with_half_a_body(&server, "{", 1_000);
    let answer = Answer::read(&silent.rest(), true).unwrap();
    answer.refused(408, "body_timeout");
    let mut dribbling = OpenConnection::with_half_a_body(&server, "{", 100_000);
    until("it is closed", || (!dribbling.send(" ")).then_some(()));
}

#[test]
fn a_client_sends_a_body_at_the_least_rate_for_ever() {
    let limits = "[http]\nbody_grace_s = 0.1\nbody_timeout_s = 0.3\nbody_bytes_per_s_min = 1\n";
    let server = Server::with(limits, &[]);
    let mut steady = OpenConnection::with_half_a_body(&server, "{", 100_000);
    until("it is closed", || (!steady.send(" ")).then_some(()));
}

/// Timeouts that do not end before the test does.
const PATIENT: &str = "[http]\nheader_timeout_s = 600\nbody_timeout_s = 600\nbody_grace_s = 600\n";

#[test]
fn clients_dribble_while_the_process_stops() {
    let mut server = Server::with(PATIENT, &[]);
    let _silent = OpenConnection::new(&server);
    let mut head = OpenConnection::sending(&server, "GET /healthz HTTP/1.1\r\nx-long: ");
    let mut body = OpenConnection::with_half_a_body(&server, "{", 100_000);
    server.admin().without_key().get("/healthz").is(200);
    assert!(head.send("x") && body.send(" "), "they are open");
    let began = Instant::now();
    server.terminate();
    let status = until("it exits", || {
        head.send("x");
        body.send(" ");
        server.ended()
    });
    assert!(status.success(), "{status}");
    // The drain takes 3 s. The bound is that of a process that waits for its clients.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_request_is_under_way_when_the_process_stops() {
    let mut server = Server::with(&format!("{PATIENT}drain_timeout_s = 15\n"), &[]);
    let (half, other) = ("{\"id\":\"m1\",", "\"name\":\"Shop\"}");
    let mut body = OpenConnection::with_half_a_body(&server, half, half.len() + other.len());
    server.admin().without_key().get("/healthz").is(200);
    server.terminate();
    let address = server.address().parse().unwrap();
    until("the listener is closed", || {
        std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1))
            .is_err()
            .then_some(())
    });
    assert!(body.send(other));
    let answer = Answer::read(&body.rest(), true).unwrap();
    assert_eq!(answer.is(201)["id"], "m1");
    assert!(server.exit().success());
    server.start();
    server.admin().get("/v1/merchants/m1").is(200);
}
