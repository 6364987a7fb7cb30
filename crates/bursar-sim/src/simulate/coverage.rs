//! Which arrows of the machines were taken, by what. A step is counted only if one request alone can have made it.

use std::collections::BTreeMap;

use bursar_core::flow;
use bursar_core::ids::FlowId;
use bursar_core::turn::{Body, Commit, FlowWrite, Request};

use super::audit::Audit;
use super::kinds::{KINDS, shown, status_of};
use super::{approvals, payins, payouts, webhooks};

/// What a request may do to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Where the request is in its batch.
    place: usize,
    flow: FlowId,
    event: &'static str,
}

/// What was taken, and how often.
pub type Coverage = BTreeMap<String, u64>;

pub(crate) fn causes(requests: &[Request], audit: &Audit) -> Vec<Cause> {
    let causes = |(place, request): (usize, &Request)| -> Vec<Cause> {
        let of_kinds = KINDS.iter().flat_map(|kind| (kind.causes)(&request.body, audit));
        let causes = of_kinds.chain(reported(&request.body, audit));
        causes.map(|(flow, event)| Cause { place, flow, event }).collect()
    };
    requests.iter().enumerate().flat_map(causes).collect()
}

fn reported(body: &Body, audit: &Audit) -> Option<(FlowId, &'static str)> {
    let Body::Flows(flow::Request::EffectOutcome(done)) = body else { return None };
    let flow = audit.flows.get(&done.flow);
    let event = KINDS.iter().find_map(|kind| (kind.outcome)(&done.outcome, flow));
    Some((done.flow, event.unwrap_or("an outcome without a name")))
}

/// Counts the steps of a commit by its events. A request that was rejected or answered before has done nothing.
pub(crate) fn count(coverage: &mut Coverage, commit: &Commit, causes: &[Cause]) {
    let has_done = |cause: &&Cause| match commit.answers.get(cause.place) {
        Some(Ok(reply)) => !shown(reply).is_some_and(|shown| shown.is_replay),
        Some(Err(_)) | None => false,
    };
    for write in &commit.flows {
        approvals::count_done(coverage, write);
        let FlowWrite { before, after, .. } = write;
        let own: Vec<&Cause> =
            causes.iter().filter(|cause| cause.flow == after.id).filter(has_done).collect();
        let alone = match own.as_slice() {
            [] => Some("due"),
            [cause] => Some(cause.event),
            _ => None,
        };
        if after.state.delivery().is_some() {
            webhooks::count_delivery(coverage, (before.as_deref(), after), alone);
            continue;
        }
        payins::count_case(coverage, before.as_deref(), after);
        let name = after.name();
        let emitted = commit.events.iter().filter(|event| event.resource == name);
        let emitted: Vec<String> = emitted.map(|event| status_of(&event.kind)).collect();
        let mut from = before.as_ref().map_or("new", |flow| flow.state.status()).to_owned();
        for to in &emitted {
            // Only time does these.
            let is_due = to == "SUBMITTING";
            let event = if from == "new" { Some("created") } else { alone.filter(|_| !is_due) };
            let event = event.or(is_due.then_some("due"));
            if let Some(event) = event.filter(|_| from != *to) {
                add(coverage, after.state.kind(), (&from, event, to));
            }
            from.clone_from(to);
        }
        if let (Some(before), Some(event), true) = (before, alone, emitted.len() <= 1) {
            payouts::count_attempt(coverage, before, after, event);
        }
    }
}

pub(crate) fn add(coverage: &mut Coverage, machine: &str, (from, event, to): (&str, &str, &str)) {
    let count = coverage.entry(format!("{machine} {from} -{event}-> {to}")).or_default();
    *count = count.saturating_add(1);
}
