//! Checks the link of a commit in the hash chain.

use super::Verifier;
use crate::turn::{Digests, Link, SavedCommit, Sections};

impl Verifier<'_> {
    /// Compares the rows with the digests of their sections, and the hash with the digests.
    pub(super) fn link(&mut self, commit: &SavedCommit) {
        let seq = commit.seq;
        match &commit.link {
            Link::V1 if self.is_chain_v2 => self.differ(format!(
                "commit {seq} is linked as version 1 behind one of version 2: it was added or changed"
            )),
            Link::V1 => {}
            Link::V2 { digests, archived } => {
                self.is_chain_v2 = true;
                self.sections(commit, digests, *archived);
            }
            Link::Unknown { version } => self.differ(format!(
                "commit {seq} is linked as version {version}, and this version does not know its columns: they were changed, or a newer version wrote them"
            )),
        }
        if commit.expected_hash(self.hash).is_some_and(|expected| expected != commit.hash) {
            self.differ(format!(
                "commit {seq} does not have its hash: its rows, its time, its digests or the order of commits were changed"
            ));
        }
    }

    /// A section whose rows are in an archive is linked by its digest. No archive is known yet, so that every mark is a
    /// difference: otherwise a mark would hide that rows were deleted.
    fn sections(&mut self, commit: &SavedCommit, digests: &Digests, archived: Sections<bool>) {
        let seq = commit.seq;
        let is_empty = Sections {
            transactions: commit.transactions.is_empty(),
            events: commit.events.is_empty(),
            audit: commit.audit.is_empty(),
        };
        let sections = digests.zip(commit.appended().digests()).zip(archived.zip(is_empty));
        for (section, ((stored, found), (is_archived, is_empty))) in sections.named() {
            if is_archived {
                self.differ(format!(
                    "the {section} of commit {seq} are marked as archived, and no archive is known that has them"
                ));
            }
            if found != stored && !(is_archived && is_empty) {
                self.differ(format!(
                    "the {section} of commit {seq} do not have their digest: a row was changed, added or removed"
                ));
            }
        }
    }
}
