//! The case of a pay-in: reports under its reference with another amount, currency or merchant. They book nothing, and an
//! operator looks at them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::event::{NewPayIn, ProviderStatus};
use super::state::{PayIn, Terms};
use crate::flow::{FlowAlert, ReviewReason};
use crate::ledger::funds::parse_money;
use crate::rejection::Rejection;

/// Maximum number of reports kept in one case. A later one is not kept, but opens a closed case again.
pub const OTHER_REPORTS_MAX: usize = 16;

/// Maximum length of a reported value in characters: a value that cannot be booked has any length.
const VALUE_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The first of each kind, oldest first.
    pub reports: Vec<OtherReport>,
    /// An operator has closed the case. Another report that is not among these opens it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_closed: bool,
}

/// A report with other values than those of the pay-in, as its sender wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherReport {
    pub merchant: String,
    /// A decimal, if it can be read.
    pub amount: String,
    pub currency: String,
    pub said: ProviderStatus,
    /// The provider's own id of the report, or a digest of it.
    pub event: String,
    pub at: Timestamp,
}

impl OtherReport {
    pub(super) fn new(new: &NewPayIn, at: Timestamp) -> Self {
        let (amount, currency) = match parse_money("amount", &new.amount, &new.currency) {
            Ok(money) => (money.decimal(), money.currency().to_string()),
            Err(_) => (bounded(&new.amount), bounded(&new.currency)),
        };
        let (merchant, event) = (bounded(&new.merchant), new.event.clone());
        Self { merchant, amount, currency, said: new.said, event, at }
    }

    /// Whether the pay-in has another amount, currency or merchant.
    pub(super) fn differs_from(&self, terms: &Terms) -> bool {
        let (merchant, amount) = (&terms.funds.merchant, terms.funds.amount);
        self.merchant != *merchant
            || self.currency != amount.currency().code()
            || self.amount != amount.decimal()
    }

    /// Whether both say the same about the payment. A payment that is completed now is more than a pending one.
    fn says_as(&self, other: &Self) -> bool {
        let values = |it: &Self| (it.merchant.clone(), it.amount.clone(), it.currency.clone());
        self.said == other.said && values(self) == values(other)
    }
}

fn bounded(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(VALUE_MAX).collect()
}

/// The case with a report of other values; none if the report changes nothing, because the case has it.
pub fn keep_report(case: Option<&Case>, report: OtherReport) -> Option<Case> {
    let Some(case) = case else {
        return Some(Case { reports: vec![report], is_closed: false });
    };
    let is_known = case.reports.iter().any(|known| known.says_as(&report));
    let is_full = case.reports.len() >= OTHER_REPORTS_MAX;
    if is_known || (is_full && !case.is_closed) {
        return None;
    }
    let mut reports = case.reports.clone();
    if !is_full {
        reports.push(report);
    }
    Some(Case { reports, is_closed: false })
}

/// The case after an operator has closed it; none if there is no open case.
pub fn close_case(case: Option<&Case>) -> Option<Case> {
    let open = case.filter(|case| !case.is_closed)?;
    Some(Case { reports: open.reports.clone(), is_closed: true })
}

impl PayIn {
    /// Why an operator must look, or had to look, at it.
    pub(super) fn reason(&self) -> Option<&'static str> {
        self.case.as_ref().map(|_| FlowAlert::AmountDiffers.name())
    }

    /// Why it waits for an operator, if it does.
    pub(super) fn open_case(&self) -> Option<ReviewReason> {
        self.case.as_ref().filter(|case| !case.is_closed).map(|_| ReviewReason::Case)
    }

    pub(super) fn closed(&self) -> Result<Self, Rejection> {
        let closed = close_case(self.case.as_ref());
        let case = closed.ok_or(Rejection::NoOpenCase { status: self.state.status() })?;
        Ok(Self { case: Some(case), ..self.clone() })
    }
}
