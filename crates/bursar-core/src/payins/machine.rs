//! A pay-in for the turn, the hosts and the verifier.

use std::borrow::Cow;

use jiff::Timestamp;

use super::event::lookup;
use super::state::{PayIn, View};
use super::step::BOOKING;
use crate::flow::host::NextAction;
use crate::flow::{
    Due, Effect, Flow, FlowAlert, Kind, KindInfo, Machine, Never, Progress, ReviewReason,
};
use crate::ids::PayInId;
use crate::ledger::Admission;
use crate::ledger::funds::Funds;
use crate::ledger::rulebook::Rulebook;
use crate::ledger::verify::{LastEvent, Verifier};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, ReadPlan, Reads};

impl Kind for PayIn {
    const INFO: KindInfo = KindInfo {
        name: "payin",
        prefix: PayInId::PREFIX,
        owns_money: true,
        merchant_events: &["payin.pending", "payin.success", "payin.contradicted", "payin.failed"],
        lanes: &[],
        waiting: &[],
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
        false
    }

    /// A pay-in has no timer: the provider reports on its own.
    fn due(&self) -> Option<Due> {
        None
    }

    fn event(&self) -> Option<&'static str> {
        Some(self.state.event())
    }

    fn funds(&self) -> Option<&Funds> {
        Some(&self.terms.funds)
    }

    fn channel(&self) -> Option<&str> {
        Some(&self.terms.provider)
    }

    fn review(&self) -> Option<ReviewReason> {
        self.open_case()
    }

    fn alert(&self) -> Option<FlowAlert> {
        self.open_case().map(|_| FlowAlert::AmountDiffers)
    }

    fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let reference = self.terms.reference.as_str();
        std::iter::once_with(move || (lookup(&self.terms.provider).into(), reference))
    }

    fn view(&self, flow: &Flow) -> View {
        View::new(flow, self)
    }

    fn lost(_: &Effect, call: &Never, _: &str) -> Never {
        *call
    }
}

impl Machine for PayIn {
    type Planner<'p> = ();

    fn planner(_rules: &Rules) {}

    fn plan(&self, flow: &Flow, (): &mut (), reads: &mut Reads<'_>) {
        let rulebook = &reads.rules.rulebook;
        reads.plan.add_booking(rulebook, BOOKING, &flow.name(), &self.terms.funds);
    }

    fn on_due(&self, _: &Flow, _: &mut Draft<'_>, _: &Admission) -> Result<Progress, Rejection> {
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

    /// A pay-in emits an event for every change of its status, and when its case opens first. Another report in the case,
    /// and its end, are new versions without an event.
    fn matches_last_event(&self, flow: &Flow, last: &LastEvent) -> bool {
        let is_kept = |name: &str| !matches!(name, "version" | "updated_at");
        last.kind == self.state.event()
            && if self.case.is_some() {
                last.agrees_where(flow, is_kept)
            } else {
                last.agrees_with(flow)
            }
    }

    fn plan_check(&self, name: &str, _: &Rulebook, plan: &mut ReadPlan) {
        plan.references.insert((BOOKING.into(), name.to_owned()));
    }

    /// A pay-in is booked if and only if the provider has the money.
    fn check(&self, _: &Flow, name: &str, books: &mut Verifier<'_>) {
        let is_booked = books.is_booked(BOOKING, name);
        if is_booked != self.state.is_booked() {
            let found = if is_booked { "booked" } else { "not booked" };
            books.differ(format!("`{name}` is {}, but {found}", self.state.status()));
        }
    }
}
