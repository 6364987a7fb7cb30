//! Checks flows against their events, their holds and their timers.

use std::collections::{BTreeMap, BTreeSet};

use super::Verifier;
use crate::feed::FeedEvent;
use crate::flow::{Due, Flow, FlowView, Machine as _, Review, each};
use crate::ids::{FlowId, TransactionId};
use crate::ledger::rulebook::{Rule, Rulebook};
use crate::ledger::{Hold, HoldKey, HoldState};
use crate::numscript::Name;
use crate::turn::{ReadPlan, ReadSet};

/// What the books have about a page of flows.
#[derive(Debug, Default)]
pub struct FlowRecords {
    /// By resource.
    last_events: BTreeMap<String, LastEvent>,
    holds: BTreeMap<HoldKey, Hold>,
    /// The event of each transaction that ended a hold.
    endings: BTreeMap<TransactionId, Name>,
    /// Posted events and their references.
    references: BTreeSet<(Name, String)>,
    /// Due rows that the flows should have, and that do not exist.
    missing_due: BTreeSet<(Due, FlowId)>,
}

impl FlowRecords {
    /// The number of events and the last event of each resource; the records of the plan.
    pub fn new(events: Vec<(u64, FeedEvent)>, read: ReadSet) -> Self {
        let last = |(count, event): (u64, FeedEvent)| {
            let FeedEvent { kind, resource, sequence, data, .. } = event;
            (resource, LastEvent { count, sequence, kind, data })
        };
        let references = read.references.into_iter().map(|known| (known.event, known.reference));
        Self {
            last_events: events.into_iter().map(last).collect(),
            holds: read.holds.into_iter().collect(),
            references: references.collect(),
            ..Self::default()
        }
    }

    /// The transactions that ended the holds.
    pub fn plan_endings(&self) -> ReadPlan {
        let ended = self.holds.values().filter_map(|hold| match hold.state {
            HoldState::Open => None,
            HoldState::Ended { by } => Some(by),
        });
        ReadPlan { transactions: ended.collect(), ..ReadPlan::default() }
    }

    #[must_use]
    pub fn with(self, endings: ReadSet, missing_due: Vec<(Due, FlowId)>) -> Self {
        let endings = endings.transactions.into_iter().map(|ending| (ending.id, ending.event));
        let (endings, missing_due) = (endings.collect(), missing_due.into_iter().collect());
        Self { endings, missing_due, ..self }
    }
}

/// The last event about a resource.
#[derive(Debug)]
pub(crate) struct LastEvent {
    /// The number of its events.
    count: u64,
    sequence: u64,
    pub(crate) kind: String,
    /// The view of the resource in the event, as JSON.
    data: String,
}

/// A resource as JSON, by the names of its fields.
type Fields = serde_json::Map<String, serde_json::Value>;

/// The fields that every event of a flow has, in every version.
const FACTS: [&str; 6] = ["kind", "id", "status", "merchant_id", "amount", "currency"];

/// Absent from both, or in both: without it a case would be out of sight.
const REASON: &str = "reason";

impl LastEvent {
    /// Whether the event and today's view of the flow agree in every field that both have. A field that only one of them
    /// has was added or dropped between two versions; the facts must be in both.
    pub(crate) fn agrees_with(&self, flow: &Flow) -> bool {
        self.agrees_where(flow, |_| true)
    }

    /// Same, for the facts and these fields only.
    pub(crate) fn agrees_in(&self, fields: &[&str], flow: &Flow) -> bool {
        self.agrees_where(flow, |name| FACTS.contains(&name) || fields.contains(&name))
    }

    /// Same, for the fields that are compared.
    pub(crate) fn agrees_where(&self, flow: &Flow, is_compared: impl Fn(&str) -> bool) -> bool {
        let read = |text: &str| serde_json::from_str::<Fields>(text).ok();
        let view = read(&FlowView::new(flow).encode());
        let (Some(event), Some(view)) = (read(&self.data), view) else { return false };
        let differs = |(name, value): (&String, &serde_json::Value)| {
            is_compared(name) && view.get(name).is_some_and(|found| found != value)
        };
        FACTS.iter().all(|fact| event.contains_key(*fact) && view.contains_key(*fact))
            && (!is_compared(REASON) || event.get(REASON) == view.get(REASON))
            && !event.iter().any(differs)
    }
}

