//! Ids: UUIDs of version 7, derived from a given time and seed, with a prefix that names their type.

mod reference;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

pub use reference::{FirstReferences, KeyRange, next_reference};

/// Randomness as a value: the host gives each admitted request a seed, and every random value is derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 16]);

impl Seed {
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Bytes that depend on the seed, a purpose and a number, and on nothing else.
    pub fn derive(&self, purpose: &str, number: u64) -> [u8; 32] {
        Sha256::new()
            .chain_update(self.0)
            .chain_update(number.to_be_bytes())
            .chain_update(purpose.as_bytes())
            .finalize()
            .into()
    }
}

impl Seed {
    /// The joint seed of several requests.
    #[must_use]
    pub fn join<'s>(seeds: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut hash = Sha256::new();
        for seed in seeds {
            hash.update(seed.0);
        }
        let bytes: [u8; 32] = hash.finalize().into();
        Self(bytes.first_chunk().copied().unwrap_or_default())
    }

    /// The seed of one of several objects that a request creates. Length prefix, so that two names cannot be confused.
    #[must_use]
    pub fn child(&self, names: [&str; 2]) -> Self {
        let mut hash = Sha256::new().chain_update(self.0);
        for name in names {
            let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
            hash = hash.chain_update(length.to_be_bytes()).chain_update(name.as_bytes());
        }
        let bytes: [u8; 32] = hash.finalize().into();
        Self(bytes.first_chunk().copied().unwrap_or_default())
    }
}

/// A number for tests and simulations.
impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        Self(u128::from(number).to_be_bytes())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}: it begins with `{prefix}_` and 32 hexadecimal digits follow")]
pub struct IdError {
    text: String,
    what: &'static str,
    prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// The id number `number` that a request with this time and seed creates.
            pub fn new(now: Timestamp, seed: &Seed, number: u64) -> Self {
                Self(uuid(now, seed, Self::PREFIX, number))
            }

            /// An id as a store keeps it.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        const _: () = assert!($prefix.len() + 33 <= SPELLED_MAX);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(format_into(concat!($prefix, "_"), self.0, &mut [0; SPELLED_MAX]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text, Self::PREFIX).map(Self).ok_or_else(|| IdError {
                    text: text.chars().take(80).collect(),
                    what: $what,
                    prefix: Self::PREFIX,
                })
            }
        }
    };
}

/// The id of one kind of flow.
macro_rules! flow_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        id!($(#[$doc])* $name, $prefix, $what);

        impl From<$name> for FlowId {
            fn from(id: $name) -> Self {
                Self(id.0)
            }
        }
    };
}

id!(
    /// A transaction of the ledger.
    TransactionId, "tx", "a transaction id"
);

id!(
    /// One saved turn.
    CommitId, "cm", "a commit id"
);

id!(
    /// A flow of any kind, as the stores identify it.
    FlowId, "fl", "a flow id"
);

impl FlowId {
    /// The least id of a flow that was created at this time or later. Ids begin with the millisecond of their creation.
    pub fn first_at(time: Timestamp) -> Self {
        let milliseconds = u64::try_from(time.as_millisecond()).unwrap_or_default();
        Self(Uuid::from_u128(u128::from(milliseconds) << 80))
    }
}

flow_id!(PayoutId, "po", "a payout id");

flow_id!(PayInId, "pi", "a pay-in id");

flow_id!(ApprovalId, "apr", "an approval id");

id!(BeneficiaryId, "ben", "a beneficiary id");

id!(
    /// The books: the same in every copy, backup and replica of them, and different from all other books.
    BooksId, "bk", "an id of books"
);

impl BooksId {
    /// Books in memory, which no channel outside knows.
    pub const NONE: Self = Self(Uuid::nil());
}

id!(ApiKeyId, "key", "an API key id");

id!(
    /// A webhook endpoint of a merchant.
    EndpointId, "we", "a webhook endpoint id"
);

flow_id!(
    /// One event for one endpoint.
    DeliveryId, "dlv", "a delivery id"
);

id!(
    /// An event of the feed.
    EventId, "evt", "an event id"
);

impl DeliveryId {
    /// One event for one endpoint has one id. It shares the first half with the event id, so that all deliveries of an
    /// event are adjacent in the store.
    pub fn of(event: EventId, endpoint: EndpointId) -> Self {
        let hash = Sha256::new()
            .chain_update(event.uuid().as_bytes())
            .chain_update(endpoint.uuid().as_bytes())
            .finalize();
        let (bytes, hash) = (event.uuid().into_bytes(), <[u8; 32]>::from(hash));
        let begin = bytes.first_chunk::<8>().copied().unwrap_or_default();
        let own = hash.first_chunk::<8>().copied().unwrap_or_default();
        let both =
            (u128::from(u64::from_be_bytes(begin)) << 64) | u128::from(u64::from_be_bytes(own));
        Self(Builder::from_u128(both).with_variant(uuid::Variant::RFC4122).into_uuid())
    }
}

impl EventId {
    /// The range of the ids of its deliveries, first and last.
    pub fn deliveries(self) -> (FlowId, FlowId) {
        let begin = self.0.as_u128() >> 64 << 64;
        let last = begin | u128::from(u64::MAX);
        (FlowId(Uuid::from_u128(begin)), FlowId(Uuid::from_u128(last)))
    }
}

/// The name of a flow: its id with the prefix of its kind.
pub(crate) fn name(prefix: &str, uuid: Uuid) -> String {
    let mut digits = Uuid::encode_buffer();
    let digits = uuid.simple().encode_lower(&mut digits);
    let mut text = String::with_capacity(SPELLED_MAX);
    text.push_str(prefix);
    text.push('_');
    text.push_str(digits);
    text
}

/// Ids of one prefix sort by time, and randomly within a millisecond.
fn uuid(now: Timestamp, seed: &Seed, prefix: &str, number: u64) -> Uuid {
    let bytes = seed.derive(prefix, number);
    let random = bytes.first_chunk::<10>().copied().unwrap_or_default();
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

/// Length of the longest id: `key_` and 32 digits.
const SPELLED_MAX: usize = 36;

/// Writes the id in one piece, so that a conversion to text allocates once.
fn format_into<'r>(prefix: &str, uuid: Uuid, room: &'r mut [u8; SPELLED_MAX]) -> &'r str {
    let mut digits = Uuid::encode_buffer();
    let digits = uuid.simple().encode_lower(&mut digits);
    for (slot, byte) in room.iter_mut().zip(prefix.bytes().chain(digits.bytes())) {
        *slot = byte;
    }
    let length = prefix.len().saturating_add(digits.len());
    room.get(..length).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
}

/// Accepts exactly what `Display` writes, so that one id has one spelling.
pub(crate) fn parse(text: &str, prefix: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let is_canonical = digits.len() == 32
        && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_canonical { Uuid::try_parse(digits).ok() } else { None }
}

#[cfg(test)]
mod tests;
