//! C8: stored secrets are encrypted, and open only for their own row.

use crate::webhook::{BadKeys, CannotOpen, Keyring, Sealed, SigningSecret};

const PLACE: &str = "webhook_endpoint:we_1";
const NEW: &str = "k2:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const OLD: &str = "k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const STORED: &str = "q39CoO5DY7IeOS+vQcKCQ0s+TRyqUWsYVblY";

fn sealed(keys: &str, secret: &[u8]) -> Sealed {
    Keyring::parse(keys).unwrap().seal(PLACE, secret, [9; 12]).unwrap()
}

#[test]
fn a_sealed_secret_opens_with_any_key_of_the_ring() {
    let both = Keyring::parse(&format!("{NEW}, {OLD}")).unwrap();
    assert_eq!(both.first_id(), "k2");
    assert!(both.knows("k1") && both.knows("k2") && !both.knows("k3"));
    let secret = SigningSecret::from_random([7; 32]);
    for keys in [OLD, NEW] {
        let opened = both.open(PLACE, &sealed(keys, secret.bytes())).unwrap();
        assert_eq!(SigningSecret::from_bytes(opened).unwrap().reveal(), secret.reveal());
    }
    assert_eq!(sealed(&format!("{NEW},{OLD}"), b"x").key, "k2", "the first one seals");
}

/// Made with another implementation (Python's `cryptography`), so that a backup can be read with the key alone.
#[test]
fn the_stored_form_is_plain_aes_256_gcm() {
    let stored = sealed(OLD, b"open sesame");
    assert_eq!(stored.nonce, "CQkJCQkJCQkJCQkJ");
    assert_eq!(stored.text, STORED);
}

#[test]
fn a_sealed_secret_opens_only_unchanged_and_in_its_place() {
    let keys = Keyring::parse(OLD).unwrap();
    let stored = sealed(OLD, b"open sesame");
    assert_eq!(keys.open("webhook_endpoint:we_2", &stored), Err(CannotOpen::Changed));
    let letters = stored.text.trim_end_matches('=').len();
    for place in 0..letters - 1 {
        let mut text = stored.text.clone();
        let other = if stored.text[place..].starts_with('A') { "B" } else { "A" };
        text.replace_range(place..=place, other);
        let changed = Sealed { text, ..stored.clone() };
        assert_eq!(keys.open(PLACE, &changed), Err(CannotOpen::Changed), "letter {place}");
    }
    let nonce = "CQkJCQkJCQkJCQkI".to_owned();
    let changed = Sealed { nonce, ..stored.clone() };
    assert_eq!(keys.open(PLACE, &changed), Err(CannotOpen::Changed));
    for (nonce, text) in [("AAAA", stored.text.as_str()), ("!", &stored.text), (&stored.nonce, "!")]
    {
        let broken =
            Sealed { key: "k1".to_owned(), nonce: nonce.to_owned(), text: text.to_owned() };
        assert_eq!(keys.open(PLACE, &broken), Err(CannotOpen::Unreadable));
    }
    let empty = Sealed { text: String::new(), ..stored.clone() };
    assert_eq!(keys.open(PLACE, &empty), Err(CannotOpen::Changed));
}

#[test]
fn a_missing_key_is_named() {
    let stored = sealed(OLD, b"open sesame");
    let error = Keyring::parse(NEW).unwrap().open(PLACE, &stored).unwrap_err();
    assert_eq!(error, CannotOpen::UnknownKey("k1".to_owned()));
    let same_id_other_key = NEW.replace("k2", "k1");
    let error = Keyring::parse(&same_id_other_key).unwrap().open(PLACE, &stored).unwrap_err();
    assert_eq!(error, CannotOpen::Changed);
}

#[test]
fn keys_that_cannot_be_used_are_refused_by_number() {
    let wrong = |text: &str| Keyring::parse(text).unwrap_err();
    assert_eq!(wrong(""), BadKeys::None);
    assert_eq!(wrong(" , "), BadKeys::None);
    assert_eq!(wrong("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="), BadKeys::NoId(1));
    assert_eq!(wrong(&format!("{NEW},k 1:AQEB")), BadKeys::BadId(2));
    assert_eq!(wrong(":AQEB"), BadKeys::BadId(1));
    assert_eq!(wrong(&format!("{NEW},k1:AQEB")), BadKeys::BadKey(2));
    assert_eq!(wrong("k1:open sesame"), BadKeys::BadKey(1));
    assert_eq!(wrong(&format!("{NEW},{NEW}")), BadKeys::SameId(2));
}

#[test]
fn neither_keys_nor_secrets_are_printed_or_stored_in_clear() {
    let keys = Keyring::parse(&format!("{NEW},{OLD}")).unwrap();
    assert_eq!(format!("{keys:?}"), r#"["k2", "k1"]"#);
    let secret = SigningSecret::from_random([7; 32]);
    let stored = serde_json::to_string(&sealed(OLD, secret.bytes())).unwrap();
    assert!(!stored.contains(secret.reveal().trim_start_matches("whsec_")), "{stored}");
    assert_eq!(serde_json::from_str::<Sealed>(&stored).unwrap(), sealed(OLD, secret.bytes()));
    let more = stored.replace('{', r#"{"more":1,"#);
    assert!(serde_json::from_str::<Sealed>(&more).is_err());
}
