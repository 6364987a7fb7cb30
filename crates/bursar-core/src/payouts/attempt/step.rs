//! The join: adds evidence to an attempt.

use jiff::Timestamp;

use super::event::Evidence;
use super::state::Attempt;

/// Beyond this number, the attempt keeps evidence only if its verdict is new.
const EVIDENCE_MAX: usize = 64;

impl Attempt {
    /// Adds evidence and returns whether it is new. Order and repetition do not matter: the same evidence gives the
    /// same knowledge.
    pub fn merge(&mut self, evidence: Evidence, received_at: Timestamp) -> bool {
        if let Some(first) = self.evidence.get_mut(&evidence) {
            *first = received_at.min(*first);
            return false;
        }
        let is_known_verdict = self.evidence.keys().any(|known| known.verdict == evidence.verdict);
        if is_known_verdict && self.evidence.len() >= EVIDENCE_MAX {
            return false;
        }
        self.evidence.insert(evidence, received_at);
        true
    }
}
