//! The history and the explanation of a payout: its events, the evidence of its attempts, and what it waits for.

use std::collections::BTreeSet;

use axum::Json as Reply;
use axum::extract::{Path, State as AppState};
use bursar_core::feed::FeedEvent;
use bursar_core::flow::Flow;
use bursar_core::freezes::Control;
use bursar_core::payouts::attempt::{Attempt, Knowledge, Source, Verdict};
use bursar_core::payouts::{Discrepancy, Payout, Stage, State, StuckReason, Wait};
use bursar_store::{Browse as _, Query as _};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::lists::Listed;
use super::payout_view::PaidBeneficiary;
use crate::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// An event of a payout.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TimelineEvent {
    id: String,
    /// Counts from 1 without gaps.
    sequence: u64,
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    /// The payout at that time.
    data: Value,
}

impl TimelineEvent {
    pub(super) fn new(event: FeedEvent) -> Self {
        Self {
            id: event.id.to_string(),
            sequence: event.sequence,
            kind: event.kind,
            time: event.time,
            data: serde_json::from_str(&event.data).unwrap_or(Value::Null),
        }
    }
}

/// Why a payout has its status.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explanation {
    id: String,
    status: String,
    version: u64,
    /// Whom it pays.
    beneficiary: PaidBeneficiary,
    /// The channel's own reference: of the settled attempt, or before settlement of the latest attempt that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_reference: Option<String>,
    /// The caller's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// A text: the status, what it means for the money, and what happens next.
    summary: String,
    /// Whether the money is on hold, settled or released.
    money: &'static str,
    /// A freeze applies: nothing is submitted while it holds.
    is_frozen: bool,
    /// The time of its next step, if no event arrives before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    attempts: Vec<AttemptView>,
}

/// One submission to the channel, and the evidence about it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AttemptView {
    number: u32,
    reference: String,
    /// How many tries were started.
    tries: u32,
    /// The conclusion from all evidence.
    knowledge: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_reference: Option<String>,
    evidence: Vec<EvidenceView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EvidenceView {
    source: &'static str,
    verdict: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The amount and currency that the channel reports, if they are not those of the payout.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<String>,
    /// SHA-256 of the bytes that the evidence was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Explanation {
    /// Merchants do not see the actors and notes of staff.
    pub(super) fn new(flow: &Flow, control: &Control, caller: &Caller) -> Option<Self> {
        let payout = flow.state.payout()?;
        let is_frozen = control.is_frozen(&payout.terms.channel, &flow.merchant);
        Some(Self {
            id: flow.name(),
            status: payout.state.status().to_owned(),
            version: flow.version,
            beneficiary: payout.masked_beneficiary().into(),
            provider_reference: payout.provider_reference().map(str::to_owned),
            external_id: payout.terms.remarks.external_id.clone(),
            description: payout.terms.remarks.description.clone(),
            summary: summary(payout, is_frozen, caller) + rechecked(payout, control),
            money: money(&payout.state),
            is_frozen,
            next_at: flow.due().map(|due| due.at),
            attempts: payout.attempts.iter().map(|attempt| attempt_view(attempt, caller)).collect(),
        })
    }
}

/// List the payout's events, oldest first.
#[utoipa::path(get, path = "/v1/payouts/{id}/timeline", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Listed<TimelineEvent>), (status = 404, body = Problem)))]
pub(super) async fn timeline(
    AppState(app): AppState<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Listed<TimelineEvent>>, Problem> {
    let name = app.find_flow::<Payout>(&caller, &id).await?.name();
    let read = app.0.readers.read(async move |store| store.events_of(&name, 0, 1_000).await);
    let data = read.await?.into_iter().map(TimelineEvent::new).collect();
    Ok(Reply(Listed::page(data, None)))
}

/// Explain the status of a payout: the evidence, its source, and what the payout waits for.
#[utoipa::path(get, path = "/v1/payouts/{id}/explain", tag = "payouts", params(("id" = String, Path)),
    responses((status = 200, body = Explanation), (status = 404, body = Problem)))]
