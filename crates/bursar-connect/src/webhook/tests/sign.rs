//! Signatures that other libraries verify, and verification that forged requests do not pass.

use std::time::Duration;

use hyper::HeaderMap;
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use crate::webhook::SigningSecret;
use crate::webhook::sign::{
    Headers, TOLERANCE, Unsignable, Unverified, simple, standard, verify, verify_simple,
};

const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const AT: i64 = 1_614_265_330;
const SIMPLE_OF_SEVENS: &str =
    "sha256=d4bb5602e186a047238e9e90b47aa870a83ee8a51141873d547689d70828b8f5";

fn published() -> SigningSecret {
    SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
}

fn secret(byte: u8) -> SigningSecret {
    SigningSecret::from_random([byte; 32])
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn check(secrets: &[SigningSecret], signature: &str, body: &[u8]) -> Result<(), Unverified> {
    let headers = Headers { id: ID, timestamp: &AT.to_string(), signature };
    verify(secrets, &headers, body, at(AT), TOLERANCE)
}

/// C1: the vector that the standard's own libraries are tested with.
#[test]
fn the_published_vector_comes_out() {
    let signature = standard(&published(), ID, AT, BODY).unwrap();
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_eq!(check(&[published()], &signature, BODY), Ok(()));
    let theirs = standardwebhooks::Webhook::new(&published().reveal()).unwrap();
    assert_eq!(theirs.sign(ID, AT, BODY).unwrap(), signature);
}

#[test]
fn the_reference_library_verifies_our_signatures() {
    let secret = secret(7);
    let theirs = standardwebhooks::Webhook::new(&secret.reveal()).unwrap();
    // It reads the clock by itself.
    let now = Timestamp::now().as_second();
    let mut headers = HeaderMap::new();
    let signature = standard(&secret, ID, now, BODY).unwrap();
    headers.insert("webhook-id", ID.parse().unwrap());
    headers.insert("webhook-timestamp", now.into());
    headers.insert("webhook-signature", signature.parse().unwrap());
    assert!(theirs.verify(BODY, &headers).is_ok());
    assert!(theirs.verify(b"{}", &headers).is_err());
}

#[test]
fn the_simple_signature_equals_that_of_openssl() {
    // Made with: printf '{"test": 2432232314}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:07…07
    let signature = simple(&secret(7), BODY);
    assert_eq!(signature, SIMPLE_OF_SEVENS);
    assert_eq!(verify_simple(&[secret(8), secret(7)], &signature, BODY), Ok(()));
    assert_eq!(verify_simple(&[secret(8)], &signature, BODY), Err(Unverified::Signature));
    assert_eq!(verify_simple(&[], &signature, BODY), Err(Unverified::Signature));
    let [short, long] = [&signature[..signature.len() - 2], &format!("{signature}00")];
    for claim in ["", "sha256=", short, long, "sha1=00", &signature.replace('=', ":")] {
        assert_eq!(verify_simple(&[secret(7)], claim, BODY), Err(Unverified::Signature), "{claim}");
    }
}

/// C2: the same JSON in other bytes is another body.
#[test]
fn the_bytes_are_signed_and_not_what_they_mean() {
    let bodies: [&[u8]; 6] = [
        br#"{"a":1,"b":"\u00e9"}"#,
        "{\"a\":1,\"b\":\"é\"}".as_bytes(),
        br#"{"b":"\u00e9","a":1}"#,
        b"{\"a\":1,\"b\":\"\\u00e9\"}\n",
        br#"{"a": 1,"b":"\u00e9"}"#,
        b"",
    ];
    for (number, body) in bodies.iter().enumerate() {
        let signature = standard(&secret(1), ID, AT, body).unwrap();
        for (other, received) in bodies.iter().enumerate() {
            let is_same = number == other;
            assert_eq!(check(&[secret(1)], &signature, received).is_ok(), is_same);
            let simple = simple(&secret(1), body);
            assert_eq!(verify_simple(&[secret(1)], &simple, received).is_ok(), is_same);
        }
    }
}

/// C3: `a.1` and `1.1…` must not be the same words as `a` and `1.1.1…`.
#[test]
fn an_id_with_a_dot_is_neither_signed_nor_verified() {
    for id in ["", "a.1", ".", "a b", "a\n", "é", &"x".repeat(257)] {
        assert_eq!(standard(&secret(1), id, AT, BODY), Err(Unsignable::Id), "{id}");
        let headers = Headers { id, timestamp: &AT.to_string(), signature: "v1,AAAA" };
        let verified = verify(&[secret(1)], &headers, BODY, at(AT), TOLERANCE);
        assert_eq!(verified, Err(Unverified::Id), "{id}");
    }
}

/// C4: every attempt has its own time, and so its own signature.
#[test]
fn another_time_is_another_signature() {
    let [first, second] = [AT, AT + 60].map(|time| standard(&secret(1), ID, time, BODY).unwrap());
    assert_ne!(first, second);
    assert_eq!(check(&[secret(1)], &first, BODY), Ok(()));
    assert_eq!(check(&[secret(1)], &second, BODY), Err(Unverified::Signature));
}

/// C5: a recorded request cannot be replayed later.
#[test]
fn a_request_counts_for_five_minutes() {
    let signature = standard(&secret(1), ID, AT, BODY).unwrap();
    for (age, expected) in [
        (0, Ok(())),
        (300, Ok(())),
        (301, Err(Unverified::TooOld)),
        (-300, Ok(())),
        (-301, Err(Unverified::TooNew)),
    ] {
        let headers = Headers { id: ID, timestamp: &AT.to_string(), signature: &signature };
        let verified = verify(&[secret(1)], &headers, BODY, at(AT + age), TOLERANCE);
        assert_eq!(verified, expected, "{age}");
    }
    for timestamp in ["", "soon", "+1614265330", "-1", "1614265330.0", "99999999999999999999"] {
        let headers = Headers { id: ID, timestamp, signature: &signature };
        let verified = verify(&[secret(1)], &headers, BODY, at(AT), TOLERANCE);
        assert_eq!(verified, Err(Unverified::Timestamp), "{timestamp}");
    }
    let far = Headers { id: ID, timestamp: &i64::MAX.to_string(), signature: &signature };
    let verified = verify(&[secret(1)], &far, BODY, at(AT), Duration::MAX);
    assert_eq!(verified, Err(Unverified::Signature), "nothing overflows");
}

/// C6: signatures of every length are compared, and in one place only.
#[test]
fn cut_and_lengthened_signatures_do_not_fit() {
    let signature = standard(&secret(1), ID, AT, BODY).unwrap();
    assert_eq!(check(&[secret(1)], &signature, BODY), Ok(()));
    for length in 0..signature.len() - 1 {
        let cut = &signature[..length];
        assert_eq!(check(&[secret(1)], cut, BODY), Err(Unverified::Signature), "{cut}");
    }
    for claim in
        ["v1,", "v1", "v2,AAAA", "v1,AAAA", "v1,é", "v1a,AAAA", &format!("{signature}AAAA")]
    {
        assert_eq!(check(&[secret(1)], claim, BODY), Err(Unverified::Signature), "{claim}");
    }
    let source = include_str!("../sign.rs");
    assert!(source.contains("verify_slice(claim)"));
    assert!(!source.contains("claim =="), "signatures are compared in constant time");
}

/// C7: during a rotation either secret verifies; afterwards only the new one.
#[test]
fn during_a_rotation_both_secrets_verify() {
    let [old, new] = [secret(1), secret(2)];
    let both = [&new, &old].map(|secret| standard(secret, ID, AT, BODY).unwrap()).join(" ");
    for known in [&old, &new] {
        assert_eq!(check(std::slice::from_ref(known), &both, BODY), Ok(()));
    }
    let after = standard(&new, ID, AT, BODY).unwrap();
    assert_eq!(check(std::slice::from_ref(&new), &after, BODY), Ok(()));
    assert_eq!(check(std::slice::from_ref(&old), &after, BODY), Err(Unverified::Signature));
    assert_eq!(check(&[old.clone(), new.clone()], &after, BODY), Ok(()));
    let with_other_kinds = format!("v1a,AAAA  {both} v9,?");
    assert_eq!(check(&[old], &with_other_kinds, BODY), Ok(()));
}

proptest! {
    #[test]
    fn every_signed_body_verifies_and_no_other(
        key in vec(any::<u8>(), 24..=64),
        id in "[A-Za-z0-9_-]{1,40}",
        body in vec(any::<u8>(), 0..200),
        flip in any::<usize>(),
    ) {
        let secret = SigningSecret::from_bytes(key).unwrap();
        let signature = standard(&secret, &id, AT, &body).unwrap();
        let theirs = standardwebhooks::Webhook::from_bytes(secret.bytes().to_vec()).unwrap();
        // The reference library signs text only; a body may be any bytes.
        if std::str::from_utf8(&body).is_ok() {
            prop_assert_eq!(theirs.sign(&id, AT, &body).ok(), Some(signature.clone()));
        }
        let timestamp = AT.to_string();
        let headers = Headers { id: &id, timestamp: &timestamp, signature: &signature };
        let hear = |body: &[u8]| verify(std::slice::from_ref(&secret), &headers, body, at(AT), TOLERANCE);
        prop_assert_eq!(hear(&body), Ok(()));
        let mut changed = body.clone();
        changed.push(0);
        let place = flip % changed.len();
        changed[place] ^= 1;
        prop_assert_eq!(hear(&changed), Err(Unverified::Signature));
        let claim = simple(&secret, &body);
        prop_assert!(verify_simple(std::slice::from_ref(&secret), &claim, &body).is_ok());
        prop_assert!(verify_simple(std::slice::from_ref(&secret), &claim, &changed).is_err());
    }
}
