//! Pay-ins: providers that report them, operators who close their cases, and what the auditor checks.

mod audit;
pub(crate) mod case_closers;
pub(crate) mod providers;

use std::sync::Arc;

use bursar_core::flow::FlowView;
use bursar_core::idempotency::Key;
use bursar_core::ids::{FlowId, PayInId};
use bursar_core::payins::{NewPayIn, ProviderStatus, Reply as PayInReply, ReportReply, Request};
use bursar_core::turn::{Body, Reply};

use super::audit::{Audit, Order, Shown};
use super::kinds::Kind;
use super::swarm::PAYIN_PRICE;

pub(crate) use audit::{count_case, refusal};

pub(crate) const KIND: Kind = Kind {
    name: "payin",
    letter: 'I',
    arrows: &[
        ("PENDING", &["COLLECTED", "FAILED"]),
        ("FAILED", &["COLLECTED"]),
        ("COLLECTED", &["CONTRADICTED"]),
        ("CONTRADICTED", &[]),
    ],
    causes: |body, audit| cause(body, audit).into_iter().collect(),
    outcome: |_, _| None,
    key,
    order,
    shown,
};

fn cause(body: &Body, audit: &Audit) -> Option<(FlowId, &'static str)> {
    let Body::PayIns(request) = body else { return None };
    let payin = match request {
        Request::NewPayIn(payin) => payin,
        Request::CloseCase(close) => return Some((close.id.into(), "close-case")),
    };
    let flow = audit.flow_of(&name(payin))?;
    if audit.reports_otherwise(payin, flow) {
        return Some((flow, "other-amount"));
    }
    let event = match payin.said {
        ProviderStatus::Pending => "pending",
        ProviderStatus::Completed => "completed",
        ProviderStatus::Failed => "failed",
    };
    Some((flow, event))
}

/// What the provider calls the payment.
pub(crate) fn name(payin: &NewPayIn) -> (String, String) {
    (format!("payin:{}", payin.provider), payin.reference.clone())
}

/// Another report about a pay-in is answered with the pay-in as it stands: its key is checked where it is used.
fn key(body: &Body) -> Option<&Key> {
    let Body::PayIns(request) = body else { return None };
    match request {
        Request::NewPayIn(_) => None,
        Request::CloseCase(close) => Some(&close.key),
    }
}

/// A fee that would take more than all of a pay-in is not charged.
fn order(body: &Body) -> Option<Order> {
    let Body::PayIns(request) = body else { return None };
    let payin = match request {
        Request::NewPayIn(payin) => payin,
        Request::CloseCase(_) => return None,
    };
    let order = Order::new(&payin.merchant, &payin.currency, &payin.amount, PAYIN_PRICE)?;
    let is_too_much = order.fee.saturating_add(order.vat) > order.amount;
    Some(if is_too_much { Order { fee: 0, vat: 0, ..order } } else { order })
}

fn shown(reply: &Reply) -> Option<Shown> {
    let Reply::PayIns(reply) = reply else { return None };
    let given = match reply {
        PayInReply::PayIn(given) | PayInReply::Report(ReportReply::PayIn(given)) => given,
        PayInReply::Report(ReportReply::Differs(_)) => return None,
    };
    Some(Shown {
        id: given.view.id.parse::<PayInId>().ok().map(FlowId::from),
        version: given.view.version,
        fee: given.view.fee.clone(),
        vat: given.view.vat.clone(),
        view: FlowView::PayIn(Arc::clone(&given.view)),
        is_replay: given.is_replay,
    })
}