pub(super) async fn explain(
    AppState(app): AppState<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Explanation>, Problem> {
    let flow = app.find_flow::<Payout>(&caller, &id).await?;
    let control = app.0.readers.read(async |store| store.control().await).await?;
    let explanation = Explanation::new(&flow, &control, &caller);
    Ok(Reply(explanation.ok_or_else(|| Problem::not_found("this id"))?))
}

/// What a restore of the books holds back.
fn rechecked(payout: &Payout, control: &Control) -> &'static str {
    let restore = control.restore.as_ref();
    let is_open = restore.is_some_and(|restore| restore.is_open_for(&payout.terms.channel));
    let is_proven = payout.recheck.as_ref().is_some_and(|recheck| {
        Some(recheck.restored_at) == restore.map(|restore| restore.at)
            && recheck.stage == Stage::Proven
    });
    if !is_open || is_proven || payout.state.is_final() {
        return "";
    }
    " The books were restored from a copy: the channel is asked about it before anything is sent or released."
}

fn summary(payout: &Payout, is_frozen: bool, caller: &Caller) -> String {
    let channel = &payout.terms.channel;
    let words = match &payout.state {
        State::Scheduled { until } if is_frozen => format!(
            "It waits for its time, {until}, and sending is frozen; it is not sent before the freeze is lifted."
        ),
        State::Scheduled { until } => format!("It waits for its time, {until}."),
        State::Ready { .. } if is_frozen => {
            "It could be sent, but sending is frozen; it goes on when the freeze is lifted.".to_owned()
        }
        State::Ready { .. } if payout.latest().is_some_and(Attempt::was_last_try_ours) => format!(
            "Bursar could not send it to {channel}: its machine had no files, ports, memory or time left. Nothing was sent, and it is tried again."
        ),
        State::Ready { .. } => format!("It waits for a free place at {channel}."),
        State::Submitting { lease_until } => {
            format!("It is being sent to {channel}; without an answer by {lease_until} its outcome is unknown.")
        }
        State::Unconfirmed { asked, .. } => format!(
            "It was sent and its outcome is unknown. It is never sent again on a guess: {channel} was asked {asked} times and is asked again."
        ),
        State::Processing { polls, deadline, .. } => format!(
            "{channel} has accepted it and will say how it ends. It was asked {polls} times; after {deadline} an operator must look."
        ),
        State::Stuck { reason, .. } => stuck(payout, *reason),
        State::Success => "It was paid.".to_owned(),
        State::Failed { reason } => format!("It was not paid: {reason}."),
        State::Cancelled => "It was cancelled before anything was sent.".to_owned(),
        State::Expired => format!(
            "The window of {channel} closed before it was sent. Nothing was sent, and the money was given back."
        ),
        State::Returned => "It was paid, and the money came back.".to_owned(),
        State::LateSuccess => {
            "The money was given back, and then it turned out that it had been paid: the release was taken back and the payout settled."
                .to_owned()
        }
    };
    let waiting = match &payout.proposal {
        Some(proposal) => {
            let who = if caller.is_staff() { &proposal.actor } else { "One person" };
            format!(" {who} has decided; a second person must decide the same.")
        }
        None => String::new(),
    };
    let asking = match payout.state {
        State::Unconfirmed { wait: Wait::Asking { .. }, .. }
        | State::Processing { wait: Wait::Asking { .. }, .. }
        | State::Stuck { wait: Wait::Asking { .. }, .. } => " A question is on its way now.",
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
        | State::LateSuccess => "",
    };
    let case = case(payout);
    format!("{words}{case}{waiting}{asking}")
}

/// Why an operator must decide.
fn stuck(payout: &Payout, reason: StuckReason) -> String {
    let channel = &payout.terms.channel;
    match reason {
            StuckReason::Ambiguous => format!(
                "{channel} was asked again and again and does not say whether it was paid. An operator must find out and decide; callbacks and slow questions go on."
            ),
            StuckReason::Pending => format!(
                "{channel} has accepted it and does not come to an end. An operator must find out and decide."
            ),
            StuckReason::Conflict => {
                "There is evidence that it was paid and evidence that it was not. An operator must decide.".to_owned()
            }
            StuckReason::AmountDiffers => format!(
                "{channel} was asked to pay {} and reports {}. It is not settled by itself: an operator must find out what was paid and decide for all of it; a difference is a matter for an adjustment.",
                asked(payout),
                reported(payout)
            ),
        }
}

