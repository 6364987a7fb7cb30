//! Reuse of connections.

use std::time::Duration;

use super::server::{Act, Seen, Server, answer, names, say, send, sender, settings, word};
use crate::webhook::{Class, Policy, Sender, Settings};

#[tokio::test]
async fn a_connection_is_reused() {
    let acts = vec![Act::Read, answer(200, "a"), Act::Read, answer(202, "b"), Act::Stay];
    let server = Server::new(vec![acts]).await;
    let sender = sender();
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(202));
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (1, 2));
}

/// Servers close idle connections; the sender closes them before.
#[tokio::test]
async fn a_connection_is_not_kept_for_long() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let sender = sender();
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    // The connection is put back by a task of its own.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(9)).await;
    tokio::time::resume();
    server.ended(1).await;
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (2, 2));
}

/// B10: a connection that the server closed while idle is noticed, and nothing is sent twice.
#[tokio::test]
async fn a_connection_that_died_while_idle_costs_nothing() {
    for last in [vec![], vec![Act::Reset]] {
        let once = [vec![Act::Read, answer(200, "")], last].concat();
        let server = Server::new(vec![once, vec![Act::Read, answer(202, ""), Act::Stay]]).await;
        let sender = sender();
        assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
        server.ended(1).await;
        assert_eq!(word(&send(&sender, &server.url()).await), Ok(202));
        assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (2, 2));
    }
}

/// B10: once a byte has left, the receiver may have the event. The sender does not retry.
#[tokio::test]
async fn a_request_that_was_taken_and_not_answered_is_not_sent_again() {
    for last in [vec![], vec![Act::Reset]] {
        let twice = [vec![Act::Read, answer(200, ""), Act::Read], last].concat();
        let server = Server::new(vec![twice, vec![Act::Read, answer(202, ""), Act::Stay]]).await;
        let sender = sender();
        assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
        assert_eq!(word(&send(&sender, &server.url()).await), Err(Class::Closed));
        assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (1, 2));
    }
}

/// B10: a server may send `100 Continue` without a request for it.
#[tokio::test]
async fn an_interim_answer_is_not_the_answer() {
    let interim = say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
    let server = Server::new(vec![vec![Act::Read, interim, answer(201, "x"), Act::Stay]]).await;
    assert_eq!(word(&send(&sender(), &server.url()).await), Ok(201));
}

/// A dropped call closes its connection.
#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let server = Server::new(vec![vec![Act::Read, say("HTTP/1.1 200 "), Act::Stay]]).await;
    let url = server.url();
    let sending = tokio::spawn(async move { send(&sender(), &url).await });
    while server.seen(Seen::requests) == 0 {
        tokio::task::yield_now().await;
    }
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    server.ended(1).await;
}

/// A11: redirects are answers.
#[tokio::test]
async fn redirects_are_not_followed() {
    let sink = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    for status in [301, 302, 303, 307, 308] {
        let said = format!(
            "HTTP/1.1 {status} There\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
            sink.url()
        );
        let server = Server::new(vec![vec![Act::Read, say(&said), Act::Stay]]).await;
        assert_eq!(word(&send(&sender(), &server.url()).await), Ok(status));
    }
    assert_eq!(sink.seen(|seen| seen.connections), 0);
}

/// A12: the policy belongs to a sender. A new sender has its own policy and no old connections, and every attempt is
/// checked before an idle connection is used.
#[tokio::test]
async fn a_stricter_policy_counts_although_a_connection_is_open() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Read, Act::Stay]]).await;
    let open = sender();
    assert_eq!(word(&send(&open, &server.url()).await), Ok(200));
    let policy = Policy::new(&names(&["dev.example"]), &[]).unwrap();
    let tight = Sender::new(Settings { policy, ..settings() }).unwrap();
    let sent = send(&tight, &server.url()).await;
    assert_eq!(word(&sent), Err(Class::Refused));
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (1, 1));
}

/// Connections belong to a scheme, a host and a port: an endpoint that moves gets a new one.
#[tokio::test]
async fn an_edited_url_has_its_own_connection() {
    let script = vec![Act::Read, answer(200, ""), Act::Stay];
    let [old, new] = [Server::new(vec![script.clone()]).await, Server::new(vec![script]).await];
    let sender = sender();
    for server in [&old, &new] {
        assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    }
    assert_eq!([&old, &new].map(|server| server.seen(|seen| seen.connections)), [1, 1]);
}
