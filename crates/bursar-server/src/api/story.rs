//! A payout explained: what happened, what is known and from whom, and what it waits for.

use bursar_core::attempt::{Attempt, Knowledge, Source, Verdict};
use bursar_core::control::Control;
use bursar_core::feed::FeedEvent;
use bursar_core::flow::Flow;
use bursar_core::payout::{Payout, State, StuckReason, Wait};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::Caller;

/// One thing that was told about a payout.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Moment {
    id: String,
    /// Counts from 1 without gaps.
    sequence: u64,
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    /// The payout as it was then.
    data: Value,
}

impl Moment {
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

/// Why a payout is where it is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explanation {
    id: String,
    status: String,
    version: u64,
    /// In words: where it stands, what that means for the money, and what happens next.
    summary: String,
    /// What is put aside, settled or given back.
    money: &'static str,
    /// Nothing is sent while this is so.
    is_frozen: bool,
    /// When it is looked at again, if nothing happens before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    attempts: Vec<Told>,
}

/// One act of submission, and everything that was said about it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Told {
    number: u32,
    reference: String,
    /// How often it was sent, or was about to be.
    tries: u32,
    /// What follows from everything that was said.
    knowledge: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_reference: Option<String>,
    evidence: Vec<Said>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Said {
    source: &'static str,
    verdict: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// SHA-256 of the bytes that said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl super::payouts::Payout {
    /// Who of the house has proposed what is not a merchant's to know.
    pub(super) fn seen_by(mut self, caller: &Caller) -> Self {
        self.pending_decision = self.pending_decision.filter(|_| caller.is_of_the_house());
        self
    }
}

impl Explanation {
    /// Merchants are told what is known, but neither by whom of the house nor what they noted about it.
    pub(super) fn new(flow: &Flow, control: &Control, caller: &Caller) -> Option<Self> {
        let payout = flow.state.payout()?;
        let is_frozen = control.is_frozen(&payout.terms.channel, &flow.merchant);
        Some(Self {
            id: flow.name(),
            status: payout.state.status().to_owned(),
            version: flow.version,
            summary: summary(payout, is_frozen, caller),
            money: money(&payout.state),
            is_frozen,
            next_at: flow.due().map(|due| due.at),
            attempts: payout.attempts.iter().map(|attempt| told(attempt, caller)).collect(),
        })
    }
}

fn summary(payout: &Payout, is_frozen: bool, caller: &Caller) -> String {
    let channel = &payout.terms.channel;
    let words = match &payout.state {
        State::Scheduled { until } => format!("It waits for its time, {until}."),
        State::Ready { .. } if is_frozen => {
            "It could be sent, but sending is frozen; it goes on when the freeze is lifted.".to_owned()
        }
        State::Ready { .. } => format!("It waits for a free place at {channel}."),
        State::Submitting { lease_until } => {
            format!("It is being sent to {channel}; without an answer by {lease_until} its outcome is unknown.")
        }
        State::Unconfirmed { asked, .. } => format!(
            "It was sent and nobody knows what became of it. It is never sent again on a guess: {channel} was asked {asked} times and is asked again."
        ),
        State::Processing { polls, deadline, .. } => format!(
            "{channel} has accepted it and will say how it ends. It was asked {polls} times; after {deadline} somebody must look."
        ),
        State::Stuck { reason, .. } => match reason {
            StuckReason::Ambiguous => format!(
                "{channel} was asked again and again and does not say whether it was paid. Somebody must find out and decide; callbacks and slow questions go on."
            ),
            StuckReason::Pending => format!(
                "{channel} has accepted it and does not come to an end. Somebody must find out and decide."
            ),
            StuckReason::Conflict => {
                "There is evidence that it was paid and evidence that it was not. Somebody must decide.".to_owned()
            }
        },
        State::Success => "It was paid.".to_owned(),
        State::Failed { reason } => format!("It was not paid: {reason}."),
        State::Cancelled => "It was cancelled before anything was sent.".to_owned(),
        State::Returned => "It was paid, and the money came back.".to_owned(),
        State::LateSuccess => {
            "The money was given back, and then it turned out that it had been paid: the release was taken back and the payout settled."
                .to_owned()
        }
    };
    let waiting = match &payout.proposal {
        Some(proposal) => {
            let who = if caller.is_of_the_house() { &proposal.actor } else { "Somebody" };
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
        | State::Returned
        | State::LateSuccess => "",
    };
    format!("{words}{waiting}{asking}")
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
        State::Failed { .. } | State::Cancelled => "released: the merchant has it back",
        State::Returned => "settled, and given back to the merchant after its return",
    }
}

fn told(attempt: &Attempt, caller: &Caller) -> Told {
    let is_theirs = |from| from != Source::Operator || caller.is_of_the_house();
    let said = attempt.evidence().map(|(evidence, at)| Said {
        source: source(evidence.source),
        verdict: verdict(evidence.verdict),
        at: *at,
        detail: evidence.detail.clone().filter(|_| is_theirs(evidence.source)),
        digest: evidence.digest.clone(),
    });
    let mut evidence: Vec<Said> = said.collect();
    evidence.sort_by_key(|said| said.at);
    Told {
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
    }
}

const fn source(source: Source) -> &'static str {
    match source {
        Source::Submission => "submission",
        Source::Callback => "callback",
        Source::Query => "query",
        Source::Operator => "operator",
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
    }
}
