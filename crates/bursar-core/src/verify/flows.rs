//! Flows against what was told about them, what they hold, and what they wait for.

use sha2::{Digest as _, Sha256};

use super::Verifier;
use crate::feed::FeedEvent;
use crate::flow::{Due, Flow, FlowState};
use crate::idempotency::FlowReply;
use crate::ids::FlowId;
use crate::ledger::{HoldKey, HoldState};
use crate::reservation::{Booking, Reservation};
use crate::rulebook::Rule;

/// The last thing that was told about a resource.
#[derive(Debug)]
pub(super) struct Told {
    sequence: u64,
    data: [u8; 32],
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
        let told = Told { sequence: event.sequence, data: digest(&event.data) };
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
            Some(told) if told.data != digest(&FlowReply::new(flow).encode()) => {
                self.differ(format!("`{name}` is not as it was last told"));
            }
            Some(_) => {}
            None => self.differ(format!("`{name}` was never told")),
        }
        let FlowState::Reservation(reservation) = &flow.state;
        self.reservation(&name, reservation);
        self.waiting.extend(flow.due().map(|due| (due, flow.id)));
    }

    /// Money is on hold exactly as long as the reservation is held.
    fn reservation(&mut self, name: &str, reservation: &Reservation) {
        let rule = self.rulebook.rule(Booking::Reserve.rule());
        let Some((_, code)) = rule.ok().and_then(Rule::hold) else { return };
        let key = HoldKey { code, reference: name.to_owned() };
        let hold = self.holds.get(&key);
        let is_open = hold.map(|hold| hold.state == HoldState::Open);
        if is_open != Some(!reservation.state.is_final()) {
            let hold = match is_open {
                None => "there is no hold",
                Some(true) => "its hold is open",
                Some(false) => "its hold has ended",
            };
            let status = reservation.state.status();
            self.differ(format!("`{name}` is {status}, but {hold}"));
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
        for name in std::mem::take(&mut self.told).into_keys() {
            self.differ(format!("`{name}` was told about, but is not there"));
        }
    }
}

fn digest(data: &str) -> [u8; 32] {
    Sha256::digest(data.as_bytes()).into()
}
