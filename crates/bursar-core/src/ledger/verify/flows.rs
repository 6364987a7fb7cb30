//! Checks flows against their events, their holds and their timers.

use super::Verifier;
use crate::feed::{FeedEvent, is_record};
use crate::flow::{Due, Flow, FlowView, Machine as _, Review, each};
use crate::ids::{EndpointId, FlowId};
use crate::ledger::rulebook::Rule;
use crate::ledger::{HoldKey, HoldState};

/// The last event about a resource.
#[derive(Debug)]
pub(crate) struct LastEvent {
    sequence: u64,
    pub(crate) kind: String,
    /// The view of the resource in the event, as JSON.
    data: String,
}

/// A resource as JSON, by the names of its fields.
type Fields = serde_json::Map<String, serde_json::Value>;

/// The fields that every event of a flow has, in every version.
const FACTS: [&str; 6] = ["kind", "id", "status", "merchant_id", "amount", "currency"];

impl LastEvent {
    /// Whether the event and today's view of the flow agree in every field that both have. A field that only one of them
    /// has was added or dropped between two versions; the facts must be in both.
    pub(crate) fn agrees_with(&self, flow: &Flow) -> bool {
        self.agrees(flow, |_| true)
    }

    /// Same, for the facts and these fields only.
    pub(crate) fn agrees_in(&self, fields: &[&str], flow: &Flow) -> bool {
        self.agrees(flow, |name| FACTS.contains(&name) || fields.contains(&name))
    }

    fn agrees(&self, flow: &Flow, is_compared: impl Fn(&str) -> bool) -> bool {
        let read = |text: &str| serde_json::from_str::<Fields>(text).ok();
        let view = read(&FlowView::new(flow).encode());
        let (Some(event), Some(view)) = (read(&self.data), view) else { return false };
        let differs = |(name, value): (&String, &serde_json::Value)| {
            is_compared(name) && view.get(name).is_some_and(|found| found != value)
        };
        FACTS.iter().all(|fact| event.contains_key(*fact) && view.contains_key(*fact))
            && !event.iter().any(differs)
    }
}

impl Verifier<'_> {
    /// The sequence numbers of a resource's events have no gaps.
    pub(super) fn event(&mut self, seq: u64, event: &FeedEvent) {
        self.report.events = self.report.events.saturating_add(1);
        let last = self.last_events.get(&event.resource).map_or(0, |last| last.sequence);
        if event.sequence != last.saturating_add(1) {
            self.differ(format!(
                "{} in commit {seq}: number {} of `{}` follows number {last}",
                event.id, event.sequence, event.resource
            ));
        }
        let last_event = LastEvent {
            sequence: event.sequence,
            kind: event.kind.clone(),
            data: event.data.clone(),
        };
        self.last_events.insert(event.resource.clone(), last_event);
    }

    /// Adds a stored flow. All commits must be added before.
    pub fn add_flow(&mut self, flow: &Flow) {
        self.report.flows = self.report.flows.saturating_add(1);
        let name = flow.name();
        match self.last_events.remove(&name) {
            Some(last) if last.sequence != flow.sequence => self.differ(format!(
                "`{name}` has emitted {} events, the feed has {}",
                flow.sequence, last.sequence
            )),
            Some(last) if !each!(&flow.state, it => it.matches_last_event(flow, &last)) => {
                self.differ(format!("`{name}` differs from its last event"));
            }
            Some(_) => {}
            // Deliveries emit no events.
            None if flow.state.event().is_none() && flow.sequence == 0 => {}
            None => self.differ(format!("`{name}` has no event")),
        }
        if flow.state.funds().is_some_and(|funds| funds.merchant != flow.merchant) {
            self.differ(format!("`{name}` names another merchant than its terms"));
        }
        each!(&flow.state, it => it.check(flow, &name, self));
        self.waiting.extend(flow.due().map(|due| (due, flow.id)));
        self.reviews.extend(Review::of(flow).map(|review| (flow.id, review)));
        self.recount.add(flow);
        flow.state.labels().for_each(|label| self.labels.add(label, flow.id));
    }

    /// Money is on hold exactly as long as the flow is live, and the hold ends as the flow says.
    pub(crate) fn check_hold(
        &mut self,
        reserve: &str,
        (name, status): (&str, &str),
        ending: Option<Ending>,
    ) {
        let rule = self.rulebook.rule(reserve);
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
            Some(Ending::Settled) => "its hold was settled",
            Some(Ending::Released) => "its hold was released",
        };
        if found != expected {
            self.differ(format!("`{name}` is {status}, but {found}"));
        }
    }

    /// Whether the ledger has booked this event under this name.
    pub(crate) fn is_booked(&self, event: &str, name: &str) -> bool {
        self.references.contains(&(event.into(), name.to_owned()))
    }

    /// A review begins when the flow begins to wait for a person, and the flow may change meanwhile.
    pub(super) fn compare_reviews(&mut self, stored: &[Review]) {
        for review in stored {
            let flow = review.flow;
            match self.reviews.remove(&flow) {
                None => self
                    .differ(format!("{flow} is listed for review, but does not wait for a person")),
                Some(found) if Review { since: found.since, ..review.clone() } != found => {
                    self.differ(format!(
                        "the review of {flow} is {review:?}, its flow says {found:?}"
                    ));
                }
                Some(found) if review.since > found.since => self.differ(format!(
                    "{flow} is listed for review since {}, but changed at {}",
                    review.since, found.since
                )),
                Some(_) => {}
            }
        }
        for (flow, review) in std::mem::take(&mut self.reviews) {
            let reason = review.reason.name();
            self.differ(format!("{flow} waits for a person ({reason}), but no list shows it"));
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
                "{flow} waits in {} for {}, but would never be claimed",
                due.lane, due.at
            ));
        }
        let last_events = std::mem::take(&mut self.last_events);
        let is_flow = |name: &String| !is_record(name) && name.parse::<EndpointId>().is_err();
        for name in last_events.into_keys().filter(is_flow) {
            self.differ(format!("`{name}` has events, but is missing"));
        }
    }
}

/// The expected end of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Settled,
    Released,
}
