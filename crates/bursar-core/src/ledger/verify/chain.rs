//! Checks the link of a commit in the hash chain.

use super::Verifier;
use crate::turn::{Appended, Link, SavedCommit};

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
                let found = commit.appended().digests();
                let empty = Appended { transactions: &[], events: &[], audit: &[] }.digests();
                let sections = digests.zip(found).zip(empty).zip(*archived).named();
                for (section, (((stored, found), empty), is_archived)) in sections {
                    if is_archived && found == empty {
                        self.report.archived = self.report.archived.saturating_add(1);
                    } else if found != stored {
                        self.differ(format!(
                            "the {section} of commit {seq} do not have their digest: a row was changed, added or removed"
                        ));
                    }
                }
                if archived.transactions {
                    self.differ(format!(
                        "the transactions of commit {seq} are archived, and no closing has their balances"
                    ));
                }
                self.has_archived_events |= archived.events;
            }
        }
        if commit.expected_hash(self.hash) != commit.hash {
            self.differ(format!(
                "commit {seq} does not have the hash of its rows: a row of it, or the order of commits, was changed"
            ));
        }
    }
}
