//! Pay-ins: providers that report them.

pub(crate) mod providers;

use std::sync::Arc;

use bursar_core::flow::FlowView;
use bursar_core::ids::{FlowId, PayInId};
use bursar_core::payins::{ProviderStatus, Reply as PayInReply, Request};
use bursar_core::turn::{Body, Reply};

use super::audit::{Audit, Order, Shown};
use super::kinds::Kind;
use super::swarm::PAYIN_PRICE;

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
    // Another report about a pay-in is answered with the pay-in as it stands: its key is checked where it is used.
    key: |_| None,
    order,
    shown,
};

fn cause(body: &Body, audit: &Audit) -> Option<(FlowId, &'static str)> {
    let Body::PayIns(request) = body else { return None };
    let Request::NewPayIn(payin) = request;
    let name = (format!("payin:{}", payin.provider), payin.reference.clone());
    let event = match payin.said {
        ProviderStatus::Pending => "pending",
        ProviderStatus::Completed => "completed",
        ProviderStatus::Failed => "failed",
    };
    Some((audit.flow_of(&name)?, event))
}

/// A fee that would take more than all of a pay-in is not charged.
fn order(body: &Body) -> Option<Order> {
    let Body::PayIns(request) = body else { return None };
    let Request::NewPayIn(payin) = request;
    let order = Order::new(&payin.merchant, &payin.currency, &payin.amount, PAYIN_PRICE)?;
    let is_too_much = order.fee.saturating_add(order.vat) > order.amount;
    Some(if is_too_much { Order { fee: 0, vat: 0, ..order } } else { order })
}

fn shown(reply: &Reply) -> Option<Shown> {
    let Reply::PayIns(reply) = reply else { return None };
    let PayInReply::PayIn(given) = reply;
    Some(Shown {
        id: given.view.id.parse::<PayInId>().ok().map(FlowId::from),
        version: given.view.version,
        fee: given.view.fee.clone(),
        vat: given.view.vat.clone(),
        view: FlowView::PayIn(Arc::clone(&given.view)),
        is_replay: given.is_replay,
    })
}
