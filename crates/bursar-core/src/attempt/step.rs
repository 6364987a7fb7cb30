//! The join: evidence is added to what is known.

use jiff::Timestamp;

use super::event::Evidence;
use super::state::Attempt;

/// More than this is kept only if it says something new.
const EVIDENCE_MAX: usize = 64;

impl Attempt {
    /// Adds evidence, and says whether it is new. Whatever the order and however often: the same evidence, the same knowledge.
    pub fn merge(&mut self, evidence: Evidence, received_at: Timestamp) -> bool {
        if let Some(first) = self.evidence.get_mut(&evidence) {
            *first = received_at.min(*first);
            return false;
        }
        let says_nothing_new = self.evidence.keys().any(|known| known.verdict == evidence.verdict);
        if says_nothing_new && self.evidence.len() >= EVIDENCE_MAX {
            return false;
        }
        self.evidence.insert(evidence, received_at);
        true
    }
}
