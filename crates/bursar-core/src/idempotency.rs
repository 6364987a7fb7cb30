//! Idempotency keys: the same request under the same key gets the same reply, and its work is done once.
//!
//! A key is saved in the commit that does the work. A rejection saves nothing, so the caller may use the same key
//! again.

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::flow::FlowView;
use crate::ids::FlowId;
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    scope: String,
    value: String,
    digest: KeyDigest,
}

/// The lookup key of the stores.
pub type KeyDigest = [u8; 16];

/// A key whose work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    pub key: Key,
    pub request_hash: [u8; 32],
    pub flow: FlowId,
    /// None if this version cannot read the stored text: only the request that uses the key is affected.
    pub reply: Option<FlowView>,
    /// The reply as the stores keep it.
    pub text: String,
}

impl Key {
    /// The scope says who owns the key: two callers may use the same value.
    pub fn new(scope: String, value: String) -> Self {
        let mut hash = Sha256::new();
        for part in [&scope, &value] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let bytes: [u8; 32] = hash.finalize().into();
        let digest = bytes.first_chunk().copied().unwrap_or_default();
        Self { scope, value, digest }
    }

    pub fn scope(&self) -> &str {
        &self.scope
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    pub const fn digest(&self) -> KeyDigest {
        self.digest
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let is_good = |text: &str| {
            (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if is_good(&self.scope) && is_good(&self.value) { Ok(()) } else { Err(Rejection::BadKey) }
    }
}

/// The part of a stored reply that every version reads.
#[derive(Deserialize)]
struct Named {
    id: String,
}

impl KnownKey {
    /// A key as a store has read it. A reply of another version may be unreadable here.
    pub fn stored(key: Key, request_hash: [u8; 32], flow: FlowId, text: String) -> Self {
        let reply = FlowView::decode(&text).ok();
        Self { key, request_hash, flow, reply, text }
    }

    /// The name of the flow in the stored reply, as far as it can be read.
    fn resource(&self) -> String {
        let named = serde_json::from_str::<Named>(&self.text);
        named.map_or_else(|_| self.flow.to_string(), |named| named.id)
    }

    /// The stored reply for a repeated request.
    pub(crate) fn replay(&self, key: &Key, request_hash: [u8; 32]) -> Result<&FlowView, Rejection> {
        if self.key != *key || self.request_hash != request_hash {
            return Err(Rejection::KeyReused { key: key.value.clone() });
        }
        self.reply.as_ref().ok_or_else(|| Rejection::UnreadableReply {
            key: key.value.clone(),
            id: self.resource(),
        })
    }
}
