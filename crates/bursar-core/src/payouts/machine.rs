//! A payout for the turn, the hosts and the verifier.

use std::borrow::Cow;

use jiff::Timestamp;

use super::advance::advance;
use super::bookings::Bookings;
use super::call::Call;
use super::channel::Clocks;
use super::client_metadata::ClientMetadata;
use super::event::{Event, Outcome, UNMAPPED};
use super::lane::LANES;
use super::state::{Payout, State, Wait};
use super::step::{Booking, Context, Effect, RESERVE, Step};
use super::view::View;
use crate::dispatch::Waits;
use crate::flow;
use crate::flow::host::NextAction;
use crate::flow::{
    Due, Flow, FlowAlert, Kind, KindInfo, Machine, Observation, OutboxInfo, Progress, ReviewReason,
};
use crate::ids::PayoutId;
use crate::ledger::Admission;
use crate::ledger::funds::Funds;
use crate::ledger::rulebook::Rulebook;
use crate::ledger::verify::{Ending, LastEvent, Verifier, hold_key};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, ReadPlan, Reads};

const EVENTS: [&str; 12] = [
    "payout.scheduled",
    "payout.ready",
    "payout.submitting",
    "payout.unconfirmed",
    "payout.processing",
    "payout.stuck",
    "payout.success",
    "payout.failed",
    "payout.cancelled",
    "payout.expired",
    "payout.returned",
    "payout.late_success",
];

impl Kind for Payout {
    const INFO: KindInfo = KindInfo {
        name: "payout",
        prefix: PayoutId::PREFIX,
        owns_money: true,
        merchant_events: &EVENTS,
        lanes: &LANES,
        waiting: &["SCHEDULED", "READY", "SUBMITTING", "UNCONFIRMED", "PROCESSING", "STUCK"],
        sending: &["SUBMITTING"],
        outbox: Some(OutboxInfo { name: "start_payout", lane: "outbox:PAYOUT_SAGA_REQUESTED" }),
    };
    type Call = Call;
    type Outcome = Event;
    type View = View;

    fn status(&self) -> &'static str {
        self.state.status()
    }

    fn is_live(&self) -> bool {
        !self.state.is_final()
    }

    fn due(&self) -> Option<Due> {
        self.due()
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.due_at()
    }

    fn waits_in(&self, lane: &str) -> bool {
        self.waits_in(lane)
    }

    fn waits(&self) -> Option<Waits<'_>> {
        self.waits()
    }

    fn event(&self) -> Option<&'static str> {
        Some(self.state.event())
    }

    fn funds(&self) -> Option<&Funds> {
        Some(&self.terms.funds)
    }

    fn channel(&self) -> Option<&str> {
        Some(&self.terms.channel)
    }

    fn review(&self) -> Option<ReviewReason> {
        self.review()
    }

    fn alert(&self) -> Option<FlowAlert> {
        self.alert()
    }

    fn keyed_reference(&self) -> Option<&str> {
        self.attempts.first().map(|attempt| attempt.reference.as_str())
    }

    fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let channel = self.terms.channel.as_str();
        self.attempts.iter().map(move |attempt| (channel.into(), attempt.reference.as_str()))
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        let ClientMetadata { trace_id, external_id, .. } = &self.terms.remarks;
        // A flow has each label once.
        let external_id = external_id.as_deref().filter(|id| trace_id.as_deref() != Some(id));
        trace_id.as_deref().into_iter().chain(external_id)
    }

    fn view(&self, flow: &Flow) -> View {
        View::new(flow, self)
    }

    fn lost(effect: &flow::Effect, call: &Call, detail: &str) -> Event {
        call.lost(effect, detail)
    }

    fn missed(effect: &flow::Effect, call: &Call) -> Option<Event> {
        call.missed(effect)
    }

    fn observe<'o>(call: &'o Call, event: &'o Event) -> Observation<'o> {
        let detail = event.detail();
        Observation::Channel {
            channel: &call.channel,
            is_submission: matches!(event, Event::Submitted { .. }),
            is_unknown: matches!(event, Event::Submitted { outcome: Outcome::Unknown { .. }, .. }),
            is_unmapped: detail.is_some_and(|detail| detail.starts_with(UNMAPPED)),
        }
    }
}

