//! Which arrows of the machines were taken, by what. A step is counted only if one request alone can have made it.

use std::collections::BTreeMap;

use bursar_core::attempt::{Knowledge, Verdict};
use bursar_core::commit::{Commit, FlowWrite};
use bursar_core::delivery::{self, Unsendable};
use bursar_core::flow::Flow;
use bursar_core::ids::{DeliveryId, FlowId};
use bursar_core::payin::Said;
use bursar_core::payout::{Answer, Event, Outcome, Ruling};
use bursar_core::request::{Body, Mail, News, Reply, Report, Request};

use super::audit::Audit;

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
    let cause = |(place, request): (usize, &Request)| {
        let (flow, event) = match &request.body {
            Body::Report(Report { flow, event: News::Payout(event) }) => (*flow, reported(event)),
            Body::Report(Report { flow, event: News::Delivery(event) }) => {
                (*flow, came(event, audit.flows.get(flow)))
            }
            Body::Tell(told) => {
                let name = (told.channel.clone(), told.reference.clone());
                (audit.flow_of(&name)?, said(told.evidence.verdict))
            }
            Body::CancelPayout { cancellation, .. } => (cancellation.id.into(), "cancel"),
            Body::ResolvePayout { resolution, .. } => {
                (resolution.id.into(), ruled(resolution.ruling))
            }
            Body::TakePayIn(payin) => {
                let name = (format!("payin:{}", payin.provider), payin.reference.clone());
                let event = match payin.said {
                    Said::Pending => "pending",
                    Said::Completed => "completed",
                    Said::Failed => "failed",
                };
                (audit.flow_of(&name)?, event)
            }
            Body::CreatePayout { .. }
            | Body::CreateDrivenPayout { .. }
            | Body::Post(_)
            | Body::PostByHand { .. }
            | Body::Reserve { .. }
            | Body::Decide { .. }
            | Body::Switch(_)
            | Body::Register(_)
            | Body::Wake(_)
            | Body::Mail(_)
            | Body::Drive(_)
            | Body::SetAside { .. } => return None,
        };
        Some(Cause { place, flow, event })
    };
    let replays = |(place, request): (usize, &Request)| {
        let Body::Mail(Mail::Replay { deliveries, .. }) = &request.body else { return Vec::new() };
        let replay = |id: &DeliveryId| Cause { place, flow: FlowId::from(*id), event: "replayed" };
        deliveries.iter().map(replay).collect()
    };
    let single = requests.iter().enumerate().filter_map(cause);
    single.chain(requests.iter().enumerate().flat_map(replays)).collect()
}

/// Counts the steps of a commit, as they were told. A request that was refused or answered before has done nothing.
pub(crate) fn count(coverage: &mut Coverage, commit: &Commit, causes: &[Cause]) {
    let has_done = |cause: &&Cause| match commit.answers.get(cause.place) {
        Some(Ok(Reply::Flow { is_replay, .. })) => !is_replay,
        Some(Ok(_)) => true,
        Some(Err(_)) | None => false,
    };
    for FlowWrite { before, after } in &commit.flows {
        let own: Vec<&Cause> =
            causes.iter().filter(|cause| cause.flow == after.id).filter(has_done).collect();
        let alone = match own.as_slice() {
            [] => Some("due"),
            [cause] => Some(cause.event),
            _ => None,
        };
        if after.state.delivery().is_some() {
            count_delivery(coverage, (before.as_deref(), after), alone);
            continue;
        }
        let name = after.name();
        let told = commit.events.iter().filter(|event| event.resource == name);
        let told = told.filter_map(|event| event.kind.split_once('.'));
        let told = told.map(|(of, status)| match (of, status) {
            ("payin", "success") => "COLLECTED".to_owned(),
            _ => status.to_ascii_uppercase(),
        });
        let told: Vec<String> = told.collect();
        let mut from = before.as_ref().map_or("new", |flow| flow.state.status()).to_owned();
        for to in &told {
            // Only time does these.
            let is_due = to == "SUBMITTING" || (from == "SCHEDULED" && to == "READY");
            let event = if from == "new" { Some("created") } else { alone.filter(|_| !is_due) };
            let event = event.or(is_due.then_some("due"));
            if let Some(event) = event.filter(|_| from != *to) {
                add(coverage, after.state.kind(), (&from, event, to));
            }
            from.clone_from(to);
        }
        if let (Some(before), Some(event), true) = (before, alone, told.len() <= 1) {
            count_attempt(coverage, before, after, event);
        }
    }
}

