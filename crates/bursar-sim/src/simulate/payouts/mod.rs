//! Payouts: merchants and operators, hostile channels, the calls to them, and what the auditor checks.

mod audit;
mod calls;
pub(crate) mod channel;
mod coverage;
pub(crate) mod merchants;
pub(crate) mod operators;

use super::kinds::Kind;

pub(crate) use audit::truths;
pub(crate) use calls::{CallEvent, ChannelCall, InFlight};
pub(crate) use coverage::{causes, count_attempt, outcome_name};

pub(crate) const KIND: Kind = Kind {
    name: "payout",
    letter: 'P',
    arrows: &[
        ("SCHEDULED", &["READY", "CANCELLED"]),
        (
            "READY",
            &["SUBMITTING", "CANCELLED", "PROCESSING", "SUCCESS", "RETURNED", "FAILED", "STUCK"],
        ),
        (
            "SUBMITTING",
            &["READY", "UNCONFIRMED", "PROCESSING", "STUCK", "SUCCESS", "RETURNED", "FAILED"],
        ),
        ("UNCONFIRMED", &["READY", "PROCESSING", "STUCK", "SUCCESS", "RETURNED", "FAILED"]),
        ("PROCESSING", &["READY", "STUCK", "SUCCESS", "RETURNED", "FAILED"]),
        ("STUCK", &["READY", "SUCCESS", "RETURNED", "FAILED"]),
        ("SUCCESS", &["RETURNED"]),
        ("FAILED", &["LATE_SUCCESS", "RETURNED"]),
        ("CANCELLED", &["LATE_SUCCESS", "RETURNED"]),
        ("LATE_SUCCESS", &["RETURNED"]),
        ("RETURNED", &[]),
    ],
};
