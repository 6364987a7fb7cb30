//! Connections that are used again: they save time and must cost nothing else.

use bursar_connect::{Auth, HttpSettings, Secret, callback};
use sha2::{Digest as _, Sha256};

use crate::effects::{class, http, later, query, submit, word};
use crate::script::{Act, Seen, Server, answer};

fn completed(reference: &str) -> Act {
    answer(200, &format!(r#"{{"status":"completed","clientCorrelationId":"{reference}"}}"#))
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_answer_that_names_its_reference() {
    let acts = vec![Act::Read, completed("a"), Act::Read, completed("b"), Act::Stay];
    let server = Server::new(vec![acts]).await;
    let connections = http(HttpSettings::new(&server.url));
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
    assert_eq!(class(&submit(&connections, "b", later()).await), "paid");
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (1, 2));
}

#[tokio::test]
async fn an_answer_without_a_name_ends_the_connection() {
    let acts = vec![Act::Read, answer(200, r#"{"status":"completed"}"#), Act::Stay];
    let server = Server::new(vec![acts]).await;
    let connections = http(HttpSettings::new(&server.url));
    for reference in ["a", "b"] {
        assert_eq!(class(&submit(&connections, reference, later()).await), "paid");
    }
    assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (2, 2));
}

/// The second answer to the first call must not be taken for the answer to the second call.
#[tokio::test]
async fn a_second_answer_is_not_taken_for_the_next_ones() {
    let twice = vec![Act::Read, completed("a"), completed("a"), Act::Read, Act::Stay];
    let server = Server::new(vec![twice, vec![Act::Read, answer(500, "")]]).await;
    let connections = http(HttpSettings::new(&server.url));
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
    let outcome = submit(&connections, "b", later()).await;
    assert_eq!(class(&outcome), "unknown", "{outcome:?}");
    assert!(server.seen(Seen::requests) <= 2, "each was sent once");
}

/// The same, with an answer that names no reference and is late.
#[tokio::test]
async fn an_answer_that_names_nobody_is_not_believed_on_a_used_connection() {
    let nameless = answer(200, r#"{"status":"completed"}"#);
    let acts = vec![Act::Read, completed("a"), Act::Read, nameless, Act::Stay];
    let server = Server::new(vec![acts]).await;
    let connections = http(HttpSettings::new(&server.url));
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
    assert_eq!(class(&submit(&connections, "b", later()).await), "unknown");
}

/// A server closes what idles. The connector notices a closed connection before it writes.
#[tokio::test]
async fn a_connection_that_died_while_idle_is_not_used() {
    for last in [vec![], vec![Act::Reset]] {
        let once = [vec![Act::Read, completed("a")], last].concat();
        let server = Server::new(vec![once, vec![Act::Read, completed("b"), Act::Stay]]).await;
        let connections = http(HttpSettings::new(&server.url));
        assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
        let outcome = submit(&connections, "b", later()).await;
        assert_eq!(class(&outcome), "paid", "{outcome:?}");
        assert_eq!(server.seen(|seen| (seen.connections, seen.requests())), (2, 2));
    }
}

#[tokio::test]
async fn nothing_is_sent_after_the_lease_on_a_used_connection() {
    let acts = vec![Act::Read, completed("a"), Act::Read, completed("b"), Act::Stay];
    let server = Server::new(vec![acts]).await;
    let connections = http(HttpSettings::new(&server.url));
    assert_eq!(class(&submit(&connections, "a", later()).await), "paid");
    let now = tokio::time::Instant::now();
    assert_eq!(class(&submit(&connections, "b", now).await), "not sent");
    assert_eq!(word(&query(&connections, "b", now).await), "failed");
    assert_eq!(server.seen(Seen::requests), 1);
}

/// What a provider's server sees of a request with these settings.
async fn sent(auth: Auth) -> (String, String) {
    let server = Server::new(vec![vec![Act::Read, completed("a"), Act::Stay]]).await;
    let settings = HttpSettings {
        auth,
        callback_url: Some("https://us.example/callbacks".to_owned()),
        debit_party: Some("float-7".to_owned()),
        ..HttpSettings::new(format!("{}/mm/v1/", server.url))
    };
    assert_eq!(class(&submit(&http(settings), "a", later()).await), "paid");
    let text = server.seen(|seen| String::from_utf8(seen.bytes.clone()).unwrap());
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_submission_says_everything_that_a_provider_needs() {
    let (head, body) = sent(Auth::Bearer(Secret::new("open-sesame"))).await;
    assert!(head.starts_with("POST /mm/v1/transactions HTTP/1.1\r\n"), "{head}");
    for line in [
        "x-correlationid: a",
        "x-callback-url: https://us.example/callbacks",
        "authorization: Bearer open-sesame",
        "content-type: application/json",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} is missing in {head}");
    }
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let expected = serde_json::json!({
        "amount": "1500.00",
        "currency": "PKR",
        "type": "disbursement",
        "requestingOrganisationTransactionReference": "a",
        "debitParty": [{"key": "accountid", "value": "float-7"}],
        "creditParty": [{"key": "msisdn", "value": "+923001234567"}],
        "recipientKyc": {"subjectName": {"fullName": "Asma"}},
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_signed_submission_can_be_verified() {
    let secret = Secret::new("open-sesame");
    let auth = Auth::Hmac { key_id: "k1".to_owned(), secret: secret.clone() };
    let (head, body) = sent(auth).await;
    let value = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("{name} is missing in {head}"))
    };
    assert_eq!(value("x-key-id"), "k1");
    let digest =
        Sha256::digest(&body).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let message = format!("POST\n/mm/v1/transactions\n{}\n{digest}", value("x-timestamp"));
    assert!(callback::verify(&secret, value("x-signature"), message.as_bytes()));
    assert!(!head.contains("sesame"));
}
