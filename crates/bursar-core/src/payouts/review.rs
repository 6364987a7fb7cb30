//! What people must look at: stuck payouts, open cases, and what channels report about amounts.

use super::state::{Payout, State};
use crate::flow::{FlowAlert, ReviewReason};
use crate::payouts::attempt::Attempt;

impl Payout {
    /// Why it waits for an operator, if it does.
    pub(crate) fn review(&self) -> Option<ReviewReason> {
        match self.state {
            State::Stuck { .. } => Some(ReviewReason::Stuck),
            State::Success
            | State::Failed { .. }
            | State::Cancelled
            | State::Expired
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

    /// What needs a look at the channel: amounts that it reports, or does not report; or at this machine.
    pub(crate) fn alert(&self) -> Option<FlowAlert> {
        if self.review().is_some() && self.reports_other_amount() {
            return Some(FlowAlert::AmountDiffers);
        }
        match self.state {
            State::Processing { .. } | State::Stuck { .. } => {
                let is_missing = self.latest().is_some_and(Attempt::misses_amount);
                is_missing.then_some(FlowAlert::AmountMissing)
            }
            State::Scheduled { .. }
            | State::Ready { .. }
            | State::Submitting { .. }
            | State::Unconfirmed { .. }
                if self.is_unproven() =>
            {
                Some(FlowAlert::Restored)
            }
            State::Ready { .. } => {
                let is_ours = self.latest().is_some_and(Attempt::was_last_try_ours);
                is_ours.then_some(FlowAlert::NotSent)
            }
            State::Scheduled { .. }
            | State::Submitting { .. }
            | State::Unconfirmed { .. }
            | State::Success
            | State::Failed { .. }
            | State::Cancelled
            | State::Expired
            | State::Returned
            | State::LateSuccess => None,
        }
    }
}
