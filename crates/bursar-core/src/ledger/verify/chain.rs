//! Checks the link of a commit in the hash chain.

use super::Verifier;
use crate::turn::{Digests, Link, SavedCommit, Sections};

/// The place in the chain behind a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainEnd {
    pub hash: [u8; 32],
    /// A commit of version 2 came before.
    is_v2: bool,
}

impl ChainEnd {
    /// Behind a commit of either version.
    pub const fn after(hash: [u8; 32]) -> Self {
        Self { hash, is_v2: false }
    }

    /// Goes on behind the next commit. Returns the differences: of the rows to the digests of their sections, and of the
    /// hash to the digests.
    pub fn link(&mut self, commit: &SavedCommit) -> Vec<String> {
        let seq = commit.seq;
        let mut differences = Vec::new();
        match &commit.link {
            Link::V1 if self.is_v2 => differences.push(format!(
                "commit {seq} is linked as version 1 behind one of version 2: it was added or changed"
            )),
            Link::V1 => {}
            Link::V2 { digests, archived } => {
                self.is_v2 = true;
                sections(commit, digests, *archived, &mut differences);
            }
            Link::Unknown { version } => differences.push(format!(
                "commit {seq} is linked as version {version}, and this version does not know its columns: they were changed, or a newer version wrote them"
            )),
        }
        if commit.expected_hash(self.hash).is_some_and(|expected| expected != commit.hash) {
            differences.push(format!(
                "commit {seq} does not have its hash: its rows, its time, its digests or the order of commits were changed"
            ));
        }
        // Continues with the stored hash, so that one changed row is reported once and not in every later commit.
        self.hash = commit.hash;
        differences
    }
}

/// A section whose rows are in an archive is linked by its digest. No archive is known yet, so that every mark is a
/// difference: otherwise a mark would hide that rows were deleted.
fn sections(
    commit: &SavedCommit,
    digests: &Digests,
    archived: Sections<bool>,
    differences: &mut Vec<String>,
) {
    let seq = commit.seq;
    let is_empty = Sections {
        transactions: commit.transactions.is_empty(),
        events: commit.events.is_empty(),
        audit: commit.audit.is_empty(),
    };
    let sections = digests.zip(commit.appended().digests()).zip(archived.zip(is_empty));
    for (section, ((stored, found), (is_archived, is_empty))) in sections.named() {
        if is_archived {
            differences.push(format!(
                "the {section} of commit {seq} are marked as archived, and no archive is known that has them"
            ));
        }
        if found != stored && !(is_archived && is_empty) {
            differences.push(format!(
                "the {section} of commit {seq} do not have their digest: a row was changed, added or removed"
            ));
        }
    }
}

impl Verifier<'_> {
    pub(super) fn link(&mut self, commit: &SavedCommit) {
        for difference in self.chain.link(commit) {
            self.differ(difference);
        }
    }
}
