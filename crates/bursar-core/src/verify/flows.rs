//! Flows against what was told about them, what they hold, and what they wait for.

use super::Verifier;
use crate::feed::{ALERT, FeedEvent};
use crate::flow::{Due, Flow, FlowState};
use crate::idempotency::FlowReply;
use crate::ids::{EndpointId, FlowId};
use crate::ledger::{HoldKey, HoldState};
use crate::payin::{BOOKING, PayIn};
use crate::payout;
use crate::reservation::{self, Booking};
use crate::rulebook::Rule;

/// The last thing that was told about a resource.
#[derive(Debug)]
pub(super) struct Told {
    sequence: u64,
    kind: String,
    /// The resource as it was told; none if that cannot be read.
    reply: Option<FlowReply>,
}

impl Verifier<'_> {
    /// The numbers of a resource's events have no gaps.
    pub(super) fn event(&mut self, seq: u64, event: &FeedEvent) {
        self.report.events = self.report.events.saturating_add(1);
        let last = self.told.get(&event.resource).map_or(0, |told| told.sequence);
        if event.sequence != last.saturating_add(1) {
            self.differ(format!(
                "{} in commit {seq}: number {} of `{}` follows number {last}",
                event.id, event.sequence, event.resource
            ));
        }
        let told = Told {
            sequence: event.sequence,
            kind: event.kind.clone(),
            reply: FlowReply::decode(&event.data).ok(),
        };
        self.told.insert(event.resource.clone(), told);
    }

    /// A flow as it is stored. All commits must have been added before.
    pub fn add_flow(&mut self, flow: &Flow) {
        self.report.flows = self.report.flows.saturating_add(1);
        let name = flow.name();
        match self.told.remove(&name) {
            Some(told) if told.sequence != flow.sequence => self.differ(format!(
                "`{name}` has told {} events, the feed has {}",
                flow.sequence, told.sequence
            )),
            Some(told) if !is_as_told(flow, &told) => {
                self.differ(format!("`{name}` is not as it was last told"));
            }
            Some(_) => {}
            // Nobody is told that he is told.
            None if flow.state.event().is_none() && flow.sequence == 0 => {}
            None => self.differ(format!("`{name}` was never told")),
        }
        self.held(&name, flow);
        self.waiting.extend(flow.due().map(|due| (due, flow.id)));
    }

    /// Money is on hold exactly as long as the flow is not over, and ends as the flow says. A pay-in holds nothing.
    fn held(&mut self, name: &str, flow: &Flow) {
        if flow.state.funds().is_some_and(|funds| funds.merchant != flow.merchant) {
            self.differ(format!("`{name}` names another merchant than its terms"));
        }
        let ending = match &flow.state {
            FlowState::Reservation(reservation) => reservation_end(reservation.state),
            FlowState::Payout(payout) => payout_end(&payout.state),
            FlowState::PayIn(payin) => return self.booked(name, payin),
            FlowState::Delivery(_) => return,
        };
        let rule = self.rulebook.rule(Booking::Reserve.rule());
        let Some((_, code)) = rule.ok().and_then(Rule::hold) else { return };
        let key = HoldKey { code, reference: name.to_owned() };
        let found = match self.holds.get(&key).map(|hold| hold.state) {
            None => "there is no hold",
            Some(HoldState::Open) => "its hold is open",
            Some(HoldState::Ended { by }) => match self.endings.get(&by).map(|event| &**event) {
                Some("PAYOUT_SETTLE") => "its hold was settled",
                Some("PAYOUT_RELEASE") => "its hold was released",
                Some(_) | None => "its hold has ended otherwise",
            },
        };
        let expected = match ending {
            None => "its hold is open",
            Some(Booking::Settle) => "its hold was settled",
            Some(Booking::Release | Booking::Reserve) => "its hold was released",
        };
        if found != expected {
            self.differ(format!("`{name}` is {}, but {found}", flow.state.status()));
        }
    }

    /// A pay-in is booked if and only if the provider has it.
    fn booked(&mut self, name: &str, payin: &PayIn) {
        let booking = (BOOKING.into(), name.to_owned());
        let is_booked = self.references.contains(&booking);
        if is_booked != payin.state.is_booked() {
            let found = if is_booked { "booked" } else { "not booked" };
            self.differ(format!("`{name}` is {}, but {found}", payin.state.status()));
        }
    }

    pub(super) fn compare_due(&mut self, due: &[(Due, FlowId)]) {
        for (due, flow) in due {
            if !self.waiting.remove(&(due.clone(), *flow)) {
                self.differ(format!(
                    "{flow} is due in {} at {}, but waits for nothing",
                    due.lane, due.at
                ));
            }
        }
        for (due, flow) in std::mem::take(&mut self.waiting) {
            self.differ(format!(
                "{flow} waits in {} for {}, but would never be woken",
                due.lane, due.at
            ));
        }
        let told = std::mem::take(&mut self.told);
        let is_flow =
            |name: &String| !name.starts_with(ALERT) && name.parse::<EndpointId>().is_err();
        for name in told.into_keys().filter(is_flow) {
            self.differ(format!("`{name}` was told about, but is not there"));
        }
    }
}

/// A reservation and a pay-in tell of every change. A payout tells of every status: what is known about it grows in between.
fn is_as_told(flow: &Flow, told: &Told) -> bool {
    match &flow.state {
        FlowState::Reservation(_) | FlowState::PayIn(_) => told.reply == Some(FlowReply::new(flow)),
        FlowState::Payout(payout) => told.kind == payout.state.event(),
        FlowState::Delivery(_) => false,
    }
}

/// How the hold must have ended, if it is over.
fn reservation_end(state: reservation::State) -> Option<Booking> {
    match state {
        reservation::State::Held => None,
        reservation::State::Settled => Some(Booking::Settle),
        reservation::State::Released | reservation::State::Expired => Some(Booking::Release),
    }
}

fn payout_end(state: &payout::State) -> Option<Booking> {
    match state {
        payout::State::Success | payout::State::LateSuccess | payout::State::Returned => {
            Some(Booking::Settle)
        }
        payout::State::Failed { .. } | payout::State::Cancelled => Some(Booking::Release),
        payout::State::Scheduled { .. }
        | payout::State::Ready { .. }
        | payout::State::Submitting { .. }
        | payout::State::Unconfirmed { .. }
        | payout::State::Processing { .. }
        | payout::State::Stuck { .. } => None,
    }
}
