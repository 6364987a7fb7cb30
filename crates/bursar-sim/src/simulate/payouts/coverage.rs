//! What requests and outcomes do to payouts, and which arrows of attempts were taken.

use bursar_core::flow::Flow;
use bursar_core::ids::FlowId;
use bursar_core::payouts::attempt::{Knowledge, Verdict};
use bursar_core::payouts::{Answer, Decision, Event, Outcome, Request};
use bursar_core::turn::Body;

use crate::simulate::audit::Audit;
use crate::simulate::coverage::{Coverage, add};

/// The flow that a request is about, and the event that it is for it.
pub(crate) fn causes(body: &Body, audit: &Audit) -> Vec<(FlowId, &'static str)> {
    let Body::Payouts(request) = body else { return Vec::new() };
    let cause = || match request {
        Request::Callback(it) => {
            let name = (it.channel.clone(), it.reference.clone());
            Some((audit.flow_of(&name)?, said(it.evidence.verdict)))
        }
        Request::Cancel(it) => Some((it.cancellation.id.into(), "cancel")),
        Request::Resolve(it) => Some((it.resolution.id.into(), ruled(it.resolution.decision))),
        Request::AskAgain(it) => Some((it.id.into(), "recheck")),
        Request::Reschedule(it) => Some((it.id.into(), "reschedule")),
        Request::Create(_) => None,
    };
    cause().into_iter().collect()
}

pub(crate) fn count_attempt(coverage: &mut Coverage, before: &Flow, after: &Flow, event: &str) {
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
        Knowledge::AmountMissing => "amount-missing",
        Knowledge::AmountDiffers => "amount-differs",
    }
}

pub(crate) const fn outcome_name(event: &Event) -> &'static str {
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
        Event::EvidenceReceived { evidence, .. } => said(evidence.verdict),
        Event::CancelAsked => "cancel",
        Event::CutOff => "cut-off",
        Event::Rescheduled(_) => "reschedule",
        Event::RecheckAsked => "recheck",
        Event::Decided(decision) => ruled(decision.decision),
    }
}

const fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotSent { .. } => "callback.not-sent",
        Verdict::Unknown { .. } => "callback.unknown",
        Verdict::Refused { .. } => "callback.refused",
        Verdict::Accepted => "callback.accepted",
        Verdict::Paid => "callback.paid",
        Verdict::NotPaid { .. } => "callback.not-paid",
        Verdict::Returned => "callback.returned",
        Verdict::AmountDiffers => "callback.amount-differs",
        Verdict::AmountMissing => "callback.amount-missing",
    }
}

const fn ruled(decision: Decision) -> &'static str {
    match decision {
        Decision::ConfirmPaid => "decided.paid",
        Decision::ConfirmNotPaid => "decided.not-paid",
        Decision::KeepWaiting => "decided.wait",
        Decision::NewAttempt => "decided.new-attempt",
        Decision::CloseCase => "decided.close-case",
    }
}
