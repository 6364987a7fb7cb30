//! The columns of a commit that say how it is linked: `version`, `digests`, `archived`.

use bursar_core::turn::{Digests, Link, Sections};

/// The version of the links that this process writes.
pub(crate) const CHAIN_VERSION: i64 = 2;

/// A link that cannot be read must not hide the other commits: the verifier reports it.
pub(crate) fn link(version: i64, digests: Option<&[u8]>, archived: i64) -> Link {
    let known = digests.and_then(Digests::from_bytes).zip(Sections::from_bits(archived));
    match (version, digests, known) {
        (1, None, _) if archived == 0 => Link::V1,
        (CHAIN_VERSION, _, Some((digests, archived))) => Link::V2 { digests, archived },
        _ => Link::Unknown { version },
    }
}
