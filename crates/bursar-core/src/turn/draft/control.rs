//! What holds payouts back, in a draft.

use super::Draft;
use crate::freezes::{Control, ControlWrite};

impl Draft<'_> {
    /// Precondition (optimistic lock) if the turn sends or releases money, or changes a freeze: the store rejects the commit
    /// with `Conflict` unless what holds payouts back still has the version that was read.
    pub(super) fn control_write(&self) -> Option<ControlWrite> {
        let version = self.control_before.version;
        let is_changed = self.control != self.control_before;
        let after = Control { version: version.saturating_add(1), ..self.control.clone() };
        let after = is_changed.then_some(after);
        (self.relies_on_control || is_changed).then_some(ControlWrite { version, after })
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// What held payouts back when the turn began.
    pub(crate) fn control_as_read(&self) -> &Control {
        &self.control_before
    }

    pub(crate) fn control_mut(&mut self) -> &mut Control {
        &mut self.control
    }

    /// The turn decides something that a freeze or a restore may forbid.
    pub(crate) fn rely_on_control(&mut self) {
        self.relies_on_control = true;
    }
}
