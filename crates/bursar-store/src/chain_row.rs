//! The columns of a commit that say how it is linked: `version`, `digests`, `archived`.

use bursar_core::turn::{Digests, Link, Sections};

use crate::StoreError;
use crate::chart_lines::damaged;

/// The version of the links that this process writes.
pub(crate) const CHAIN_VERSION: i64 = 2;

/// The link of commit `seq`.
pub(crate) fn link(
    seq: i64,
    version: i64,
    digests: Option<&[u8]>,
    archived: i64,
) -> Result<Link, StoreError> {
    match (version, digests, digests.and_then(Digests::from_bytes)) {
        (1, None, _) => Ok(Link::V1),
        (CHAIN_VERSION, _, Some(digests)) => {
            Ok(Link::V2 { digests, archived: Sections::from_bits(archived) })
        }
        _ => Err(damaged(format!(
            "commit {seq} is linked as version {version}, and its digests are not those of that version"
        ))),
    }
}
