//! Propose, approve and turn down. The request of a proposal runs on a copy of the draft, which replaces the draft only if it
//! does what the proposal says.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::preview::Preview;
use super::request::{Approve, Decided, Propose, Turndown};
use super::state::{Approval, State, View};
use super::step::{Event, Step, step};
use super::stored::{Proposable, encode, stored_body};
use crate::flow::host::Host;
use crate::flow::request::unknown;
use crate::flow::{Change, Flow, check_version};
use crate::ids::{ApprovalId, FlowId};
use crate::ledger::{self, Admission, Posted};
use crate::rejection::Rejection;
use crate::turn::{Decide as _, Draft, Given, Ready, RenderedReply, Reply};
use crate::{payins, payouts, registry};

/// How long a proposal waits for its approval.
const EXPIRES_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// A request that was carried out on a copy of the draft.
struct Trial<'r> {
    draft: Draft<'r>,
    reply: Reply,
    preview: Preview,
    /// The name of what was done.
    result: String,
}

/// Carries the request out on a copy of the draft, as if it were approved.
fn attempt<'r>(
    request: &Ready<'_>,
    draft: &Draft<'r>,
    at: &Admission,
) -> Result<Trial<'r>, Rejection> {
    let mut copy = draft.clone();
    let (before, entries) = (copy.transactions().len(), copy.audit_entries());
    let reply = copy.as_approved(|copy| request.apply(copy, at))?;
    let preview = Preview::of(copy.transactions().get(before..).unwrap_or_default());
    let result = result(&reply)?;
    // Every action is in the audit log: one that made no entry, such as the second revoke of a key, has changed nothing.
    if copy.audit_entries() == entries {
        return Err(Rejection::DoneAlready);
    }
    Ok(Trial { draft: copy, reply, preview, result })
}

/// The name of what was done. What was done before is refused: a proposal must not wait for it.
fn result(reply: &Reply) -> Result<String, Rejection> {
    let done = || Err(Rejection::DoneAlready);
    match reply {
        Reply::Payouts(payouts::Reply::Payout(given)) if given.is_replay => done(),
        Reply::Payouts(payouts::Reply::Payout(given)) => Ok(given.view.id.clone()),
        Reply::PayIns(
            payins::Reply::Report(payins::ReportReply::PayIn(given)) | payins::Reply::PayIn(given),
        ) => {
            if given.is_replay {
                return done();
            }
            Ok(given.view.id.clone())
        }
        Reply::PayIns(payins::Reply::Report(payins::ReportReply::Differs(rejection))) => {
            Err((**rejection).clone())
        }
        Reply::Ledger(ledger::Reply::Posted(Posted::New(id))) => Ok(id.to_string()),
        Reply::Ledger(ledger::Reply::Posted(Posted::Replayed(_))) => done(),
        Reply::Registry(registry::Reply::Registered(it)) => Ok(it.record.id.clone()),
        Reply::Ledger(ledger::Reply::Closed(_))
        | Reply::Payouts(payouts::Reply::Accepted(_))
        | Reply::Webhooks(_)
        | Reply::Freezes(_)
        | Reply::Restores(_)
        | Reply::Flows(_)
        | Reply::Host(_)
        | Reply::Approvals(_) => Err(Rejection::NoApprovalNeeded),
    }
}

impl Propose {
    pub(super) fn apply(
        &self,
        request: &Ready<'_>,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Given<View>, Rejection> {
        let Proposable { action, text: body, summary } = encode(&self.body)?;
        let request_hash = hash(&body);
        if let Some(replay) = draft.replay::<Approval>(&self.key, request_hash) {
            return replay;
        }
        let rule = draft.rules().approval_rule(action);
        if self.break_glass && !rule.break_glass {
            return Err(Rejection::NoBreakGlass { action: action.name() });
        }
        let trial = attempt(request, draft, at)?;
        let state = if self.break_glass {
            State::BreakGlass { result: trial.result }
        } else {
            State::Proposed
        };
        let approval = Approval {
            action: action.name().to_owned(),
            body,
            summary,
            maker: self.by.clone(),
            reason: self.reason.clone(),
            preview: trial.preview,
            quorum: rule.quorum.max(2),
            expires_at: at.now.saturating_add(EXPIRES_AFTER).unwrap_or(Timestamp::MAX),
            signed: Vec::new(),
            state,
        };
        if self.break_glass {
            *draft = trial.draft;
        }
        let id = FlowId::from(ApprovalId::new(at.now, &at.seed, 0));
        let note = format!("{}: {}", approval.summary, self.reason);
        let done = if self.break_glass { "approval.break_glass" } else { "approval.propose" };
        let flow = Flow::new(id, "", approval, Host::Engine, at.now);
        let rendered = RenderedReply::<Approval>::new(&flow).ok_or_else(|| unknown(id))?;
        draft.note((&self.by.actor, done), &flow.name(), &note, at);
        draft.emit_as(&flow, rendered.text.clone(), at);
        draft.put(flow, at);
        Ok(draft.answer(&self.key, request_hash, id, rendered))
    }
}