impl LastEvent {
    /// Whether the event and today's view of the flow have the same value in each of these fields, for a kind without an
    /// amount.
    pub(crate) fn equals_where(&self, flow: &Flow, is_compared: impl Fn(&str) -> bool) -> bool {
        let read = |text: &str| {
            serde_json::from_str::<Fields>(text).ok().map(|mut fields| {
                fields.retain(|name, _| is_compared(name));
                fields
            })
        };
        let view = read(&FlowView::new(flow).encode());
        view.is_some() && read(&self.data) == view
    }
}

impl Verifier<'_> {
    /// The records to look up for a page of flows.
    pub fn plan_flows(&self, flows: &[Flow]) -> ReadPlan {
        let mut plan = ReadPlan::default();
        for flow in flows {
            each!(&flow.state, it => it.plan_check(&flow.name(), self.rulebook, &mut plan));
        }
        plan
    }

    /// Adds a page of stored flows with their records.
    pub fn add_flows(&mut self, flows: &[Flow], records: FlowRecords) {
        self.records = records;
        for flow in flows {
            self.flow(flow);
        }
    }

    fn flow(&mut self, flow: &Flow) {
        self.report.flows = self.report.flows.saturating_add(1);
        let name = flow.name();
        match self.records.last_events.remove(&name) {
            Some(last) if (last.count, last.sequence) != (flow.sequence, flow.sequence) => self
                .differ(format!(
                    "`{name}` has emitted {} events, the feed has {} up to number {}",
                    flow.sequence, last.count, last.sequence
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
        if let Some(due) = flow.due() {
            let row = (due, flow.id);
            if self.records.missing_due.contains(&row) {
                let (Due { lane, at }, flow) = row;
                self.differ(format!("{flow} waits in {lane} for {at}, but would never be claimed"));
            } else {
                self.due = self.due.saturating_add(1);
            }
        }
        self.reviews.extend(Review::of(flow).map(|review| (flow.id, review)));
        self.recount.add(flow);
        self.queues.add(flow);
        flow.state.labels().for_each(|label| self.labels.add(label, flow.id));
    }

    /// Whether there are due rows that are no flow's. All flows must be added before.
    pub fn has_other_due(&self, rows: u64) -> bool {
        rows != self.due
    }

    /// Adds due rows, each with its flow: names those that are no flow's.
    pub fn add_due(&mut self, rows: &[(Due, FlowId)], flows: &[Option<Flow>]) {
        for ((due, id), flow) in rows.iter().zip(flows) {
            if flow.as_ref().and_then(Flow::due).as_ref() != Some(due) {
                let Due { lane, at } = due;
                self.differ(format!("{id} is due in {lane} at {at}, but waits for nothing"));
            }
        }
    }

    /// Money is on hold exactly as long as the flow is live, and the hold ends as the flow says.
    pub(crate) fn check_hold(
        &mut self,
        reserve: &str,
        (name, status): (&str, &str),
        ending: Option<Ending>,
    ) {
        let Some(key) = hold_key(self.rulebook, reserve, name) else { return };
        let found = match self.records.holds.get(&key).map(|hold| hold.state) {
            None => "there is no hold",
            Some(HoldState::Open) => "its hold is open",
            Some(HoldState::Ended { by }) => {
                match self.records.endings.get(&by).map(|event| &**event) {
                    Some("PAYOUT_SETTLE") => "its hold was settled",
                    Some("PAYOUT_RELEASE") => "its hold was released",
                    Some(_) | None => "its hold has ended otherwise",
                }
            }
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
        self.records.references.contains(&(event.into(), name.to_owned()))
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
}

/// The expected end of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Settled,
    Released,
}

/// The hold that this event opens under this name.
pub(crate) fn hold_key(rulebook: &Rulebook, reserve: &str, name: &str) -> Option<HoldKey> {
    let (_, code) = rulebook.rule(reserve).ok().and_then(Rule::hold)?;
    Some(HoldKey { code, reference: name.to_owned() })
}
