//! Signing secrets of webhooks.

use std::fmt;

use base64::Engine as _;
use zeroize::Zeroizing;

use super::BASE64;

const PREFIX: &str = "whsec_";
const BYTES_MIN: usize = 24;
const BYTES_MAX: usize = 64;

/// Why a text is not a signing secret. It does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    #[error("a signing secret begins with {PREFIX}")]
    Prefix,
    #[error("what follows {PREFIX} is not base64; copy the secret as a whole")]
    Base64,
    #[error("a signing secret has {BYTES_MIN} to {BYTES_MAX} bytes, not {0}; make a new one")]
    Length(usize),
}

/// `whsec_` and base64 of 24 to 64 bytes. `Debug` does not print it, and its memory is wiped.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

impl SigningSecret {
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let text = text.trim().strip_prefix(PREFIX).ok_or(BadSecret::Prefix)?;
        Self::from_bytes(BASE64.decode(text).map_err(|_| BadSecret::Base64)?)
    }

    /// From bytes that were drawn at random.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    /// From the bytes of [`Self::bytes`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, BadSecret> {
        let bytes = Zeroizing::new(bytes);
        if (BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(BadSecret::Length(bytes.len()))
        }
    }

    /// The text form: shown once, when it is made.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", BASE64.encode(self.0.as_slice()))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE64, BadSecret, SigningSecret};
    use base64::Engine as _;

    #[test]
    fn a_secret_is_read_as_it_was_shown() {
        let secret = SigningSecret::from_random([7; 32]);
        assert_eq!(SigningSecret::parse(&secret.reveal()).unwrap().bytes(), [7; 32]);
        assert!(secret.reveal().starts_with("whsec_"));
        let unpadded = secret.reveal().trim_end_matches('=').to_owned();
        assert_eq!(SigningSecret::parse(&unpadded).unwrap().bytes(), [7; 32]);
    }

    #[test]
    fn short_long_and_empty_secrets_are_refused() {
        for (count, is_good) in [(0, false), (23, false), (24, true), (64, true), (65, false)] {
            let text = format!("whsec_{}", BASE64.encode(vec![1; count]));
            assert_eq!(SigningSecret::parse(&text).is_ok(), is_good, "{count} bytes");
        }
        assert_eq!(SigningSecret::parse("").unwrap_err(), BadSecret::Prefix);
        assert_eq!(SigningSecret::parse("whsec_").unwrap_err(), BadSecret::Length(0));
        assert_eq!(SigningSecret::parse("whsec_open sesame").unwrap_err(), BadSecret::Base64);
    }

    #[test]
    fn neither_a_secret_nor_its_error_is_printed() {
        let secret = SigningSecret::from_random([7; 32]);
        assert_eq!(format!("{secret:?}"), "SigningSecret(hidden)");
        let error = SigningSecret::parse("whsec_open!sesame").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sesame"));
    }
}
