//! What people must look at: stuck payouts, open cases, and what channels report about amounts.

use super::state::{Discrepancy, Payout, State, StuckReason};
use crate::flow::ReviewReason;
use crate::payouts::attempt::Attempt;

impl Payout {
    /// Why it waits for an operator, if it does.
    pub(crate) fn review(&self) -> Option<ReviewReason> {
        match self.state {
            State::Stuck { .. } => Some(ReviewReason::Stuck),
            State::Success
            | State::Failed { .. }
            | State::Cancelled
            | State::Returned
            | State::LateSuccess => {
                (self.case.is_some() && !self.is_case_closed).then_some(ReviewReason::Case)
            }
            State::Scheduled { .. }
            | State::Ready { .. }
            | State::Submitting { .. }
            | State::Unconfirmed { .. }
            | State::Processing { .. } => None,
        }
    }

    /// The amount that the channel reports, or does not report, needs a look at the channel.
    pub(crate) fn alert(&self) -> Option<&'static str> {
        let is_open = self.case == Some(Discrepancy::AmountDiffers) && !self.is_case_closed;
        match self.state {
            State::Stuck { reason: StuckReason::AmountDiffers, .. } => Some("amount_differs"),
            _ if is_open => Some("amount_differs"),
            State::Processing { .. } | State::Stuck { .. } => {
                let is_missing = self.latest().is_some_and(Attempt::misses_amount);
                is_missing.then_some("amount_missing")
            }
            State::Scheduled { .. }
            | State::Ready { .. }
            | State::Submitting { .. }
            | State::Unconfirmed { .. }
            | State::Success
            | State::Failed { .. }
            | State::Cancelled
            | State::Returned
            | State::LateSuccess => None,
        }
    }
}
