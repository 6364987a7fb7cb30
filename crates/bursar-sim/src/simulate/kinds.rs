//! What the simulation knows about the kinds of flows. A new kind is a folder with one of these and a line in `KINDS`.

use bursar_core::flow::FlowState;
use bursar_core::payins::State;

use super::{payins, payouts, webhooks};

/// What is known of the flows of one kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// As the core names it.
    pub(crate) name: &'static str,
    /// The short names of its flows begin with it.
    pub(crate) letter: char,
    /// The arrows of its diagram: from, to.
    pub(crate) arrows: &'static [(&'static str, &'static [&'static str])],
}

pub(crate) const KINDS: [&Kind; 3] = [&payouts::KIND, &payins::KIND, &webhooks::KIND];

impl Kind {
    /// A kind without a line in `KINDS` has no letter and no arrows, so that its first step breaks an invariant.
    pub(crate) fn of(state: &FlowState) -> &'static Self {
        const UNKNOWN: Kind = Kind { name: "", letter: '?', arrows: &[] };
        KINDS.into_iter().find(|kind| kind.name == state.kind()).unwrap_or(&UNKNOWN)
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
