//! Answers that are slow, huge, broken or no HTTP. None of them takes longer than one attempt.

use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout};

use super::server::{Act, Server, answer, call, say, send, sender, word};
use crate::webhook::{Answered, Class, Sent};

/// More than the socket buffers hold if the server does not read.
const LARGE: usize = 12 * 1024 * 1024;
/// Socket buffers come on top of the bytes that the sender reads.
const BOUNDED: usize = 16 * 1024 * 1024;

async fn hear(acts: Vec<Act>) -> (Server, Sent) {
    let server = Server::new(vec![acts]).await;
    let sent = send(&sender(), &server.url()).await;
    (server, sent)
}

/// The clock ticks in milliseconds, and a little of it went by before it was stopped.
fn is_about(latency: Duration, seconds: u64) -> bool {
    latency.abs_diff(Duration::from_secs(seconds)) < Duration::from_secs(1)
}

fn answered(sent: &Sent) -> &Answered {
    sent.result.as_ref().unwrap()
}

#[tokio::test]
async fn an_answer_is_returned_unchanged() {
    let (_, sent) = hear(vec![Act::Read, answer(200, "thanks"), Act::Stay]).await;
    let expected =
        Answered { status: 200, retry_after: None, body: b"thanks".to_vec(), is_cut: false };
    assert_eq!(sent.result, Ok(expected));
}

/// B1: the deadline covers the body. The status is known by then, so that the event is not sent again.
#[tokio::test]
async fn a_body_that_never_ends_is_cut_off_at_the_deadline() {
    let head = say("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
    let (server, sent) = hear(vec![Act::Read, head, Act::Drip(b"x".to_vec())]).await;
    assert!(is_about(sent.latency, 30), "{sent:?}");
    assert!(answered(&sent).is_cut);
    assert_eq!(answered(&sent).status, 200);
    assert!((1..=31).contains(&answered(&sent).body.len()), "the part before the deadline is kept");
    server.ended(1).await;
}

/// B2: no answer at all, half a head, and a head that arrives slowly.
#[tokio::test]
async fn a_head_that_never_ends_is_a_timeout() {
    let slow = [say("HTTP/1.1 200 OK\r\nx-slow: "), Act::Drip(b"x".to_vec())];
    for acts in
        [vec![Act::Hang], vec![Act::Read, Act::Hang], [vec![Act::Read], slow.to_vec()].concat()]
    {
        let (server, sent) = hear(acts).await;
        assert_eq!(word(&sent), Err(Class::Timeout));
        assert!(is_about(sent.latency, 30), "{sent:?}");
        server.ended(1).await;
        tokio::time::resume();
    }
}

#[tokio::test]
async fn the_deadline_of_the_caller_counts_if_it_is_sooner() {
    let server = Server::new(vec![vec![Act::Read, Act::Hang]]).await;
    let deadline = Instant::now() + Duration::from_secs(7);
    let sent = sender().send(call(&server.url()), deadline).await;
    assert_eq!(word(&sent), Err(Class::Timeout));
    assert!(is_about(sent.latency, 7), "{sent:?}");
    server.ended(1).await;
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let sender = sender();
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    let sent = sender.send(call(&server.url()), Instant::now()).await;
    assert_eq!(word(&sent), Err(Class::Timeout));
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (1, 1));
}

/// A server that takes a connection and reads nothing of a body that does not fit into it: what was sent, and whether
/// the connection has ended a while after.
async fn unread(said: &[u8], wait: Duration) -> (Sent, usize) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut call = call(&format!("http://{}/", listener.local_addr().unwrap()));
    call.body = vec![b'x'; LARGE];
    let sender = sender();
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert_eq!(socket.read_u8().await.unwrap(), b'P');
        socket.write_all(said).await.unwrap();
        tokio::time::pause();
        socket
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    let (sent, mut socket) = tokio::join!(sender.send(call, deadline), server);
    tokio::time::sleep(wait).await;
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_mins(1), socket.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection is still open");
    (sent, rest.len())
}

