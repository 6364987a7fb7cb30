//! References of attempts at channels: UUIDs of version 8, the form that most channels require.
//!
//! A pure function of the request, so that the same request has the same reference in every copy of the books, also in one
//! that was restored from a backup and has forgotten the request. Other books have other references for the same key.

use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid, Variant, Version};

use super::BooksId;

/// A UUID has six bits for its version and its variant, so a reference tells all bits of a key but the last six.
const UNTOLD: u128 = 0x3f;

/// The first references of the payouts of some books. Each follows from the digest of the payout's idempotency key, and
/// leads back to it: the index of the keys finds the payout, and the reference needs none of its own.
#[derive(Debug, Clone, Copy)]
pub struct FirstReferences {
    mask: u128,
}

/// The digests that share a first reference: they differ in the last six bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange(u128);

impl FirstReferences {
    pub fn of(books: BooksId) -> Self {
        let hash = Sha256::new().chain_update(b"first reference").chain_update(books.0.as_bytes());
        Self { mask: first_half(&hash.finalize().into()) }
    }

    /// The reference of the first attempt of the payout that is made under this key.
    pub fn of_key(self, digest: &[u8; 16]) -> String {
        spelled((u128::from_be_bytes(*digest) ^ self.mask) >> 6)
    }

    /// The keys whose payout has this first reference; none if no key has it.
    pub fn keys(self, reference: &str) -> Option<KeyRange> {
        let uuid = Uuid::try_parse(reference).ok()?.as_u128();
        let told = (uuid >> 80 << 74) | ((uuid >> 64 & 0xfff) << 62) | (uuid & (u128::MAX >> 66));
        // One reference has one spelling.
        (spelled(told) == reference).then_some(KeyRange(((told << 6) ^ self.mask) & !UNTOLD))
    }
}

impl KeyRange {
    /// The number of digests in it.
    pub const SIZE: u32 = 64;

    pub const fn first(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    pub const fn last(self) -> [u8; 16] {
        (self.0 | UNTOLD).to_be_bytes()
    }

    pub const fn contains(self, digest: &[u8; 16]) -> bool {
        u128::from_be_bytes(*digest) & !UNTOLD == self.0
    }
}

/// The reference of a later attempt. It follows from the first one, which every copy of the payout has.
pub fn next_reference(first: &str, attempt: u32) -> String {
    let hash = Sha256::new().chain_update(attempt.to_be_bytes()).chain_update(first);
    let bytes = first_half(&hash.finalize().into()).to_be_bytes();
    let builder = Builder::from_bytes(bytes).with_variant(Variant::RFC4122);
    builder.with_version(Version::Custom).into_uuid().to_string()
}

fn first_half(hash: &[u8; 32]) -> u128 {
    u128::from_be_bytes(hash.first_chunk().copied().unwrap_or_default())
}

/// 122 bits as a UUID: 48 of them, the version, 12 of them, the variant, and the rest.
fn spelled(bits: u128) -> String {
    let (begin, middle, end) = (bits >> 74, bits >> 62 & 0xfff, bits & (u128::MAX >> 66));
    let uuid = (begin << 80) | (0x8 << 76) | (middle << 64) | (0b10 << 62) | end;
    Uuid::from_u128(uuid).to_string()
}
