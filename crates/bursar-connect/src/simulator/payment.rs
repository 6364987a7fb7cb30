//! One payment in the provider's books, and the answers about it.

use std::time::Duration;

use serde::Serialize;

use super::dice::Dice;
use super::provider::{Action, Order};
use crate::gsma::{self, ErrorBody, Status};

/// Every payment that was ever processed, in the order of their references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Books {
    pub payments: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub reference: String,
    pub amount: String,
    pub currency: String,
    pub state: State,
    pub submissions: u32,
    pub times_paid: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Paid,
    NotPaid,
    Pending,
}

/// A reference that the provider has processed.
#[derive(Debug)]
pub(super) struct Payment {
    amount: String,
    currency: String,
    /// The provider's own name for it.
    name: String,
    pub(super) submissions: u32,
    pub(super) times_paid: u32,
    /// Submissions that are still to be decided.
    pub(super) pending: u32,
    refusal: Option<&'static str>,
    pub(super) visible_at: Duration,
}

impl Payment {
    /// A payment of what was ordered, or of another amount.
    pub(super) fn new(order: &Order, dice: Dice, is_wrong: bool) -> Self {
        Self {
            amount: if is_wrong { WRONG_AMOUNT.to_owned() } else { order.amount.clone() },
            currency: order.currency.clone(),
            name: dice.name(),
            submissions: 0,
            times_paid: 0,
            pending: 0,
            refusal: None,
            visible_at: Duration::ZERO,
        }
    }

    pub(super) fn pay(&mut self) {
        self.times_paid = self.times_paid.saturating_add(1);
    }

    pub(super) fn finish(&mut self, pays: bool) {
        self.pending = self.pending.saturating_sub(1);
        if pays {
            self.pay();
        } else {
            self.refusal = Some("PayeeUnavailable");
        }
    }

    pub(super) fn refuse(&mut self, is_passing: bool, dice: Dice) {
        let codes = if is_passing { PASSING } else { PERMANENT };
        let at = usize::from(dice.chance(500));
        self.refusal = codes.get(at).copied();
    }

    const fn state(&self) -> State {
        match (self.times_paid, self.pending) {
            (0, 0) => State::NotPaid,
            (0, _) => State::Pending,
            (_, _) => State::Paid,
        }
    }

    pub(super) const fn status(&self) -> Status {
        match self.state() {
            State::Paid => Status::Completed,
            State::NotPaid => Status::Failed,
            State::Pending => Status::Pending,
        }
    }

    pub(super) fn entry(&self, reference: &str) -> Entry {
        Entry {
            reference: reference.to_owned(),
            amount: self.amount.clone(),
            currency: self.currency.clone(),
            state: self.state(),
            submissions: self.submissions,
            times_paid: self.times_paid,
        }
    }

    pub(super) fn describe(&self, reference: &str, status: Status) -> gsma::State {
        let refusal = self.refusal.filter(|_| status == Status::Failed);
        gsma::State {
            status: status.word().to_owned(),
            client_correlation_id: Some(reference.to_owned()),
            transaction_reference: Some(self.name.clone()),
            amount: Some(self.amount.clone()),
            currency: Some(self.currency.clone()),
            error_reference: refusal.map(error_body),
        }
    }

    /// The answer to its submission.
    pub(super) fn submitted(&self, reference: &str) -> Action {
        let status = match (self.state(), self.refusal) {
            (State::NotPaid, refusal) => return error(400, refusal.unwrap_or("FormatError")),
            (State::Paid, _) => 200,
            (State::Pending, _) => 202,
        };
        Action::Answer { status, body: to_json(&self.describe(reference, self.status())) }
    }

    /// The answer to a query.
    pub(super) fn answered(&self, reference: &str) -> Action {
        Action::Answer { status: 200, body: to_json(&self.describe(reference, self.status())) }
    }
}

/// What a provider pays instead of the amount that was ordered.
const WRONG_AMOUNT: &str = "0.01";

const PERMANENT: [&str; 2] = ["AccountClosed", "AccountNotFound"];
const PASSING: [&str; 2] = ["SystemBusy", "InsufficientFloat"];

fn error_body(code: &'static str) -> ErrorBody {
    ErrorBody { error_code: code.to_owned(), error_description: None }
}

pub(super) fn error(status: u16, code: &'static str) -> Action {
    Action::Answer { status, body: to_json(&error_body(code)) }
}

pub(super) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
