//! A step with its consequences for the flow: whether it emits an event, and whether it is a new version.

use super::event::Event;
use super::state::Payout;
use super::step::{Context, Step, step};
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    pub step: Step,
    /// The status or the discrepancy changed: the step emits one event, with the next sequence number.
    pub is_notified: bool,
    /// A decision must name this version.
    pub is_new_version: bool,
}

/// Makes one step; none if it changes nothing.
pub fn advance(
    payout: &Payout,
    event: &Event,
    context: &Context<'_>,
) -> Result<Option<Advance>, Rejection> {
    let mut step = step(payout, event, context)?;
    let next = &mut step.payout;
    if next == payout {
        return Ok(None);
    }
    let is_notified = next.state.status() != payout.state.status() || next.case != payout.case;
    // A version counts the fields that operators decide on. The time of the next query and a pending proposal are not
    // among them.
    let is_new_version = is_notified
        || next.attempts != payout.attempts
        || next.reason() != payout.reason()
        || next.is_case_closed != payout.is_case_closed
        || next.terms.scheduled_at != payout.terms.scheduled_at
        || next.is_urgent != payout.is_urgent;
    if is_new_version && !matches!(event, Event::Decided(_)) {
        // The first operator decided on an older version.
        next.proposal = None;
    }
    Ok(Some(Advance { step, is_notified, is_new_version }))
}
