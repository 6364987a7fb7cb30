//! A commit as lines of stored text. No line is the `Debug` form of a type.

use std::sync::Arc;

use bursar_core::approvals;
use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::host::{
    self, ClaimOutbox, ClaimedEntry, NextAction, OutboxEntry, Poll, PollReply,
};
use bursar_core::flow::{self, Accepted, Call, ClaimReply, Due, Effect, Flow, FlowView};
use bursar_core::freezes::{self, Freeze, Scope};
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::FlowId;
use bursar_core::ledger::{self, Account, Hold, HoldState, Posted, Transaction};
use bursar_core::payins::{self, ReportReply};
use bursar_core::payouts::{self, Order};
use bursar_core::registry::{self, Record, hexadecimal};
use bursar_core::rejection::Rejection;
use bursar_core::restores;
use bursar_core::turn::{AccountWrite, Answer, Ask, Commit, FlowWrite, HoldWrite, Reply};
use bursar_core::webhooks::{self, DeliveriesStarted};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::stored;

/// A planned call to a channel or an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) flow: FlowId,
    pub(crate) attempt: u32,
    pub(crate) what: Planning,
}

#[derive(Clone, Copy)]
pub(crate) enum Planning {
    Submit { r#try: u32 },
    Query { lease_until: Timestamp },
    Deliver,
}

/// All rows of a commit, one line each.
pub(crate) fn rows(commit: &Commit) -> Vec<String> {
    let mut rows = vec![json!(["time", commit.time]).to_string()];
    rows.extend(commit.transactions.iter().map(transaction));
    rows.extend(commit.accounts.iter().map(account_write));
    rows.extend(commit.holds.iter().map(hold_write));
    rows.extend(commit.flows.iter().map(flow_write));
    rows.extend(commit.keys.iter().map(key));
    rows.extend(commit.events.iter().map(event));
    rows.extend(commit.audit.iter().map(audit));
    rows.extend(commit.control.iter().map(|write| {
        let after = write.after.as_ref();
        let freezes = after.map(|after| after.freezes.iter().map(freeze).collect::<Vec<_>>());
        json!(["control", write.version, freezes]).to_string()
    }));
    rows.extend(
        commit
            .records
            .iter()
            .map(|write| json!(["record", write.before, record(&write.after)]).to_string()),
    );
    rows.extend(
        commit.relied_on.iter().map(|(key, version)| {
            json!(["relied_on", key.kind.name(), key.id, version]).to_string()
        }),
    );
    rows
}

/// The effects of a commit, sorted by text: their order within a commit has no meaning.
pub(crate) fn effects(commit: &Commit) -> Vec<String> {
    let mut texts: Vec<String> = commit.effects.iter().map(call).collect();
    texts.sort();
    texts
}

/// One call to a channel or to an endpoint.
pub(crate) fn call(it: &Effect) -> String {
    effect(it).to_string()
}

/// The calls for the engine and the calls for workflows, each in the order of flow and attempt.
pub(crate) fn planned(commit: &Commit) -> (Vec<Planned>, Vec<Planned>) {
    let mut ours: Vec<Planned> = commit.effects.iter().map(planned_call).collect();
    ours.sort_by_key(|it| (it.flow, it.attempt));
    let theirs =
        replies::<Poll>(commit).filter_map(|reply| reply.effect.as_ref().map(planned_call));
    let theirs = theirs.collect();
    (ours, theirs)
}

/// The outbox entries that the relay has claimed.
pub(crate) fn claimed(commit: &Commit) -> Vec<(FlowId, OutboxEntry)> {
    replies::<ClaimOutbox>(commit).flatten().map(|it| (it.flow.id, it.entry)).collect()
}

fn replies<A: Ask>(commit: &Commit) -> impl Iterator<Item = A::Reply> {
    let given = commit.answers.iter().filter_map(|answer| answer.as_ref().ok());
    given.filter_map(|reply| A::reply(reply.clone()))
}

/// The flows of a commit: id, kind, version and external reference.
pub(crate) fn written(commit: &Commit) -> Vec<(FlowId, &'static str, u64, Option<String>)> {
    let flows = commit.flows.iter().map(|write| &write.after);
    let row = |flow: &Flow| {
        let known = flow.references().last().map(|(_, reference)| reference.to_owned());
        (flow.id, flow.state.kind(), flow.version, known)
    };
    flows.map(|flow| row(flow)).collect()
}

/// An answer in stored texts, or the code and message of its rejection.
pub(crate) fn answer(answer: &Answer) -> String {
    let reply = match answer {
        Err(rejection) => return json!(["rejected", refusal(rejection)]).to_string(),
        Ok(reply) => reply,
    };
    let accepted = |it: &Accepted| json!(["noted", it.name, it.status]);
    let value = match reply {
        Reply::Ledger(ledger::Reply::Posted(Posted::New(id))) => json!(["posted", id]),
        Reply::Ledger(ledger::Reply::Posted(Posted::Replayed(id))) => json!(["posted_before", id]),
        Reply::Ledger(ledger::Reply::Closed(_)) => json!(["closed"]),
        Reply::Payouts(payouts::Reply::Payout(it)) => {
            json!(["flow", FlowView::Payout(Arc::clone(&it.view)).encode(), it.is_replay])
        }
        Reply::PayIns(payins::Reply::Report(ReportReply::Differs(rejection))) => {
            json!(["differs", refusal(rejection)])
        }
        Reply::PayIns(payins::Reply::PayIn(it) | payins::Reply::Report(ReportReply::PayIn(it))) => {
            json!(["flow", FlowView::PayIn(Arc::clone(&it.view)).encode(), it.is_replay])
        }
        Reply::Approvals(approvals::Reply::Proposed(it)) => {
            json!(["flow", FlowView::Approval(Arc::clone(&it.view)).encode(), it.is_replay])
        }
        Reply::Approvals(approvals::Reply::Decided(it)) => json!(["decided", it.view]),
        Reply::Flows(flow::Reply::Claimed(it)) | Reply::Webhooks(webhooks::Reply::Claimed(it)) => {
            json!(["woken", claim(it)])
        }
        Reply::Webhooks(webhooks::Reply::DeliveriesStarted(it)) => {
            json!(["delivering", delivering(it)])
        }
        Reply::Webhooks(webhooks::Reply::Replayed(views)) => json!(["replayed", views]),
        Reply::Host(host::Reply::Polled(it)) => json!(["driven", polled(it)]),
        Reply::Host(host::Reply::Claimed(all)) => {
            json!(["carried", all.iter().map(claimed_entry).collect::<Vec<_>>()])
        }
        Reply::Payouts(payouts::Reply::Accepted(it))
        | Reply::Freezes(freezes::Reply::Accepted(it))
        | Reply::Restores(restores::Reply::Accepted(it))
        | Reply::Flows(flow::Reply::Accepted(it))
        | Reply::Host(host::Reply::Accepted(it)) => accepted(it),
        Reply::Registry(registry::Reply::Registered(it)) => {
            json!(["registered", record(&it.record), it.is_new])
        }
    };
    value.to_string()
}

fn refusal(rejection: &Rejection) -> Value {
    json!([rejection.code(), rejection.to_string()])
}

fn refusals(all: &[(String, Rejection)]) -> Vec<Value> {
    all.iter().map(|(name, rejection)| json!([name, refusal(rejection)])).collect()
}

fn claim(it: &ClaimReply) -> Value {
    json!([it.flows, refusals(&it.refused), it.dead_lettered])
}

fn delivering(it: &DeliveriesStarted) -> Value {
    let blocked: Vec<Value> = it.blocked.iter().map(|(id, until)| json!([id, until])).collect();
    let counts = json!([it.count, it.retries, it.is_cut]);
    json!([counts, it.last, it.full, blocked, refusals(&it.refused)])
}

fn polled(it: &PollReply) -> Value {
    let call = it.effect.as_ref().map(effect);
    let next = it.next.map(|next| json!([next.at, next_word(next.action)]));
    let refused = it.refused.as_ref().map(refusal);
    json!([flow(&it.flow), call, next, it.notifies, it.is_full, refused])
}

fn next_word(next: NextAction) -> &'static str {
    let activity = match next {
        NextAction::Effect { activity, .. } | NextAction::Turn { activity } => activity,
        NextAction::Record => return "note",
    };
    match activity {
        "SubmitToChannel" => "submit",
        "PollChannelStatus" => "ask",
        "UpdateLedger" => "settle",
        "ReleaseBalance" => "release",
        "MarkAsStuck" => "stick",
        "DeliverWebhook" => "deliver",
        "SendToDLQ" => "bury",
        other => panic!("an activity that no history has seen: {other}"),
    }
}

