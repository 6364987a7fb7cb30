//! Whether the request that is decided was approved, in a draft.

use super::Draft;
use crate::four_eyes::Action;
use crate::money::Money;
use crate::rejection::Rejection;

impl Draft<'_> {
    /// Fails if one person may not do this alone, unless it was approved.
    pub(crate) fn check_alone(
        &self,
        action: Action,
        amount: Option<Money>,
    ) -> Result<(), Rejection> {
        if self.is_approved || !self.rules.needs_approval(action, amount) {
            return Ok(());
        }
        Err(Rejection::ApprovalNeeded { action: action.name() })
    }

    /// Whether as many people as it needs have approved the request that is decided.
    pub(crate) const fn is_approved(&self) -> bool {
        self.is_approved
    }

    /// How many entries of the audit log the turn has made.
    pub(crate) const fn audit_entries(&self) -> usize {
        self.audit.len()
    }

    /// Decides a request that was approved.
    pub(crate) fn as_approved<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        self.is_approved = true;
        let done = act(self);
        self.is_approved = false;
        done
    }
}
