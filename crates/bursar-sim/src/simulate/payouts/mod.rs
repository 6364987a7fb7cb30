//! Payouts: merchants and operators, hostile channels, the calls to them, and what the auditor checks.

mod audit;
mod calls;
pub(crate) mod channel;
mod coverage;
pub(crate) mod dispatch;
pub(crate) mod merchants;
pub(crate) mod operators;

use std::sync::Arc;

use bursar_core::flow::{FlowView, Outcome};
use bursar_core::idempotency::Key;
use bursar_core::ids::{FlowId, PayoutId};
use bursar_core::payouts::{Reply as PayoutReply, Request};
use bursar_core::turn::{Body, Reply};

use super::audit::{Order, Shown};
use super::kinds::Kind;
use super::swarm::PAYOUT_PRICE;

pub(crate) use audit::truths;
pub(crate) use calls::{CallEvent, ChannelCall, InFlight};
pub(crate) use coverage::count_attempt;

pub(crate) const KIND: Kind = Kind {
    name: "payout",
    letter: 'P',
    arrows: &[
        ("SCHEDULED", &["SUBMITTING", "CANCELLED", "EXPIRED"]),
        (
            "READY",
            &[
                "SUBMITTING",
                "CANCELLED",
                "EXPIRED",
                "PROCESSING",
                "SUCCESS",
                "RETURNED",
                "FAILED",
                "STUCK",
            ],
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
        ("EXPIRED", &["LATE_SUCCESS", "RETURNED"]),
        ("LATE_SUCCESS", &["RETURNED"]),
        ("RETURNED", &[]),
    ],
    causes: coverage::causes,
    outcome: |outcome, _| {
        let Outcome::Payout(event) = outcome else { return None };
        Some(coverage::outcome_name(event))
    },
    key,
    order,
    shown,
};

fn key(body: &Body) -> Option<&Key> {
    let Body::Payouts(request) = body else { return None };
    match request {
        Request::Create(it) => Some(&it.key),
        Request::Cancel(it) => Some(&it.key),
        Request::Resolve(it) => Some(&it.key),
        Request::Callback(_) | Request::AskAgain(_) | Request::Reschedule(_) => None,
    }
}

fn order(body: &Body) -> Option<Order> {
    let Body::Payouts(request) = body else { return None };
    let payout = match request {
        Request::Create(it) => &it.payout,
        Request::Cancel(_)
        | Request::Resolve(_)
        | Request::Callback(_)
        | Request::AskAgain(_)
        | Request::Reschedule(_) => {
            return None;
        }
    };
    Order::new(&payout.merchant, &payout.currency, &payout.amount, PAYOUT_PRICE)
}

fn shown(reply: &Reply) -> Option<Shown> {
    let Reply::Payouts(reply) = reply else { return None };
    let given = match reply {
        PayoutReply::Payout(given) => given,
        PayoutReply::Accepted(_) => return None,
    };
    Some(Shown {
        id: given.view.id.parse::<PayoutId>().ok().map(FlowId::from),
        version: given.view.version,
        fee: given.view.fee.clone(),
        vat: given.view.vat.clone(),
        view: FlowView::Payout(Arc::clone(&given.view)),
        is_replay: given.is_replay,
    })
}
