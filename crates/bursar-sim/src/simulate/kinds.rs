//! What the simulation knows about the kinds of flows. A new kind is a folder with one of these and a line in `KINDS`.

use bursar_core::flow::{Flow, FlowState, Outcome};
use bursar_core::idempotency::Key;
use bursar_core::ids::FlowId;
use bursar_core::payins::State;
use bursar_core::turn::{Body, Reply};

use super::audit::{Audit, Order, Shown};
use super::{approvals, payins, payouts, webhooks};

/// What is known of the flows of one kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// As the core names it.
    pub(crate) name: &'static str,
    /// The short names of its flows begin with it.
    pub(crate) letter: char,
    /// The arrows of its diagram: from, to.
    pub(crate) arrows: &'static [(&'static str, &'static [&'static str])],
    /// The flows that a request is about, and the event that it is for each.
    pub(crate) causes: fn(&Body, &Audit) -> Vec<(FlowId, &'static str)>,
    /// The name of an outcome for this flow; none for the outcome of another kind.
    pub(crate) outcome: fn(&Outcome, Option<&Flow>) -> Option<&'static str>,
    /// The key of a request, if its reply is stored under it.
    pub(crate) key: fn(&Body) -> Option<&Key>,
    /// What a request should cost or bring.
    pub(crate) order: fn(&Body) -> Option<Order>,
    /// The flow in a reply.
    pub(crate) shown: fn(&Reply) -> Option<Shown>,
}

pub(crate) const KINDS: &[&Kind] =
    &[&payouts::KIND, &payins::KIND, &webhooks::KIND, &approvals::KIND];

const UNKNOWN: Kind = Kind {
    name: "",
    letter: '?',
    arrows: &[],
    causes: |_, _| Vec::new(),
    outcome: |_, _| None,
    key: |_| None,
    order: |_| None,
    shown: |_| None,
};

/// The key of a request, if its reply is stored under it.
pub(crate) fn key(body: &Body) -> Option<&Key> {
    KINDS.iter().find_map(|kind| (kind.key)(body))
}

/// The flow in a reply.
pub(crate) fn shown(reply: &Reply) -> Option<Shown> {
    KINDS.iter().find_map(|kind| (kind.shown)(reply))
}

impl Kind {
    /// A kind without a line in `KINDS` has no letter and no arrows, so that its first step breaks an invariant.
    pub(crate) fn of(state: &FlowState) -> &'static Self {
        KINDS.iter().find(|kind| kind.name == state.kind()).unwrap_or(&&UNKNOWN)
    }

    pub(crate) fn next(&self, from: &str) -> &'static [&'static str] {
        self.arrows.iter().find(|(status, _)| *status == from).map_or(&[], |(_, to)| to)
    }
}

/// The status that an event such as `payout.success` reports.
pub(crate) fn status_of(event: &str) -> String {
    let payin = State::ALL.into_iter().find(|state| state.event() == event);
    let status = event.split_once('.').map_or(event, |(_, status)| status);
    payin.map_or_else(|| status.to_ascii_uppercase(), |state| state.status().to_owned())
}
