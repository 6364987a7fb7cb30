//! A webhook as the endpoint receives it.

use std::time::Duration;

use crate::webhook::sign::{Headers, TOLERANCE, Unverified, verify, verify_simple};
use crate::webhook::{BadSettings, Class, OpenedCall, Sender, Settings};

use super::server::{Act, Server, answer, call, later, secret, send, sender, settings, word};

struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn get(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let (_, value) = values.next().unwrap_or_else(|| panic!("{name} is missing"));
        assert!(values.next().is_none(), "{name} is there twice");
        value
    }

    fn signed(&self) -> Headers<'_> {
        Headers {
            id: self.get("webhook-id"),
            timestamp: self.get("webhook-timestamp"),
            signature: self.get("webhook-signature"),
        }
    }
}

/// A call as the server receives it.
async fn seen(brand: &str, change: impl FnOnce(&mut OpenedCall)) -> Request {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let mut call = call(&format!("{}/in?token=a%20b&x=1", server.url()));
    change(&mut call);
    let sender = Sender::new(Settings { brand: brand.to_owned(), ..settings() }).unwrap();
    assert_eq!(word(&sender.send(call, later()).await), Ok(200));
    let bytes = server.seen(|seen| seen.bytes.clone());
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines().map(str::to_owned);
    let line = lines.next().unwrap();
    let split = |line: String| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    Request { line, headers: lines.map(split).collect(), body: bytes[end + 4..].to_vec() }
}

#[tokio::test]
async fn a_request_has_all_headers_that_a_receiver_needs() {
    let request = seen("Simpaisa", |call| {
        call.attempt = 3;
        call.headers = vec![("Authorization".to_owned(), "Bearer x".to_owned())];
    })
    .await;
    assert_eq!(request.line, "POST /hook/in?token=a%20b&x=1 HTTP/1.1");
    for (name, value) in [
        ("content-type", "application/json"),
        ("accept-encoding", "identity"),
        ("content-length", "12"),
        ("authorization", "Bearer x"),
        ("user-agent", "Simpaisa-Webhooks/1.0"),
        ("x-simpaisa-event-id", "evt_1"),
        ("x-simpaisa-event-type", "payout.success"),
        ("x-simpaisa-timestamp", "1784000000"),
        ("x-simpaisa-delivery-attempt", "3"),
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "1784000000"),
    ] {
        assert_eq!(request.get(name), value, "{name}");
    }
    assert!(request.get("host").starts_with("127.0.0.1:"));
    assert!(request.get("x-simpaisa-signature").starts_with("sha256="));
    assert!(request.get("webhook-signature").starts_with("v1,"));
    assert_eq!(request.headers.len(), 14, "{:?}", request.headers);
}

/// C2: the signature covers the bytes that arrive.
#[tokio::test]
async fn the_bytes_that_arrive_are_the_bytes_that_were_signed() {
    let large = vec![b'x'; 300_000];
    for body in [&b"{\"b\":1 ,\"a\":\"\\u00e9\"}\n"[..], b"", b"\0\xff", &large] {
        let request = seen("Bursar", |call| call.body = body.to_vec()).await;
        assert_eq!(request.body, body);
        let now = call("").at;
        assert_eq!(verify(&[secret(1)], &request.signed(), body, now, TOLERANCE), Ok(()));
        let simple = request.get("x-bursar-signature");
        assert_eq!(verify_simple(&[secret(1)], simple, body), Ok(()));
    }
}

/// C4 and C5: every attempt is signed anew, and the id stays.
#[tokio::test]
async fn another_attempt_has_another_time_and_the_same_id() {
    let first = seen("Bursar", |_| {}).await;
    let hour = Duration::from_hours(1);
    let second = seen("Bursar", |call| {
        call.at = call.at.checked_add(hour).unwrap();
        call.attempt = 2;
    })
    .await;
    assert_eq!(first.get("webhook-id"), second.get("webhook-id"));
    assert_ne!(first.get("webhook-signature"), second.get("webhook-signature"));
    assert_eq!(first.get("x-bursar-signature"), second.get("x-bursar-signature"));
    let now = call("").at.checked_add(hour).unwrap();
    let hear =
        |request: &Request| verify(&[secret(1)], &request.signed(), &request.body, now, TOLERANCE);
    assert_eq!(hear(&first), Err(Unverified::TooOld));
    assert_eq!(hear(&second), Ok(()));
}

/// C7: during a rotation, receivers with the old or the new secret verify the same request.
#[tokio::test]
async fn during_a_rotation_either_secret_verifies() {
    let request = seen("Bursar", |call| {
        call.secrets = vec![secret(2), secret(1)];
    })
    .await;
    let hear = |byte: u8| {
        let now = call("").at;
        verify(&[secret(byte)], &request.signed(), &request.body, now, TOLERANCE)
    };
    assert_eq!(request.get("webhook-signature").split(' ').count(), 2);
    assert_eq!([1, 2, 3].map(hear), [Ok(()), Ok(()), Err(Unverified::Signature)]);
    let simple =
        |byte| verify_simple(&[secret(byte)], request.get("x-bursar-signature"), &request.body);
    assert_eq!([1, 2].map(simple), [Ok(()), Err(Unverified::Signature)]);
}

#[tokio::test]
async fn a_call_that_cannot_be_signed_is_not_sent() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let changes: [fn(&mut OpenedCall); 5] = [
        |call| call.event_id = "evt.1".to_owned(),
        |call| call.event_id = "evt\r\n1".to_owned(),
        |call| call.event_id = String::new(),
        |call| call.event_type = "a\nb".to_owned(),
        |call| call.secrets.clear(),
    ];
    for change in changes {
        let mut call = call(&server.url());
        change(&mut call);
        assert_eq!(word(&sender().send(call, later()).await), Err(Class::Signing));
    }
    assert_eq!(server.seen(|seen| seen.connections), 0);
}

/// C10: headers are checked in every attempt, not only at registration.
#[tokio::test]
async fn a_header_that_is_not_allowed_is_not_sent() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    for (name, value) in [("webhook-signature", "v1,x"), ("x-key", "sesame\r\nx: y"), ("Host", "x")]
    {
        let mut call = call(&server.url());
        call.headers = vec![(name.to_owned(), value.to_owned())];
        let sent = sender().send(call, later()).await;
        assert_eq!(word(&sent), Err(Class::Refused));
        assert!(!format!("{sent:?}").contains("sesame"), "{sent:?}");
    }
    assert_eq!(server.seen(|seen| seen.connections), 0);
}

#[test]
fn nothing_secret_is_printed() {
    let mut call = call("https://merchant.example/?token=sesame");
    call.body = b"sesame".to_vec();
    call.headers = vec![("authorization".to_owned(), "sesame".to_owned())];
    let printed = format!("{call:?}");
    let key = secret(1).reveal();
    assert!(printed.contains("evt_1"));
    assert!(!printed.contains("sesame") && !printed.contains(&key), "{printed}");
}

#[tokio::test]
async fn a_password_in_a_url_is_not_in_the_record_of_the_attempt() {
    let sent = send(&sender(), "https://user:sesame@merchant.example/").await;
    assert_eq!(word(&sent), Err(Class::Refused));
    assert!(!format!("{sent:?}").contains("sesame"), "{sent:?}");
}

#[test]
fn a_brand_is_a_word() {
    for brand in ["", "a b", "a\r\n", "é", "-a", "a-", "a_b", &"x".repeat(33)] {
        let settings = Settings { brand: brand.to_owned(), ..settings() };
        let error = Sender::new(settings).unwrap_err();
        assert_eq!(error, BadSettings::Brand(brand.to_owned()));
    }
}
