//! Which arrows of the machines were taken, by what. A step is counted only if one request alone can have made it.

use std::collections::BTreeMap;

use bursar_core::attempt::{Knowledge, Verdict};
use bursar_core::commit::Commit;
use bursar_core::flow::{Flow, FlowState};
use bursar_core::ids::FlowId;
use bursar_core::payin::Said;
use bursar_core::payout::{Answer, Event, Outcome, Ruling};
use bursar_core::request::{Body, Request};

use super::audit::Audit;

/// What a request may do to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cause {
    flow: FlowId,
    event: &'static str,
}

/// What was taken, and how often.
pub type Coverage = BTreeMap<String, u64>;

pub(crate) fn causes(requests: &[Request], audit: &Audit) -> Vec<Cause> {
    let cause = |request: &Request| {
        let (flow, event) = match &request.body {
            Body::Report(report) => (report.flow, reported(&report.event)),
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
            | Body::Post(_)
            | Body::PostByHand { .. }
            | Body::Reserve { .. }
            | Body::Decide { .. }
            | Body::Switch(_)
            | Body::Register(_)
            | Body::Wake(_)
            | Body::SetAside { .. } => return None,
        };
        Some(Cause { flow, event })
    };
    requests.iter().filter_map(cause).collect()
}

/// Counts the steps of a commit. The auditor has not seen it yet.
pub(crate) fn count(coverage: &mut Coverage, commit: &Commit, causes: &[Cause]) {
    for write in &commit.flows {
        let mut own = causes.iter().filter(|cause| cause.flow == write.after.id);
        let event = match (write.before.is_some(), own.next(), own.next()) {
            (false, None, _) => "created",
            (true, None, _) => "due",
            (true, Some(cause), None) => cause.event,
            (false, Some(_), _) | (true, Some(_), Some(_)) => continue,
        };
        count_step(coverage, write.before.as_ref(), &write.after, event);
    }
}

fn count_step(coverage: &mut Coverage, before: Option<&Flow>, after: &Flow, event: &str) {
    let mut add = |machine: &str, from: &str, to: &str| {
        let name = format!("{machine} {from} -{event}-> {to}");
        let count = coverage.entry(name).or_default();
        *count = count.saturating_add(1);
    };
    let from = before.map_or("new", |flow| flow.state.status());
    let to = after.state.status();
    if from != to {
        let machine = match after.state {
            FlowState::Payout(_) => "payout",
            FlowState::PayIn(_) => "payin",
            FlowState::Reservation(_) => "reservation",
        };
        add(machine, from, to);
    }
    let latest = |flow: &Flow| {
        let attempt = flow.state.payout()?.latest()?;
        Some((attempt.number, known(attempt.knowledge())))
    };
    if let (Some((number, from)), Some((same, to))) = (before.and_then(latest), latest(after))
        && number == same
        && from != to
    {
        add("attempt", from, to);
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
