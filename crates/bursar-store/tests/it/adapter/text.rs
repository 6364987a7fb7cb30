//! What a turn decided, as lines of stored text: no line is the `Debug` form of a type.

use bursar_core::commit::{AccountWrite, Commit, FlowWrite, HoldWrite};
use bursar_core::control::{Freeze, Scope};
use bursar_core::delivery::Parcel;
use bursar_core::drive::{Carried, Driven, Job, Move};
use bursar_core::effect::{Call, Effect};
use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::host::Errand;
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::FlowId;
use bursar_core::ledger::{Account, Hold, HoldState, Posted, Transaction};
use bursar_core::registry::{Record, hexadecimal};
use bursar_core::rejection::Rejection;
use bursar_core::request::{Answer, Delivering, Reply, Woken};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::stored;

/// A call that was planned: to a channel, or to an endpoint.
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

/// Everything that is saved, one line for each row.
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
        let freezes = write.freezes.as_ref();
        let freezes = freezes.map(|all| all.iter().map(freeze).collect::<Vec<_>>());
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

/// What is done once it is saved, in the order of the texts: the order of calls within a commit means nothing.
pub(crate) fn effects(commit: &Commit) -> Vec<String> {
    let calls = commit.effects.iter().map(effect);
    let mut texts: Vec<String> =
        calls.chain(commit.parcels.iter().map(parcel)).map(|it| it.to_string()).collect();
    texts.sort();
    texts
}

/// One call to a channel.
pub(crate) fn call(it: &Effect) -> String {
    effect(it).to_string()
}

/// The calls that a commit planned, and those that it gave to workflows. In an order that does not depend on lists.
pub(crate) fn planned(commit: &Commit) -> (Vec<Planned>, Vec<Planned>) {
    let calls = commit.effects.iter().map(planned_call);
    let mut ours: Vec<Planned> = calls.chain(commit.parcels.iter().map(planned_parcel)).collect();
    ours.sort_by_key(|it| (it.flow, it.attempt));
    let theirs = commit.answers.iter().filter_map(|answer| match answer {
        Ok(Reply::Driven(driven)) => driven.job.as_ref(),
        _ => None,
    });
    let theirs = theirs.map(|job| match job {
        Job::Call(effect) => planned_call(effect),
        Job::Send(parcel) => planned_parcel(parcel),
    });
    (ours, theirs.collect())
}

/// Entries of the outbox that a commit gave to the relay.
pub(crate) fn claimed(commit: &Commit) -> Vec<(FlowId, Errand)> {
    let carried = commit.answers.iter().filter_map(|answer| match answer {
        Ok(Reply::Carried(carried)) => Some(carried),
        _ => None,
    });
    carried.flatten().map(|it| (it.flow.id, it.errand)).collect()
}

/// The flows that a commit wrote: id, kind, version, and what it is known by outside.
pub(crate) fn written(commit: &Commit) -> Vec<(FlowId, &'static str, u64, Option<String>)> {
    let flows = commit.flows.iter().map(|write| &write.after);
    let row = |flow: &Flow| {
        let known = flow.references().last().map(|(_, reference)| reference.to_owned());
        (flow.id, flow.state.kind(), flow.version, known)
    };
    flows.map(|flow| row(flow)).collect()
}

/// An answer: texts as they are stored, or the code of the rejection. The message of a rejection stands behind it.
pub(crate) fn answer(answer: &Answer) -> String {
    let value = match answer {
        Err(rejection) => json!(["rejected", refusal(rejection)]),
        Ok(Reply::Posted(Posted::New(id))) => json!(["posted", id]),
        Ok(Reply::Posted(Posted::Replayed(id))) => json!(["posted_before", id]),
        Ok(Reply::Flow { reply, is_replay }) => json!(["flow", reply.encode(), is_replay]),
        Ok(Reply::Woken(woken)) => json!(["woken", self::woken(woken)]),
        Ok(Reply::Delivering(begun)) => json!(["delivering", delivering(begun)]),
        Ok(Reply::Driven(driven)) => json!(["driven", self::driven(driven)]),
        Ok(Reply::Carried(all)) => {
            json!(["carried", all.iter().map(carried).collect::<Vec<_>>()])
        }
        Ok(Reply::Replayed(views)) => json!(["replayed", views]),
        Ok(Reply::Noted { name, status }) => json!(["noted", name, status]),
        Ok(Reply::Registered { record: it, is_new }) => json!(["registered", record(it), is_new]),
    };
    value.to_string()
}

fn refusal(rejection: &Rejection) -> Value {
    json!([rejection.code(), rejection.to_string()])
}

fn refusals(all: &[(String, Rejection)]) -> Vec<Value> {
    all.iter().map(|(name, rejection)| json!([name, refusal(rejection)])).collect()
}

fn woken(it: &Woken) -> Value {
    json!([it.flows, refusals(&it.refused), it.given_up])
}

fn delivering(it: &Delivering) -> Value {
    let blocked: Vec<Value> = it.blocked.iter().map(|(id, until)| json!([id, until])).collect();
    let counts = json!([it.count, it.retries, it.is_cut]);
    json!([counts, it.last, it.full, blocked, refusals(&it.refused)])
}

fn driven(it: &Driven) -> Value {
    let job = it.job.as_ref().map(|job| match job {
        Job::Call(it) => effect(it),
        Job::Send(it) => parcel(it),
    });
    let next = it.next.map(|next| json!([next.at, next_word(next.r#move)]));
    let refused = it.refused.as_ref().map(refusal);
    json!([flow(&it.flow), job, next, it.tells, it.is_full, refused])
}

fn next_word(next: Move) -> &'static str {
    match next {
        Move::Submit => "submit",
        Move::Ask => "ask",
        Move::Settle => "settle",
        Move::Release => "release",
        Move::Stick => "stick",
        Move::Deliver => "deliver",
        Move::Bury => "bury",
        Move::Note => "note",
    }
}

fn carried(it: &Carried) -> Value {
    json!([flow(&it.flow), it.workflow, it.errand])
}

fn planned_call(it: &Effect) -> Planned {
    let what = match it.call {
        Call::Submit { r#try, .. } => Planning::Submit { r#try },
        Call::Query => Planning::Query { lease_until: it.lease_until },
    };
    Planned { flow: it.flow, attempt: it.attempt, what }
}

fn planned_parcel(it: &Parcel) -> Planned {
    Planned { flow: it.flow, attempt: it.attempt, what: Planning::Deliver }
}

fn effect(it: &Effect) -> Value {
    let call = match &it.call {
        Call::Submit { r#try, amount, beneficiary } => {
            json!(["submit", r#try, amount.currency().code(), amount.minor(), beneficiary])
        }
        Call::Query => json!(["query"]),
    };
    json!(["effect", it.flow, it.channel, it.attempt, it.reference, it.lease_until, call])
}

fn parcel(it: &Parcel) -> Value {
    let sent = json!([it.url, it.headers, it.secrets, it.event, it.kind, it.body]);
    let lease = json!([it.at, it.lease_until]);
    json!(["delivery", it.flow, it.endpoint, it.concurrency, it.attempt, lease, sent])
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
    // Behind the columns and not among them: JSON within JSON is hard to read, and slow.
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
    format!("{} {}", json!(["key", key.scope(), key.words(), digest, request, it.flow]), it.text)
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
