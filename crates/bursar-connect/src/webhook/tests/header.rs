//! C10: headers that an endpoint may add, and those that it may not.

use proptest::prelude::{prop_assert, proptest};

use crate::webhook::{BadHeader, check_header};

#[test]
fn an_endpoint_may_have_headers_of_its_own() {
    for (name, value) in [
        ("Authorization", "Bearer open-sesame"),
        ("X-Api-Key", "a b!~"),
        ("x-other-signature", ""),
        ("cookie", "a=1; b=2"),
        ("x-bursary-id", "1"),
    ] {
        assert_eq!(check_header(name, value, "Bursar"), Ok(()), "{name}");
    }
}

#[test]
fn headers_of_bursar_are_refused_in_every_spelling() {
    for name in [
        "Host",
        "content-length",
        "Content-Type",
        "content_length",
        "Transfer-Encoding",
        "connection",
        "TE",
        "trailer",
        "Upgrade",
        "expect",
        "accept-encoding",
        "user-agent",
        "X-Bursar-Signature",
        "x-bursar-anything",
        "x_bursar_signature",
        "webhook-id",
        "Webhook-Signature",
        "webhook_timestamp",
    ] {
        let error = check_header(name, "x", "Bursar").unwrap_err();
        assert_eq!(error, BadHeader::Ours(name.to_lowercase()), "{name}");
    }
    assert_eq!(check_header("x-bursar-id", "x", "Simpaisa"), Ok(()));
    assert!(check_header("x-simpaisa-id", "x", "Simpaisa").is_err());
}

#[test]
fn a_header_cannot_inject_another() {
    for value in ["a\r\nb: c", "a\nb", "a\rb", "a\0", "a\tb", "é", "\u{7f}", " a", "a "] {
        let error = check_header("x-key", value, "Bursar").unwrap_err();
        assert_eq!(error, BadHeader::Value("x-key".to_owned()), "{value:?}");
        assert!(value.len() < 4 || !error.to_string().contains(value));
    }
    for name in ["", "a b", "a:", "a\r\n", "é", "a\0", ":authority", "a.b", &"x".repeat(65)] {
        assert_eq!(check_header(name, "x", "Bursar"), Err(BadHeader::Name), "{name:?}");
    }
    assert_eq!(check_header(&"x".repeat(64), &"y".repeat(1_024), "Bursar"), Ok(()));
    let long = check_header("x-key", &"y".repeat(1_025), "Bursar");
    assert_eq!(long, Err(BadHeader::Long("x-key".to_owned())));
}

proptest! {
    #[test]
    fn every_accepted_header_can_be_sent(name in ".{0,20}", value in "\\PC{0,40}") {
        if check_header(&name, &value, "Bursar").is_ok() {
            prop_assert!(hyper::header::HeaderName::try_from(name).is_ok());
            prop_assert!(hyper::header::HeaderValue::try_from(value).is_ok());
        }
    }
}