/// The discrepancy of a finished payout.
fn case(payout: &Payout) -> String {
    let channel = &payout.terms.channel;
    match payout.case.map(|case| (case.name(), payout.is_case_closed)) {
        Some((name, false)) if payout.case == Some(Discrepancy::AmountDiffers) => format!(
            " There is a case, {name}: {channel} was asked to pay {} and reports {}. An operator must look into it and close it.",
            asked(payout),
            reported(payout)
        ),
        Some((name, false)) => {
            format!(" There is a case, {name}: an operator must look into it and close it.")
        }
        Some((name, true)) => format!(" The case, {name}, was looked into and is closed."),
        None => String::new(),
    }
}

fn asked(payout: &Payout) -> String {
    let amount = payout.terms.funds.amount;
    format!("{amount} {}", amount.code())
}

/// The other amounts that the channel reported.
fn reported(payout: &Payout) -> String {
    let reports = payout.attempts.iter().flat_map(Attempt::evidence);
    let reports: BTreeSet<String> = reports
        .filter_map(|(evidence, _)| evidence.reported.as_ref().map(ToString::to_string))
        .collect();
    reports.into_iter().collect::<Vec<_>>().join(" and ")
}

const fn money(state: &State) -> &'static str {
    match state {
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. } => "on hold: amount, fee and VAT are put aside",
        State::Success | State::LateSuccess => "settled: it has left through the bank",
        State::Failed { .. } | State::Cancelled | State::Expired => {
            "released: the merchant has it back"
        }
        State::Returned => "settled, and given back to the merchant after its return",
    }
}

fn attempt_view(attempt: &Attempt, caller: &Caller) -> AttemptView {
    let is_visible = |source| source != Source::Operator || caller.is_staff();
    let views = attempt.evidence().map(|(evidence, at)| EvidenceView {
        source: source(evidence.source),
        verdict: verdict(evidence.verdict),
        at: *at,
        detail: evidence.detail.clone().filter(|_| is_visible(evidence.source)),
        reported: evidence.reported.as_ref().map(ToString::to_string),
        digest: evidence.digest.clone(),
    });
    let mut evidence: Vec<EvidenceView> = views.collect();
    evidence.sort_by_key(|evidence| evidence.at);
    AttemptView {
        number: attempt.number,
        reference: attempt.reference.clone(),
        tries: attempt.tries,
        knowledge: knowledge(attempt.knowledge()),
        provider_reference: attempt.provider_reference().map(str::to_owned),
        evidence,
    }
}

const fn knowledge(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::NotSent => "not_sent",
        Knowledge::InFlight => "in_flight",
        Knowledge::Unknown => "unknown",
        Knowledge::Accepted => "accepted",
        Knowledge::NotPaid { .. } => "not_paid",
        Knowledge::Paid => "paid",
        Knowledge::Returned => "returned",
        Knowledge::Conflict => "conflict",
        Knowledge::AmountMissing => "amount_missing",
        Knowledge::AmountDiffers => "amount_differs",
    }
}

const fn source(source: Source) -> &'static str {
    match source {
        Source::Submission => "submission",
        Source::Callback => "callback",
        Source::Query => "query",
        Source::Operator => "operator",
        Source::Report => "report",
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotSent { r#try } => format!("try {try} was not sent"),
        Verdict::Unknown { r#try } => format!("the outcome of try {try} is unknown"),
        Verdict::Refused { r#try, is_retryable: true } => format!("try {try} was refused for now"),
        Verdict::Refused { r#try, is_retryable: false } => format!("try {try} was refused"),
        Verdict::Accepted => "accepted".to_owned(),
        Verdict::Paid => "paid".to_owned(),
        Verdict::NotPaid { is_retryable: true } => {
            "not paid, another attempt may do better".to_owned()
        }
        Verdict::NotPaid { is_retryable: false } => "not paid".to_owned(),
        Verdict::Returned => "returned".to_owned(),
        Verdict::AmountDiffers => "another amount or currency".to_owned(),
        Verdict::AmountMissing => "without the amount that it must name".to_owned(),
    }
}
