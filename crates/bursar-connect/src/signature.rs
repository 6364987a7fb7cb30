//! HMAC-SHA256, as text.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::secret::Secret;

/// The scheme that a signature begins with.
const SCHEME: &str = "sha256=";

/// `sha256=` and the HMAC-SHA256 of the message in hexadecimal.
pub(crate) fn sign(secret: &Secret, message: &[u8]) -> String {
    let digest = mac(secret, message).map(|mac| mac.finalize().into_bytes());
    format!("{SCHEME}{}", digest.map_or(String::new(), |digest| hex(&digest)))
}

/// Whether the signature is that of the message with the secret. Compares in constant time.
pub(crate) fn verify(secret: &Secret, signature: &str, message: &[u8]) -> bool {
    let claimed = signature.trim().strip_prefix(SCHEME).and_then(from_hex);
    match (claimed, mac(secret, message)) {
        (Some(claimed), Some(mac)) => mac.verify_slice(&claimed).is_ok(),
        (Some(_) | None, _) => false,
    }
}

/// The SHA-256 of a message in hexadecimal.
pub(crate) fn digest(message: &[u8]) -> String {
    hex(&Sha256::digest(message))
}

/// None for an empty secret: it neither signs nor verifies.
fn mac(secret: &Secret, message: &[u8]) -> Option<Hmac<Sha256>> {
    let key = secret.reveal().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok().filter(|_| !key.is_empty())?;
    mac.update(message);
    Some(mac)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at.saturating_add(2)));
    let bytes = pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::{Secret, digest, sign, verify};

    #[test]
    fn a_signature_equals_the_published_vector() {
        // RFC 4231, test case 2.
        let signature = sign(&Secret::new("Jefe"), b"what do ya want for nothing?");
        assert_eq!(
            signature,
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            digest(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn only_the_right_secret_and_message_verify() {
        let secret = Secret::new("a");
        let signature = sign(&secret, b"body");
        assert!(verify(&secret, &signature, b"body"));
        assert!(!verify(&secret, &signature, b"other body"));
        assert!(!verify(&Secret::new("b"), &signature, b"body"));
        for signature in ["", "sha256=", "sha256=00", "sha256=é", &signature.replace('=', ":")] {
            assert!(!verify(&secret, signature, b"body"), "{signature}");
        }
        let empty = Secret::new("");
        assert!(!verify(&empty, &sign(&empty, b"body"), b"body"), "no secret proves nothing");
    }
}