fn add(coverage: &mut Coverage, machine: &str, (from, event, to): (&str, &str, &str)) {
    let count = coverage.entry(format!("{machine} {from} -{event}-> {to}")).or_default();
    *count = count.saturating_add(1);
}

/// Nobody is told about deliveries: what there is are the statuses before and after.
fn count_delivery(
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

fn count_attempt(coverage: &mut Coverage, before: &Flow, after: &Flow, event: &str) {
    let latest = |flow: &Flow| {
        let attempt = flow.state.payout()?.latest()?;
        Some((attempt.number, known(attempt.knowledge())))
    };
    if let (Some((number, from)), Some((same, to))) = (latest(before), latest(after))
        && number == same
        && from != to
        // Only time sends.
        && (to != "in-flight" || event == "due")
    {
        add(coverage, "attempt", (from, event, to));
    }
}

const fn known(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::NotSent => "not-sent",
        Knowledge::InFlight => "in-flight",
        Knowledge::Unknown => "unknown",
        Knowledge::Accepted => "accepted",
        Knowledge::NotPaid { .. } => "not-paid",
        Knowledge::Paid => "paid",
        Knowledge::Returned => "returned",
        Knowledge::Conflict => "conflict",
    }
}

const fn reported(event: &Event) -> &'static str {
    match event {
        Event::Submitted { outcome, .. } => match outcome {
            Outcome::NotSent { .. } => "submitted.not-sent",
            Outcome::Rejected { .. } => "submitted.rejected",
            Outcome::Accepted { .. } => "submitted.accepted",
            Outcome::Paid { .. } => "submitted.paid",
            Outcome::Duplicate => "submitted.duplicate",
            Outcome::Unknown { .. } => "submitted.unknown",
        },
        Event::Queried { answer, .. } => match answer {
            Answer::Paid { .. } => "queried.paid",
            Answer::NotPaid { .. } => "queried.not-paid",
            Answer::Pending { .. } => "queried.pending",
            Answer::Returned { .. } => "queried.returned",
            Answer::NotFound => "queried.not-found",
            Answer::Failed { .. } => "queried.failed",
        },
        Event::Due => "due",
        Event::Told { evidence, .. } => said(evidence.verdict),
        Event::CancelAsked => "cancel",
        Event::Decided(decision) => ruled(decision.ruling),
    }
}

fn came(event: &delivery::Event, flow: Option<&Flow>) -> &'static str {
    match event {
        delivery::Event::Returned { attempt, outcome, .. } => match outcome {
            delivery::Outcome::Answered { status: 410, .. } => "gone",
            delivery::Outcome::Answered { status, .. } if (200..300).contains(status) => {
                let known = flow.and_then(|flow| flow.state.delivery());
                let is_late = known.is_some_and(|known| known.attempts != *attempt);
                if is_late { "taken-late" } else { "taken" }
            }
            delivery::Outcome::Answered { .. } | delivery::Outcome::Failed { .. } => "failed",
            delivery::Outcome::Unsendable { what: Unsendable::NoMeans, .. } => "unsent",
            delivery::Outcome::Unsendable { .. } => "unsendable",
        },
        delivery::Event::Due | delivery::Event::CalledOff => "due",
        delivery::Event::Replayed => "replayed",
    }
}

const fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotSent { .. } => "told.not-sent",
        Verdict::Unknown { .. } => "told.unknown",
        Verdict::Refused { .. } => "told.refused",
        Verdict::Accepted => "told.accepted",
        Verdict::Paid => "told.paid",
        Verdict::NotPaid { .. } => "told.not-paid",
        Verdict::Returned => "told.returned",
    }
}

const fn ruled(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::ConfirmPaid => "decided.paid",
        Ruling::ConfirmNotPaid => "decided.not-paid",
        Ruling::KeepWaiting => "decided.wait",
        Ruling::NewAttempt => "decided.new-attempt",
    }
}
