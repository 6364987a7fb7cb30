//! Idempotency keys: the same request under the same key gets the same reply, and nothing is done twice.
//!
//! A key is saved in the commit that does the work. A refusal saves nothing, so the same key may be tried again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::flow::{Flow, FlowState, to_json};
use crate::ids::FlowId;
use crate::rejection::Rejection;
use crate::{delivery, payin, payout, reservation};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    scope: String,
    words: String,
    digest: KeyDigest,
}

/// What a key is looked up by.
pub type KeyDigest = [u8; 16];

/// A key whose work was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    pub key: Key,
    pub request_hash: [u8; 32],
    pub flow: FlowId,
    pub reply: Arc<FlowReply>,
    /// The reply as the stores keep it.
    pub text: String,
}

/// What is answered about a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FlowReply {
    Reservation(reservation::View),
    Payout(payout::View),
    #[serde(rename = "payin")]
    PayIn(payin::View),
    Delivery(delivery::View),
}

impl Key {
    /// The scope says whose key it is: two callers may use the same words.
    pub fn new(scope: String, words: String) -> Self {
        let mut hash = Sha256::new();
        for part in [&scope, &words] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let bytes: [u8; 32] = hash.finalize().into();
        let digest = bytes.first_chunk().copied().unwrap_or_default();
        Self { scope, words, digest }
    }

    pub fn scope(&self) -> &str {
        &self.scope
    }

    pub fn words(&self) -> &str {
        &self.words
    }

    pub const fn digest(&self) -> KeyDigest {
        self.digest
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let is_good = |text: &str| {
            (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if is_good(&self.scope) && is_good(&self.words) { Ok(()) } else { Err(Rejection::BadKey) }
    }
}

impl KnownKey {
    /// The reply that was given, to somebody who asks for the same again.
    pub(crate) fn replay(
        &self,
        key: &Key,
        request_hash: [u8; 32],
    ) -> Result<Arc<FlowReply>, Rejection> {
        if self.key != *key || self.request_hash != request_hash {
            return Err(Rejection::KeyReused { key: key.words.clone() });
        }
        Ok(Arc::clone(&self.reply))
    }
}

impl FlowReply {
    /// A flow as people see it.
    pub fn new(flow: &Flow) -> Self {
        match &flow.state {
            FlowState::Reservation(reservation) => {
                Self::Reservation(reservation::View::new(flow, reservation))
            }
            FlowState::Payout(payout) => Self::Payout(payout::View::new(flow, payout)),
            FlowState::PayIn(payin) => Self::PayIn(payin::View::new(flow, payin)),
            FlowState::Delivery(delivery) => Self::Delivery(delivery::View::new(flow, delivery)),
        }
    }

    pub fn encode(&self) -> String {
        to_json(self)
    }

    pub fn decode(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
