//! Approvals: staff that proposes what no person may do alone, approvers who decide, and what the auditor checks.

pub(crate) mod approvers;
mod audit;
pub(crate) mod makers;
mod people;
mod tasks;

use std::sync::Arc;

use bursar_core::approvals::{Reply as ApprovalReply, Request};
use bursar_core::flow::FlowView;
use bursar_core::idempotency::Key;
use bursar_core::ids::{ApprovalId, FlowId};
use bursar_core::turn::{Body, Reply};

use super::audit::{Audit, Shown};
use super::kinds::Kind;
use super::{payins, payouts};

pub(crate) use audit::{Books, count_done};
pub(crate) use makers::proposal;
pub(crate) use people::closer;

pub(crate) const KIND: Kind = Kind {
    name: "approval",
    letter: 'A',
    arrows: &[
        ("PROPOSED", &["APPROVED", "REJECTED", "WITHDRAWN", "EXPIRED", "STALE"]),
        ("BREAK_GLASS", &["APPROVED", "REJECTED"]),
        ("APPROVED", &[]),
        ("REJECTED", &[]),
        ("WITHDRAWN", &[]),
        ("EXPIRED", &[]),
        ("STALE", &[]),
    ],
    causes,
    outcome: |_, _| None,
    key,
    order: |_| None,
    shown,
};

/// The last approval also does what its request does.
fn causes(body: &Body, audit: &Audit) -> Vec<(FlowId, &'static str)> {
    let Body::Approvals(request) = body else { return Vec::new() };
    match request {
        Request::Propose(_) => Vec::new(),
        Request::Approve(it) => {
            let inner = [payouts::KIND, payins::KIND];
            let inner = inner.iter().flat_map(|kind| (kind.causes)(&it.body, audit));
            inner.chain([(it.id.into(), "approve")]).collect()
        }
        Request::Turndown(it) => {
            let flow = audit.flows.get(&it.id.into());
            let approval = flow.and_then(|flow| flow.state.approval());
            let is_maker =
                approval.is_some_and(|known| people::is_same(&known.maker.actor, &it.by.actor));
            vec![(it.id.into(), if is_maker { "withdraw" } else { "reject" })]
        }
    }
}

fn key(body: &Body) -> Option<&Key> {
    let Body::Approvals(request) = body else { return None };
    match request {
        Request::Propose(it) => Some(&it.key),
        Request::Approve(_) | Request::Turndown(_) => None,
    }
}

fn shown(reply: &Reply) -> Option<Shown> {
    let Reply::Approvals(reply) = reply else { return None };
    let (view, is_replay) = match reply {
        ApprovalReply::Proposed(given) => (Arc::clone(&given.view), given.is_replay),
        ApprovalReply::Decided(decided) => (Arc::new((*decided.view).clone()), false),
    };
    Some(Shown {
        id: view.id.parse::<ApprovalId>().ok().map(FlowId::from),
        version: view.version,
        fee: String::new(),
        vat: String::new(),
        view: FlowView::Approval(view),
        is_replay,
    })
}