impl Approve {
    pub(super) fn apply(
        &self,
        request: Result<&Ready<'_>, Rejection>,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Decided, Rejection> {
        let (flow, approval) = find(self.id, self.expected_version, draft)?;
        // Both in the form of this version: the proposal may have been stored by another one.
        let stored = stored_body(&approval.body)
            .map_err(|_| Rejection::Unreadable { id: self.id.to_string() })?;
        if encode(&self.body)?.text != encode(&stored)?.text {
            return Err(Rejection::OtherRequest { id: self.id.to_string() });
        }
        let (by, note) = (self.by.clone(), self.note.clone());
        let signed = match step(&approval, &Event::Approves { by, note }, at.now)? {
            Step::To(approval) => return Ok(save(&flow, &approval, &self.by.actor, draft, at)),
            Step::Executes(approval) => approval,
        };
        let trial = request.and_then(|request| attempt(request, draft, at));
        let (state, reply) = match trial {
            Ok(trial) if trial.preview == approval.preview => {
                *draft = trial.draft;
                (State::Approved { result: trial.result }, Some(Box::new(trial.reply)))
            }
            Ok(trial) => {
                let (now, before) = (trial.preview, &approval.preview);
                let why = format!("it was proposed as {before}, and would now be {now}");
                (State::Stale { why }, None)
            }
            Err(rejection) => (State::Stale { why: rejection.to_string() }, None),
        };
        let decided = save(&flow, &Approval { state, ..signed }, &self.by.actor, draft, at);
        Ok(Decided { reply, ..decided })
    }
}

impl Turndown {
    pub(super) fn apply(
        &self,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Decided, Rejection> {
        let (flow, approval) = find(self.id, self.expected_version, draft)?;
        let (by, note) = (self.by.clone(), self.note.clone());
        match step(&approval, &Event::TurnsDown { by, note }, at.now)? {
            Step::To(approval) | Step::Executes(approval) => {
                Ok(save(&flow, &approval, &self.by.actor, draft, at))
            }
        }
    }
}

fn find(
    id: ApprovalId,
    expected_version: Option<u64>,
    draft: &Draft<'_>,
) -> Result<(Arc<Flow>, Approval), Rejection> {
    let (name, flow_id) = (id.to_string(), FlowId::from(id));
    let flow = draft.shared(flow_id);
    let found = flow.and_then(|flow| {
        let approval = flow.state.approval()?.clone();
        Some((flow, approval))
    });
    let Some((flow, approval)) = found else { return Err(draft.missing(flow_id, name)) };
    check_version(&id, expected_version, flow.version)?;
    Ok((flow, approval))
}

/// Saves an approval after a decision. A change of its status is an event.
fn save(
    flow: &Flow,
    approval: &Approval,
    actor: &str,
    draft: &mut Draft<'_>,
    at: &Admission,
) -> Decided {
    let is_notified = flow.state.status() != approval.state.status();
    let action = match &approval.state {
        State::Proposed | State::Approved { .. } | State::BreakGlass { .. } => "approval.approve",
        State::Stale { .. } => "approval.stale",
        State::Rejected { .. } => "approval.reject",
        State::Withdrawn => "approval.withdraw",
        State::Expired => "approval.expire",
    };
    let summary = approval.summary.clone();
    let flow =
        flow.advanced(approval.clone(), Change { is_new_version: true, is_notified }, at.now);
    draft.note((actor, action), &flow.name(), &summary, at);
    if is_notified {
        draft.emit(&flow, at);
    }
    let view = Box::new(View::new(&flow, approval));
    draft.put(flow, at);
    Decided { view, reply: None }
}

fn hash(body: &str) -> [u8; 32] {
    Sha256::digest(body.as_bytes()).into()
}
