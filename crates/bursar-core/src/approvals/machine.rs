//! An approval for the turn, the hosts and the verifier.

use jiff::Timestamp;

use super::state::{Approval, State, View};
use super::step::{Event, Step, step};
use crate::flow::host::NextAction;
use crate::flow::{
    Change, Due, Effect, Flow, FlowAlert, Kind, KindInfo, LaneInfo, LaneScope, Machine, Never,
    Progress, ReviewReason,
};
use crate::ids::ApprovalId;
use crate::ledger::Admission;
use crate::ledger::verify::{LastEvent, Verifier};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, Reads};

/// Proposals wait here until they expire.
const LANE: &str = "approval";

impl Kind for Approval {
    const INFO: KindInfo = KindInfo {
        name: "approval",
        prefix: ApprovalId::PREFIX,
        owns_money: false,
        merchant_events: &[],
        lanes: &[LaneInfo { name: LANE, scope: LaneScope::Kind }],
        waiting: &["PROPOSED"],
        sending: &[],
        outbox: None,
    };
    type Call = Never;
    type Outcome = Never;
    type View = View;

    fn status(&self) -> &'static str {
        self.state.status()
    }

    fn is_live(&self) -> bool {
        self.state == State::Proposed
    }

    fn due(&self) -> Option<Due> {
        self.is_live().then(|| Due { lane: LANE.to_owned(), at: self.expires_at })
    }

    fn event(&self) -> Option<&'static str> {
        Some(self.state.event())
    }

    fn review(&self) -> Option<ReviewReason> {
        self.state.is_open().then_some(ReviewReason::Approval)
    }

    fn alert(&self) -> Option<FlowAlert> {
        matches!(self.state, State::BreakGlass { .. }).then_some(FlowAlert::BreakGlass)
    }

    fn channel(&self) -> Option<&str> {
        Some(&self.action)
    }

    fn view(&self, flow: &Flow) -> View {
        View::new(flow, self)
    }

    fn lost(_: &Effect, call: &Never, _: &str) -> Never {
        *call
    }
}

impl Machine for Approval {
    type Planner<'p> = ();

    fn planner(_rules: &Rules) {}

    fn plan(&self, _: &Flow, (): &mut (), _: &mut Reads<'_>) {}

    fn on_due(
        &self,
        flow: &Flow,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Progress, Rejection> {
        match step(self, &Event::Expires, at.now)? {
            Step::To(approval) | Step::Executes(approval) => {
                let change = Change { is_new_version: true, is_notified: true };
                let flow = flow.advanced(approval, change, at.now);
                draft.emit(&flow, at);
                draft.put(flow, at);
            }
        }
        Ok(Progress::On)
    }

    fn on_outcome(
        &self,
        _: &Flow,
        outcome: &Never,
        _: &mut Draft<'_>,
        _: &Admission,
    ) -> Result<(), Rejection> {
        match *outcome {}
    }

    fn predict(&self, _: &Flow, _: Option<&Never>, _: &Rules, _: Timestamp) -> NextAction {
        NextAction::Record
    }

    /// A signature that is not the last one is a new version without an event.
    fn matches_last_event(&self, flow: &Flow, last: &LastEvent) -> bool {
        let is_kept = |name: &str| !matches!(name, "version" | "updated_at" | "signed");
        last.kind == self.state.event() && last.equals_where(flow, is_kept)
    }

    /// What was approved is done, and what was not approved is not: the audit log and the chain have it in one commit.
    fn check(&self, _: &Flow, name: &str, books: &mut Verifier<'_>) {
        let people = self.signed.len().saturating_add(1);
        let needed = usize::try_from(self.quorum).unwrap_or(usize::MAX);
        if matches!(self.state, State::Approved { .. }) && people < needed {
            books.differ(format!("`{name}` is APPROVED by {people} of {needed} people"));
        }
    }
}
