//! A step as the records keep it: whether the merchant is told, and whether people see another version.

use super::event::Event;
use super::state::Payout;
use super::step::{Context, Step, step};
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    pub step: Step,
    /// Another status, or another case: one event, with the next number.
    pub is_told: bool,
    /// Whoever decides must have seen this.
    pub is_new_version: bool,
}

/// One step; none if nothing has changed.
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
    let is_told = next.state.status() != payout.state.status() || next.case != payout.case;
    // What people look at. The hour of the next question, or what one of two has proposed, is none of it.
    let is_new_version =
        is_told || next.attempts != payout.attempts || next.reason() != payout.reason();
    if is_new_version && !matches!(event, Event::Decided(_)) {
        // Whoever decided had not seen this.
        next.proposal = None;
    }
    Ok(Some(Advance { step, is_told, is_new_version }))
}
