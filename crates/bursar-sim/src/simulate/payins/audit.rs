//! What the auditor checks of pay-ins: a report of another amount books nothing and leaves a case.

use bursar_core::flow::{Flow, ReviewReason};
use bursar_core::ids::FlowId;
use bursar_core::money::Currency;
use bursar_core::payins::{
    Case, NewPayIn, OTHER_REPORTS_MAX, OtherReport, PayIn, Reply as PayInReply, ReportReply,
    Request,
};
use bursar_core::rejection::Rejection;
use bursar_core::turn::{Answer, Body, Commit, FlowWrite, Reply};

use super::name;
use crate::simulate::audit::{Audit, minor};
use crate::simulate::coverage::{Coverage, add};
use crate::simulate::invariant::Invariant;

/// Merchant, currency and amount, in the arithmetic of the auditor.
type Values = (String, String, Option<i128>);

fn reported(report: &NewPayIn) -> Values {
    values(&report.merchant, &report.currency, &report.amount)
}

fn values(merchant: &str, currency: &str, amount: &str) -> Values {
    let known = currency.parse::<Currency>().ok();
    let amount = known.and_then(|known| minor(amount, u32::from(known.decimals())));
    (merchant.to_owned(), currency.to_owned(), amount)
}

fn booked(payin: &PayIn) -> Values {
    let funds = &payin.terms.funds;
    let currency = funds.amount.currency().to_string();
    (funds.merchant.clone(), currency, Some(funds.amount.minor().into()))
}

fn is_in(case: &Case, report: &NewPayIn) -> bool {
    let is_same = |known: &OtherReport| {
        known.said == report.said
            && values(&known.merchant, &known.currency, &known.amount) == reported(report)
    };
    case.reports.len() >= OTHER_REPORTS_MAX || case.reports.iter().any(is_same)
}

/// The rejection with which a caller is answered.
pub(crate) fn refusal(answer: &Answer) -> Option<&Rejection> {
    match answer {
        Err(rejection) => Some(rejection),
        Ok(Reply::PayIns(PayInReply::Report(ReportReply::Differs(rejection)))) => Some(rejection),
        Ok(_) => None,
    }
}

impl Audit {
    /// Whether the pay-in that was saved has other values.
    pub(crate) fn reports_otherwise(&self, report: &NewPayIn, flow: FlowId) -> bool {
        let saved = self.flows.get(&flow).and_then(|flow| flow.state.payin());
        saved.is_some_and(|payin| booked(payin) != reported(report))
    }

    /// A report of other values is answered like a rejection, and is in the case of the pay-in.
    pub(crate) fn look_at_report(&mut self, body: &Body, answer: &Answer) {
        let Body::PayIns(Request::NewPayIn(report)) = body else { return };
        let is_differing = match answer {
            Ok(Reply::PayIns(PayInReply::Report(ReportReply::Differs(_)))) => true,
            Ok(_) => false,
            Err(rejection) if rejection.code() == "reference_reused" => false,
            // Rejected before there was a pay-in.
            Err(_) => return,
        };
        let Some(id) = self.flow_of(&name(report)) else { return };
        let saved = self.flows.get(&id).and_then(|flow| flow.state.payin());
        let case = saved.and_then(|payin| payin.case.as_ref());
        let is_kept = case.is_some_and(|case| is_in(case, report));
        let (differs, about) = (self.reports_otherwise(report, id), self.name(id));
        let holds = differs == is_differing && (is_kept || !differs);
        self.check(Invariant::OtherAmountIsKept, &about, holds, || {
            let NewPayIn { amount, currency, .. } = report;
            format!("{amount} {currency} was reported, and no case has it")
        });
    }

    /// What is new in a case is for a person to see, and books nothing.
    pub(crate) fn look_at_case(&mut self, write: &FlowWrite, commit: &Commit) {
        let Some(after) = write.after.state.payin() else { return };
        let before = write.before.as_ref().and_then(|flow| flow.state.payin());
        let (name, about) = (write.after.name(), self.name(write.after.id));
        let bookings = commit.transactions.iter().filter(|it| it.reference == name).count();
        let was_booked = before.is_some_and(|payin| payin.state.is_booked());
        let expected = usize::from(after.state.is_booked() && !was_booked);
        self.check(Invariant::OtherAmountIsKept, &about, bookings == expected, || {
            format!("it was booked {bookings} times, should be {expected}")
        });
        let count = |payin: &PayIn| payin.case.as_ref().map_or(0, |case| case.reports.len());
        if before.map_or(0, count) == count(after) {
            return;
        }
        let mut entries = commit.audit.iter();
        let is_closed = entries.any(|it| it.action == "payin.close_case" && it.resource == name);
        let is_open = write.after.state.review() == Some(ReviewReason::Case);
        self.check(Invariant::OtherAmountIsKept, &about, is_open || is_closed, || {
            "another amount was reported, and no case is open".to_owned()
        });
    }
}

/// Counts how cases open and close.
pub(crate) fn count_case(coverage: &mut Coverage, before: Option<&Flow>, after: &Flow) {
    let status = |flow: &Flow| match flow.state.payin()?.case.as_ref() {
        None => Some("none"),
        Some(case) if case.is_closed => Some("closed"),
        Some(_) => Some("open"),
    };
    let Some(to) = status(after) else { return };
    let from = before.and_then(status).unwrap_or("none");
    if from != to {
        let event = if to == "closed" { "close-case" } else { "other-amount" };
        add(coverage, "payin-case", (from, event, to));
    }
}
