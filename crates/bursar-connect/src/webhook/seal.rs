//! Secrets at rest: encrypted with a key that is not in the database, and bound to the row that they belong to.

use std::fmt;

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::BASE64;

const ID_MAX: usize = 32;

/// Why the keys cannot be used. The text does not repeat an entry: without its id it would be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKeys {
    #[error("there is no key; write ID:BASE64, with 32 random bytes in base64")]
    None,
    #[error("key {0} has no id; write ID:BASE64, and commas between keys")]
    NoId(usize),
    #[error("the id of key {0} is not 1 to {ID_MAX} letters, digits, - or _")]
    BadId(usize),
    #[error("key {0} is not 32 bytes in base64; make it with: openssl rand -base64 32")]
    BadKey(usize),
    #[error("key {0} has the id of another; a sealed secret would not know which to use")]
    SameId(usize),
}

/// Why a secret cannot be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret is too long to be sealed; nothing was saved")]
pub struct CannotSeal;

/// Why a sealed secret cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    #[error(
        "the secret was sealed with key {0:?}, which is not configured; add it behind the others"
    )]
    UnknownKey(String),
    #[error("the sealed secret cannot be read; restore it, or make a new one")]
    Unreadable,
    #[error(
        "the sealed secret was changed, or belongs to another endpoint; restore it, or make a new one"
    )]
    Changed,
}

/// A secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// The id of the key that opens it.
    pub key: String,
    /// Base64 of 12 bytes.
    pub nonce: String,
    /// Base64 of the ciphertext with its tag.
    pub text: String,
}

/// `BURSAR_SECRET_KEYS=k2:<base64 of 32 bytes>,k1:…`: the first seals, all of them open. AES-256-GCM.
pub struct Keyring {
    first: (String, Aes256Gcm),
    older: Vec<(String, Aes256Gcm)>,
}

impl Keyring {
    pub fn parse(text: &str) -> Result<Self, BadKeys> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let mut keys: Vec<(String, Aes256Gcm)> = Vec::new();
        for (entry, number) in entries.zip(1..) {
            let (id, key) = read_key(entry, number)?;
            if keys.iter().any(|(known, _)| *known == id) {
                return Err(BadKeys::SameId(number));
            }
            keys.push((id, key));
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or(BadKeys::None)?;
        Ok(Self { first, older: keys.collect() })
    }

    /// A key as it is written behind its id.
    pub fn spell(key: &[u8; 32]) -> String {
        BASE64.encode(key)
    }

    /// Seals a secret for one place, such as `webhook_endpoint:we_…`: it opens nowhere else. The nonce must be drawn
    /// at random for every call and used once: two secrets under one nonce reveal each other.
    pub fn seal(&self, place: &str, secret: &[u8], nonce: [u8; 12]) -> Result<Sealed, CannotSeal> {
        let (id, key) = &self.first;
        let payload = Payload { msg: secret, aad: place.as_bytes() };
        let text = key.encrypt(&Nonce::from(nonce), payload).map_err(|_| CannotSeal)?;
        Ok(Sealed { key: id.clone(), nonce: BASE64.encode(nonce), text: BASE64.encode(text) })
    }

    pub fn open(&self, place: &str, sealed: &Sealed) -> Result<Vec<u8>, CannotOpen> {
        let unknown = || CannotOpen::UnknownKey(sealed.key.clone());
        let key = self.key(&sealed.key).ok_or_else(unknown)?;
        let nonce = BASE64.decode(&sealed.nonce).map_err(|_| CannotOpen::Unreadable)?;
        let nonce: [u8; 12] = nonce.try_into().map_err(|_| CannotOpen::Unreadable)?;
        let text = BASE64.decode(&sealed.text).map_err(|_| CannotOpen::Unreadable)?;
        let payload = Payload { msg: &text, aad: place.as_bytes() };
        key.decrypt(&Nonce::from(nonce), payload).map_err(|_| CannotOpen::Changed)
    }

    pub fn knows(&self, key_id: &str) -> bool {
        self.key(key_id).is_some()
    }

    /// The id of the key that seals; secrets under older keys can be sealed anew.
    pub fn first_id(&self) -> &str {
        &self.first.0
    }

    fn key(&self, id: &str) -> Option<&Aes256Gcm> {
        let mut keys = std::iter::once(&self.first).chain(&self.older);
        keys.find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = std::iter::once(&self.first).chain(&self.older).map(|(id, _)| id);
        f.debug_list().entries(ids).finish()
    }
}

fn read_key(entry: &str, number: usize) -> Result<(String, Aes256Gcm), BadKeys> {
    let (id, key) = entry.split_once(':').ok_or(BadKeys::NoId(number))?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !(1..=ID_MAX).contains(&id.len()) || !id.bytes().all(is_letter) {
        return Err(BadKeys::BadId(number));
    }
    let key = BASE64.decode(key.trim()).map_err(|_| BadKeys::BadKey(number))?;
    let key = Zeroizing::new(key);
    let key = Aes256Gcm::new_from_slice(&key).map_err(|_| BadKeys::BadKey(number))?;
    Ok((id.to_owned(), key))
}