fn claimed_entry(it: &ClaimedEntry) -> Value {
    json!([flow(&it.flow), it.workflow, it.entry])
}

fn planned_call(it: &Effect) -> Planned {
    let what = if let Call::Payout(call) = &it.call {
        match call.order {
            Order::Submit { r#try, .. } => Planning::Submit { r#try },
            Order::Query => Planning::Query { lease_until: it.lease_until },
        }
    } else {
        assert!(matches!(it.call, Call::Delivery(_)), "no history has such a call: {it:?}");
        Planning::Deliver
    };
    Planned { flow: it.flow, attempt: it.attempt, what }
}

fn effect(it: &Effect) -> Value {
    if let Call::Payout(call) = &it.call {
        let order = match &call.order {
            Order::Submit { r#try, amount, beneficiary } => {
                json!(["submit", r#try, amount.currency().code(), amount.minor(), beneficiary])
            }
            Order::Query => json!(["query"]),
        };
        let (channel, reference) = (&call.channel, &call.reference);
        return json!(["effect", it.flow, channel, it.attempt, reference, it.lease_until, order]);
    }
    let Call::Delivery(call) = &it.call else { panic!("no history has such a call: {it:?}") };
    let size = it.slot.as_ref().and_then(|slot| slot.size);
    let sent = json!([call.url, call.headers, call.secrets, call.event, call.kind, call.body]);
    let lease = json!([call.at, it.lease_until]);
    json!(["delivery", it.flow, call.endpoint, size, it.attempt, lease, sent])
}

fn transaction(it: &Transaction) -> String {
    let postings: Vec<Value> = it
        .postings
        .iter()
        .map(|posting| {
            let money = posting.money;
            json!([*posting.source, *posting.destination, money.currency().code(), money.minor()])
        })
        .collect();
    let hashes = [it.request_hash, it.rulebook_hash].map(|hash| hexadecimal(&hash));
    let times = [it.effective_at, it.inserted_at];
    json!(["transaction", it.id, *it.event, it.reference, hashes, times, it.reverts, postings])
        .to_string()
}

fn account_write(it: &AccountWrite) -> String {
    json!(["account", *it.address, account(&it.after), it.delta, it.least_opening]).to_string()
}

fn account(it: &Account) -> Value {
    let (money, line) = (it.balance, &it.metadata);
    json!([money.currency().code(), money.minor(), line.code.to_string(), line.name])
}

fn hold_write(it: &HoldWrite) -> String {
    let before = it.before.as_ref().map(hold);
    let code = it.key.code.to_string();
    json!(["hold", code, it.key.reference, before, hold(&it.after)]).to_string()
}

fn hold(it: &Hold) -> Value {
    let ended = match it.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by),
    };
    let money = it.money;
    json!([*it.account, money.currency().code(), money.minor(), it.epoch, ended])
}

fn flow_write(it: &FlowWrite) -> String {
    let before = it.before.as_ref().map(|flow| flow.version);
    let new: Vec<[String; 2]> = it
        .new_references()
        .map(|(speaker, reference)| [speaker.into_owned(), reference.to_owned()])
        .collect();
    let columns = json!(["flow", columns(&it.after), before, due(it.due_before()), new]);
    // After the columns instead of among them: nested JSON is slow and hard to read.
    format!("{columns} {}", it.after.encode())
}

fn flow(it: &Flow) -> Value {
    json!([columns(it), it.encode()])
}

fn columns(it: &Flow) -> Value {
    let row = json!([it.id, it.name(), it.merchant, it.version, it.sequence]);
    let times = [it.created_at, it.updated_at];
    let state = &it.state;
    json!([row, times, state.kind(), state.status(), state.event(), due(it.due())])
}

fn due(due: Option<Due>) -> Value {
    json!(due.map(|due| (due.lane, due.at)))
}

fn key(it: &KnownKey) -> String {
    let (key, digest) = (&it.key, hexadecimal(&it.key.digest()));
    let request = hexadecimal(&it.request_hash);
    format!("{} {}", json!(["key", key.scope(), key.value(), digest, request, it.flow]), it.text)
}

fn event(it: &FeedEvent) -> String {
    let row = json!([it.id, it.kind, it.resource, it.merchant, it.sequence, it.time]);
    format!("{} {}", json!(["event", row]), it.data)
}

fn audit(it: &AuditEntry) -> String {
    json!(["audit", it.actor, it.action, it.resource, it.note, it.time]).to_string()
}

fn freeze((scope, freeze): (&Scope, &Freeze)) -> Value {
    json!([stored::json(scope), stored::json(freeze)])
}

fn record(it: &Record) -> Value {
    let (kind, text) = stored::record(&it.content);
    json!([kind, it.id, it.merchant(), it.version, it.created_at, it.updated_at, text])
}
