//! The decision: the effect of a provider's report on a pay-in, and whether the ledger must book it.

use super::event::ProviderStatus;
use super::state::State;

/// The ledger event that credits the merchant.
pub const BOOKING: &str = "PAYIN_COLLECTION";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Stays,
    Moves { state: State, is_booked: bool },
}

/// A completed payment is booked whatever the provider reported before. No report reverts a booking.
pub const fn step(state: State, reported: ProviderStatus) -> Step {
    match (state, reported) {
        (State::Pending | State::Failed, ProviderStatus::Completed) => {
            Step::Moves { state: State::Collected, is_booked: true }
        }
        (State::Pending, ProviderStatus::Failed) => {
            Step::Moves { state: State::Failed, is_booked: false }
        }
        (State::Collected, ProviderStatus::Failed) => {
            Step::Moves { state: State::Contradicted, is_booked: false }
        }
        (State::Pending, ProviderStatus::Pending)
        | (
            State::Collected | State::Contradicted,
            ProviderStatus::Pending | ProviderStatus::Completed,
        )
        | (State::Contradicted, ProviderStatus::Failed)
        | (State::Failed, ProviderStatus::Pending | ProviderStatus::Failed) => Step::Stays,
    }
}