impl Machine for Payout {
    type Planner<'p> = Bookings<'p>;

    fn planner(rules: &Rules) -> Bookings<'_> {
        Bookings::new(&rules.rulebook)
    }

    fn plan<'p>(&'p self, flow: &Flow, bookings: &mut Bookings<'p>, reads: &mut Reads<'_>) {
        if self.state.is_final() {
            self.plan_over(&flow.name(), reads);
        } else {
            self.plan_live(flow.name(), bookings, reads);
            self.plan_recheck(reads);
        }
    }

    fn on_due(
        &self,
        flow: &Flow,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Progress, Rejection> {
        self.advance(flow, &Event::Due, draft, at)?;
        Ok(Progress::On)
    }

    fn on_cut_off(
        &self,
        flow: &Flow,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        self.advance(flow, &Event::CutOff, draft, at)
    }

    fn on_outcome(
        &self,
        flow: &Flow,
        event: &Event,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        self.advance(flow, event, draft, at)
    }

    /// Dry run: computes the step and discards it.
    fn predict(
        &self,
        _: &Flow,
        event: Option<&Event>,
        rules: &Rules,
        now: Timestamp,
    ) -> NextAction {
        let Some(channel) = rules.channels.get(&self.terms.channel) else {
            return NextAction::Record;
        };
        if event.is_none() && self.recheck_due().is_some() {
            return NextAction::Effect { activity: QUERY, timeout: channel.clocks.query_timeout };
        }
        let context = Context { now, send_at: now, channel, is_frozen: false, restored: None };
        match advance(self, event.unwrap_or(&Event::Due), &context) {
            Ok(Some(advance)) => action(&advance.step, &channel.clocks),
            Ok(None) | Err(_) => NextAction::Record,
        }
    }

    /// A payout emits an event for every status; evidence that arrives between two events changes other fields.
    fn matches_last_event(&self, flow: &Flow, last: &LastEvent) -> bool {
        last.kind == self.state.event() && last.agrees_in(&["fee", "vat", "channel"], flow)
    }

    fn plan_check(&self, name: &str, rulebook: &Rulebook, plan: &mut ReadPlan) {
        plan.holds.extend(hold_key(rulebook, RESERVE, name));
    }

    fn check(&self, _flow: &Flow, name: &str, books: &mut Verifier<'_>) {
        let ending = match self.state {
            State::Success | State::LateSuccess | State::Returned => Some(Ending::Settled),
            State::Failed { .. } | State::Cancelled | State::Expired => Some(Ending::Released),
            State::Scheduled { .. }
            | State::Ready { .. }
            | State::Submitting { .. }
            | State::Unconfirmed { .. }
            | State::Processing { .. }
            | State::Stuck { .. } => None,
        };
        books.check_hold(RESERVE, (name, self.state.status()), ending);
    }
}

/// Activity names, as the cluster shows them.
const SUBMIT: &str = "SubmitToChannel";
const QUERY: &str = "PollChannelStatus";
const SETTLE: &str = "UpdateLedger";
const RELEASE: &str = "ReleaseBalance";
const MARK_STUCK: &str = "MarkAsStuck";

fn action(step: &Step, clocks: &Clocks) -> NextAction {
    match step.effect {
        Some(Effect::Submit { .. }) => {
            return NextAction::Effect { activity: SUBMIT, timeout: clocks.submit_timeout };
        }
        Some(Effect::Query { .. }) => {
            return NextAction::Effect { activity: QUERY, timeout: clocks.query_timeout };
        }
        None => {}
    }
    match step.bookings.as_slice() {
        [] | [Booking::Reserve, ..] => {}
        [Booking::Settle | Booking::TakeBackRelease | Booking::Return, ..] => {
            return NextAction::Turn { activity: SETTLE };
        }
        [Booking::Release, ..] => return NextAction::Turn { activity: RELEASE },
    }
    match step.payout.state {
        State::Stuck { wait: Wait::Until(_), .. } => NextAction::Turn { activity: MARK_STUCK },
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Expired
        | State::Returned
        | State::LateSuccess => NextAction::Record,
    }
}
