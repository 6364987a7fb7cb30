//! What requests and outcomes do to deliveries, and which arrows of deliveries were taken.

use bursar_core::flow::Flow;
use bursar_core::ids::FlowId;
use bursar_core::turn::Body;
use bursar_core::webhooks::Request;
use bursar_core::webhooks::delivery::{Event, Outcome, Unsendable};

use crate::simulate::coverage::{Coverage, add};

/// The flows that a request is about, and the event that it is for them.
pub(crate) fn causes(body: &Body) -> Vec<(FlowId, &'static str)> {
    let Body::Webhooks(Request::Replay(replay)) = body else { return Vec::new() };
    replay.deliveries.iter().map(|id| (FlowId::from(*id), "replayed")).collect()
}

/// Deliveries emit no events: only the statuses before and after are known.
pub(crate) fn count_delivery(
    coverage: &mut Coverage,
    (before, after): (Option<&Flow>, &Flow),
    alone: Option<&str>,
) {
    let (from, to) = (before.map_or("new", |flow| flow.state.status()), after.state.status());
    let event = if before.is_none() { Some("created") } else { alone };
    // What was reported or replayed may also be sent in the same commit.
    let event = event.filter(|event| from != to && (*event == "due" || to != "DELIVERING"));
    if let Some(event) = event {
        add(coverage, "delivery", (from, event, to));
    }
}

pub(crate) fn outcome_name(event: &Event, flow: Option<&Flow>) -> &'static str {
    match event {
        Event::Returned { attempt, outcome, .. } => match outcome {
            Outcome::Answered { status: 410, .. } => "gone",
            Outcome::Answered { status, .. } if (200..300).contains(status) => {
                let known = flow.and_then(|flow| flow.state.delivery());
                let is_late = known.is_some_and(|known| known.attempts != *attempt);
                if is_late { "taken-late" } else { "taken" }
            }
            Outcome::Answered { .. } | Outcome::Failed { .. } => "failed",
            Outcome::Unsendable { what: Unsendable::LocalResourceExhausted, .. } => "unsent",
            Outcome::Unsendable { .. } => "unsendable",
        },
        Event::Due | Event::Cancelled => "due",
        Event::Replayed => "replayed",
    }
}
