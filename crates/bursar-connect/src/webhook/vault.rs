//! Seals the secrets and the own headers of endpoints, each bound to its endpoint.

use std::collections::BTreeMap;

use bursar_core::ids::EndpointId;

use super::seal::{CannotOpen, CannotSeal, Keyring, Sealed};
use super::secret::SigningSecret;

/// Seals and opens for endpoints.
#[derive(Debug)]
pub struct Vault(Keyring);

impl Vault {
    pub const fn new(keys: Keyring) -> Self {
        Self(keys)
    }

    /// The nonce must be drawn at random for every call and used once.
    pub fn seal_secret(
        &self,
        endpoint: EndpointId,
        secret: &SigningSecret,
        nonce: [u8; 12],
    ) -> Result<String, CannotSeal> {
        self.seal(&secret_place(endpoint), secret.bytes(), nonce)
    }

    pub fn seal_headers(
        &self,
        endpoint: EndpointId,
        headers: &BTreeMap<String, String>,
        nonce: [u8; 12],
    ) -> Result<String, CannotSeal> {
        let text = serde_json::to_vec(headers).map_err(|_| CannotSeal)?;
        self.seal(&headers_place(endpoint), &text, nonce)
    }

    pub fn open_secret(
        &self,
        endpoint: EndpointId,
        sealed: &str,
    ) -> Result<SigningSecret, CannotOpen> {
        let bytes = self.open(&secret_place(endpoint), sealed)?;
        SigningSecret::from_bytes(bytes).map_err(|_| CannotOpen::Unreadable)
    }

    pub fn open_headers(
        &self,
        endpoint: EndpointId,
        sealed: &str,
    ) -> Result<BTreeMap<String, String>, CannotOpen> {
        let bytes = self.open(&headers_place(endpoint), sealed)?;
        serde_json::from_slice(&bytes).map_err(|_| CannotOpen::Unreadable)
    }

    /// The same secret, sealed with the key that seals now.
    pub fn reseal_secret(
        &self,
        endpoint: EndpointId,
        sealed: &str,
        nonce: [u8; 12],
    ) -> Result<String, CannotOpen> {
        let secret = self.open_secret(endpoint, sealed)?;
        self.seal_secret(endpoint, &secret, nonce).map_err(|_| CannotOpen::Unreadable)
    }

    /// The same for headers.
    pub fn reseal_headers(
        &self,
        endpoint: EndpointId,
        sealed: &str,
        nonce: [u8; 12],
    ) -> Result<String, CannotOpen> {
        let headers = self.open_headers(endpoint, sealed)?;
        self.seal_headers(endpoint, &headers, nonce).map_err(|_| CannotOpen::Unreadable)
    }

    /// Whether it was sealed with the key that seals now.
    pub fn is_current(&self, sealed: &str) -> bool {
        let sealed: Option<Sealed> = serde_json::from_str(sealed).ok();
        sealed.is_some_and(|sealed| sealed.key == self.0.first_id())
    }

    fn seal(&self, place: &str, secret: &[u8], nonce: [u8; 12]) -> Result<String, CannotSeal> {
        let sealed = self.0.seal(place, secret, nonce)?;
        serde_json::to_string(&sealed).map_err(|_| CannotSeal)
    }

    fn open(&self, place: &str, sealed: &str) -> Result<Vec<u8>, CannotOpen> {
        let sealed: Sealed = serde_json::from_str(sealed).map_err(|_| CannotOpen::Unreadable)?;
        self.0.open(place, &sealed)
    }
}

fn secret_place(endpoint: EndpointId) -> String {
    format!("webhook_endpoint:{endpoint}")
}

fn headers_place(endpoint: EndpointId) -> String {
    format!("webhook_endpoint_headers:{endpoint}")
}

#[cfg(test)]
mod tests {
    use bursar_core::ids::Seed;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_secret_of_one_endpoint_does_not_open_for_another() {
        let keys = |id: &str| format!("{id}:{}", "A".repeat(43));
        let vault = Vault::new(Keyring::parse(&keys("k1")).unwrap());
        let endpoint = |number| EndpointId::new(Timestamp::UNIX_EPOCH, &Seed::from(number), 0);
        let secret = SigningSecret::from_random([7; 32]);
        let sealed = vault.seal_secret(endpoint(1), &secret, [1; 12]).unwrap();
        assert_eq!(vault.open_secret(endpoint(1), &sealed).unwrap().bytes(), [7; 32]);
        assert_eq!(vault.open_secret(endpoint(2), &sealed).unwrap_err(), CannotOpen::Changed);
        assert!(vault.open_headers(endpoint(1), &sealed).is_err(), "a secret is no header");
        let headers = BTreeMap::from([("x-token".to_owned(), "open sesame".to_owned())]);
        let sealed = vault.seal_headers(endpoint(1), &headers, [2; 12]).unwrap();
        assert!(!sealed.contains("sesame"));
        assert_eq!(vault.open_headers(endpoint(1), &sealed).unwrap(), headers);
        let other = Vault::new(Keyring::parse(&keys("k2")).unwrap());
        assert!(vault.is_current(&sealed) && !other.is_current(&sealed));
        let unknown = CannotOpen::UnknownKey("k1".to_owned());
        assert_eq!(other.open_headers(endpoint(1), &sealed).unwrap_err(), unknown);
        assert_eq!(
            vault.open_headers(endpoint(1), "nonsense").unwrap_err(),
            CannotOpen::Unreadable
        );
    }
}