/// The HTTP client alone would send the whole request first.
#[tokio::test]
async fn a_server_that_does_not_read_is_a_timeout_at_the_deadline() {
    let (sent, read) = unread(b"", Duration::from_secs(1)).await;
    assert_eq!(word(&sent), Err(Class::Timeout));
    assert!(is_about(sent.latency, 20), "{sent:?}");
    assert!(read < LARGE, "nothing is sent after the deadline");
}

#[tokio::test]
async fn a_server_that_answers_without_reading_is_disconnected() {
    let said = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let (sent, read) = unread(said, Duration::from_secs(31)).await;
    assert_eq!(word(&sent), Ok(200));
    assert!(read < LARGE, "nothing is sent after the deadline");
}

/// B3: a gibibyte that is announced, and a body without end that is not.
#[tokio::test]
async fn a_huge_body_is_a_success_and_is_not_read() {
    let chunk = [b"8000\r\n".to_vec(), vec![b'x'; 0x8000], b"\r\n".to_vec()].concat();
    for (head, piece) in [
        ("content-length: 1073741824", vec![b'x'; 65_536]),
        ("transfer-encoding: chunked", chunk),
        ("connection: close", vec![0; 65_536]),
    ] {
        let head = say(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n"));
        let (server, sent) = hear(vec![Act::Read, head, Act::Flood(piece.clone())]).await;
        let Answered { status, body, is_cut, .. } = answered(&sent);
        assert_eq!((*status, body.len(), *is_cut), (200, 4_096, true));
        server.ended(1).await;
        let said = server.seen(|seen| seen.said);
        assert!(said < BOUNDED, "{said} bytes were taken");
    }
}

#[tokio::test]
async fn a_body_is_cut_behind_four_kibibytes() {
    for (length, is_cut) in [(0, false), (4_096, false), (4_097, true), (65_535, true)] {
        let (server, sent) =
            hear(vec![Act::Read, answer(500, &"x".repeat(length)), Act::Stay]).await;
        assert_eq!(answered(&sent).body.len(), length.min(4_096));
        assert_eq!(answered(&sent).is_cut, is_cut, "{length}");
        assert_eq!(server.seen(|seen| seen.ended), 0, "a body that was read leaves the connection");
    }
}

/// B4: a compressed body is not decompressed.
#[tokio::test]
async fn a_compressed_body_is_not_decompressed() {
    let packed = [&[0x1f, 0x8b, 8, 0][..], &[0; 100]].concat();
    let head = say("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 104\r\n\r\n");
    let (server, sent) = hear(vec![Act::Read, head, Act::Say(packed.clone()), Act::Stay]).await;
    assert_eq!(answered(&sent).body, packed);
    let request = server.seen(|seen| String::from_utf8(seen.bytes.clone()).unwrap());
    assert!(request.contains("accept-encoding: identity\r\n"), "{request}");
}

/// B5: headers without end, one header without end, and too many headers.
#[tokio::test]
async fn a_flood_of_headers_is_a_failure() {
    let many = "x-a: y\r\n".repeat(200);
    let flood = |piece: &str| Act::Flood(piece.repeat(4_000).into_bytes());
    for acts in [
        vec![say("HTTP/1.1 200 OK\r\n"), flood("x-a: y\r\n")],
        vec![say("HTTP/1.1 200 OK\r\nx-a: "), flood("yyyy")],
        vec![say("HTTP/1.1 200 "), flood("yyyy")],
        vec![say(&format!("HTTP/1.1 200 OK\r\n{many}\r\n")), Act::Stay],
    ] {
        let (server, sent) = hear([vec![Act::Read], acts].concat()).await;
        assert_eq!(word(&sent), Err(Class::Protocol), "{sent:?}");
        server.ended(1).await;
        assert!(server.seen(|seen| seen.said) < BOUNDED);
    }
}

/// B6: interim answers without end, other protocols, and bytes that are no HTTP.
#[tokio::test]
async fn bytes_that_are_no_http_are_a_failure_and_close_the_connection() {
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(100);
    for acts in [
        vec![Act::Flood(interim.into_bytes())],
        vec![say("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"), Act::Stay],
        vec![say("<html>hello, nine</html>\r\n\r\n"), Act::Stay],
        vec![say("HTTP/1.1 2 OK\r\n\r\n"), Act::Stay],
        vec![say("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx"), Act::Stay],
        vec![say("HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n"), Act::Stay],
        vec![Act::Say(vec![0xff; 100]), Act::Stay],
    ] {
        let (server, sent) = hear([vec![Act::Read], acts.clone()].concat()).await;
        assert_eq!(word(&sent), Err(Class::Protocol), "{acts:?}: {sent:?}");
        server.ended(1).await;
        assert!(server.seen(|seen| seen.said) < BOUNDED);
    }
}

/// B6: bytes behind an answer without a body are not taken for the next answer.
#[tokio::test]
async fn a_body_where_none_belongs_is_not_the_next_answer() {
    let two = "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    let first = vec![Act::Read, say(two), Act::Stay];
    let server = Server::new(vec![first, vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let sender = sender();
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(204));
    assert_eq!(word(&send(&sender, &server.url()).await), Ok(200));
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (2, 2));
}

/// B7: bytes that are not UTF-8.
#[tokio::test]
async fn bodies_and_headers_are_bytes() {
    let said = b"HTTP/1.1 500 \xff\r\nx: \xff\xfe\r\nretry-after: \xff\r\ncontent-length: 4\r\n\r\na\0\xff\n";
    let (_, sent) = hear(vec![Act::Read, Act::Say(said.to_vec()), Act::Stay]).await;
    let Answered { status, retry_after, body, is_cut } = answered(&sent);
    assert_eq!(
        (*status, *retry_after, body.as_slice(), *is_cut),
        (500, None, &b"a\0\xff\n"[..], false)
    );
}

/// B9: an endpoint that answers 200 has received the event, even if the body breaks off.
#[tokio::test]
async fn an_answer_counts_once_its_headers_are_in() {
    let head = say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart");
    let chunked = say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\nzz");
    for acts in [vec![head.clone(), Act::Reset], vec![head], vec![chunked, Act::Stay]] {
        let (_, sent) = hear([vec![Act::Read], acts].concat()).await;
        assert_eq!(word(&sent), Ok(200), "{sent:?}");
        assert!(answered(&sent).is_cut);
        assert!(b"part".starts_with(&answered(&sent).body));
    }
}

#[tokio::test]
async fn a_closed_connection_is_no_answer() {
    for acts in [
        vec![Act::Read],
        vec![Act::Read, Act::Reset],
        vec![Act::Reset],
        vec![Act::Read, say("HTTP/1.1 200 OK\r\ncontent-le")],
        vec![Act::Read, say("HTTP/1.1 200 OK\r\nx: y\r\n"), Act::Reset],
    ] {
        let (server, sent) = hear(acts.clone()).await;
        assert_eq!(word(&sent), Err(Class::Closed), "{acts:?}: {sent:?}");
        assert_eq!(server.seen(|seen| seen.connections), 1, "the client does not retry by itself");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_connect_failure() {
    let sent = send(&sender(), "http://127.0.0.1:1/").await;
    assert_eq!(word(&sent), Err(Class::Connect));
    let detail = sent.result.unwrap_err().detail;
    assert!(detail.contains("127.0.0.1") && detail.len() <= 300, "{detail}");
}

#[tokio::test]
async fn retry_after_is_read() {
    let days = |days: u64| Some(Duration::from_hours(days * 24));
    let at: Timestamp = call("").at;
    assert_eq!(at.to_string(), "2026-07-14T03:33:20Z");
    for (value, expected) in [
        ("120", Some(Duration::from_mins(2))),
        (" 0 ", Some(Duration::ZERO)),
        ("99999999999999999999999", days(30)),
        ("31536000", days(30)),
        ("Tue, 14 Jul 2026 03:34:20 GMT", Some(Duration::from_mins(1))),
        ("Tue, 14 Jul 2026 03:32:20 GMT", Some(Duration::ZERO)),
        ("Wed, 14 Jul 2027 03:33:20 GMT", days(30)),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("1.5", None),
    ] {
        let said = format!("HTTP/1.1 429 No\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n");
        let (_, sent) = hear(vec![Act::Read, say(&said), Act::Stay]).await;
        assert_eq!(answered(&sent).retry_after, expected, "{value}");
    }
}
