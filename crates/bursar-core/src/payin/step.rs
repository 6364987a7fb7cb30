//! The decision: what a provider's word does to a pay-in, and whether the ledger must book it.

use super::event::Said;
use super::state::State;

/// The event whose rule credits the merchant.
pub const BOOKING: &str = "PAYIN_COLLECTION";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Stays,
    Moves { state: State, is_booked: bool },
}

/// Money that came in is booked whatever was said before; nothing that was booked is taken back on a word.
pub const fn step(state: State, said: Said) -> Step {
    match (state, said) {
        (State::Pending | State::Failed, Said::Completed) => {
            Step::Moves { state: State::Collected, is_booked: true }
        }
        (State::Pending, Said::Failed) => Step::Moves { state: State::Failed, is_booked: false },
        (State::Collected, Said::Failed) => {
            Step::Moves { state: State::Contradicted, is_booked: false }
        }
        (State::Pending, Said::Pending)
        | (State::Collected | State::Contradicted, Said::Pending | Said::Completed)
        | (State::Contradicted, Said::Failed)
        | (State::Failed, Said::Pending | Said::Failed) => Step::Stays,
    }
}
