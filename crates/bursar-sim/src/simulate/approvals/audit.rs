//! What the auditor checks of approvals: as many people as it needs, and what is approved is done once, in the same commit.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::approvals::{Approval, Reply as ApprovalReply, Request, State, stored_body};
use bursar_core::feed::AuditEntry;
use bursar_core::flow::Flow;
use bursar_core::four_eyes::{Action, ApprovalRule};
use bursar_core::ids::{FlowId, TransactionId};
use bursar_core::ledger::{self, Transaction};
use bursar_core::money::Money;
use bursar_core::payins::{self, ProviderStatus};
use bursar_core::registry::Content;
use bursar_core::turn::{Answer, Body, Commit, FlowWrite, Reply};

use super::people::human;
use crate::simulate::audit::Audit;
use crate::simulate::coverage::Coverage;
use crate::simulate::invariant::Invariant;
use crate::simulate::kinds::KINDS;
use crate::simulate::swarm::FOUR_EYES_ABOVE;

#[derive(Debug, Default)]
pub(crate) struct Books {
    /// How many people each action needs in this world.
    pub(crate) rules: BTreeMap<Action, ApprovalRule>,
    /// The approval of everything that was done.
    done: BTreeMap<(String, String), FlowId>,
    /// The event and the reference of every posting.
    posted: BTreeMap<TransactionId, (String, String)>,
}

impl Books {
    fn rule(&self, name: &str) -> Option<(Action, ApprovalRule)> {
        let action = Action::ALL.into_iter().find(|action| action.name() == name)?;
        Some((action, self.rules.get(&action).copied()?))
    }
}

/// The name of what this write is the first to say is done.
fn first_result(write: &FlowWrite) -> Option<(&Approval, &str)> {
    let after = write.after.state.approval()?;
    let before = write.before.as_ref().and_then(|flow| flow.state.approval());
    let was_done = before.is_some_and(|before| before.state.result().is_some());
    after.state.result().filter(|_| !was_done).map(|result| (after, result))
}

/// Counts which actions are done with an approval.
pub(crate) fn count_done(coverage: &mut Coverage, write: &FlowWrite) {
    if let Some((approval, _)) = first_result(write) {
        let count = coverage.entry(format!("approved {}", approval.action)).or_default();
        *count = count.saturating_add(1);
    }
}

impl Audit {
    /// Everything about approvals in a commit.
    pub(crate) fn follow_approvals(&mut self, commit: &Commit) {
        for transaction in &commit.transactions {
            let named = (transaction.event.to_string(), transaction.reference.clone());
            self.approvals.posted.insert(transaction.id, named);
            self.look_at_posting(transaction, commit);
        }
        for entry in &commit.audit {
            self.look_at_guarded(entry, commit);
        }
        for write in &commit.flows {
            self.look_at_signatures(write, commit);
            if let Some((approval, result)) = first_result(write) {
                self.look_at_done(&write.after, (approval, result), commit);
                self.remember_approved(approval, result, commit);
            }
        }
    }

    /// A posting that belongs to no flow is in the audit log.
    fn look_at_posting(&mut self, transaction: &Transaction, commit: &Commit) {
        let event = &*transaction.event;
        if event.starts_with("PAYOUT")
            || event.starts_with("PAYIN")
            || transaction.reverts.is_some()
        {
            return;
        }
        let id = transaction.id.to_string();
        let mut entries = commit.audit.iter();
        let is_known = entries.any(|it| it.action == Action::Post.name() && it.resource == id);
        self.check(Invariant::GuardedIsApproved, "", is_known, || {
            format!("{event} was posted, and no person of staff has done it")
        });
    }

    /// What one person may not do alone has one approval in the same commit.
    fn look_at_guarded(&mut self, entry: &AuditEntry, commit: &Commit) {
        let Some((action, rule)) = self.approvals.rule(&entry.action) else { return };
        if rule.quorum < 2 || !is_guarded(action, entry, commit) {
            return;
        }
        let is_own = |write: &&FlowWrite| {
            let first = first_result(write);
            first.is_some_and(|(it, result)| it.action == entry.action && result == entry.resource)
        };
        let approvals = commit.flows.iter().filter(is_own).count();
        let about = self.resources.get(&entry.resource).cloned().unwrap_or_default();
        self.check(Invariant::GuardedIsApproved, &about, approvals == 1, || {
            let AuditEntry { actor, action, resource, .. } = entry;
            format!("{actor} did {action} of {resource} with {approvals} approvals")
        });
    }

    /// Different human beings have signed, and in time.
    fn look_at_signatures(&mut self, write: &FlowWrite, commit: &Commit) {
        let Some(approval) = write.after.state.approval() else { return };
        let before = write.before.as_ref().and_then(|flow| flow.state.approval());
        let is_new = before.is_none_or(|before| before.state != approval.state);
        if !is_new || !matches!(approval.state, State::Approved { .. }) {
            return;
        }
        let was_done = before.is_some_and(|before| before.state.result().is_some());
        let signers = approval.signed.iter().map(|signed| signed.by.actor.as_str());
        let signers = signers.chain([approval.maker.actor.as_str()]);
        let people: BTreeSet<&str> = signers.filter_map(human).collect();
        let rule = self.approvals.rule(&approval.action);
        let needed = rule.map_or(2, |(_, rule)| rule.quorum.max(2));
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        let is_enough = people.len() >= needed;
        let about = self.name(write.after.id);
        self.check(Invariant::ApprovedByQuorum, &about, is_enough, || {
            format!("it was approved by {people:?}, and needs {needed}")
        });
        let is_in_time = was_done || commit.time.is_some_and(|time| time < approval.expires_at);
        self.check(Invariant::ApprovedByQuorum, &about, is_in_time, || {
            "it was approved after it had expired".to_owned()
        });
    }

    /// What an approval says is done is done in the same commit, and was not done before.
    fn look_at_done(&mut self, flow: &Flow, approved: (&Approval, &str), commit: &Commit) {
        let (approval, result) = approved;
        let is_it =
            |entry: &&AuditEntry| entry.action == approval.action && entry.resource == result;
        let times = commit.audit.iter().filter(is_it).count();
        let is_there = match Action::ALL.into_iter().find(|it| it.name() == approval.action) {
            Some(Action::CreatePayout | Action::RecordPayIn | Action::CloseCase) => {
                commit.flows.iter().any(|write| write.after.name() == result)
            }
            Some(Action::Post) => commit.transactions.iter().any(|it| it.id.to_string() == result),
            Some(Action::IssueKey | Action::IssueMerchantKey | Action::RevokeKey) => {
                commit.records.iter().any(|write| write.after.id == result)
            }
            None => false,
        };
        let about = self.name(flow.id);
        self.check(Invariant::ApprovedIsDone, &about, times == 1 && is_there, || {
            format!(
                "{result} is said to be done: {times} entries of the audit log, saved: {is_there}"
            )
        });
        let name = (approval.action.clone(), result.to_owned());
        // A key is issued once and revoked once; the case of a pay-in may be closed again.
        let is_first = self.approvals.done.insert(name, flow.id).is_none();
        let holds = is_first || approval.action == Action::CloseCase.name();
        self.check(Invariant::ApprovedIsDone, &about, holds, || {
            format!("{result} was done under another approval before")
        });
    }

    /// What was approved is part of what merchants must have, whether the approver was answered or not.
    fn remember_approved(&mut self, approval: &Approval, result: &str, commit: &Commit) {
        let Ok(body) = stored_body(&approval.body) else { return };
        let order = KINDS.iter().find_map(|kind| (kind.order)(&body));
        if let (Some(order), Some(id)) = (order, Flow::id_in(result)) {
            self.orders.insert(id, order);
            if let Body::PayIns(payins::Request::NewPayIn(payin)) = &body
                && payin.said == ProviderStatus::Completed
            {
                self.completed.insert(id);
            }
        }
        if let Body::Ledger(ledger::Request::Post(_)) = &body {
            self.remember_by_hand(&body);
            let done = commit.transactions.iter().find(|it| it.id.to_string() == result);
            let reverted = done.and_then(|done| done.reverts);
            let reverted = reverted.and_then(|id| self.approvals.posted.get(&id).cloned());
            if let Some((event, reference)) = reverted {
                self.reverted(&event, &reference);
            }
        }
    }

    /// The answer to an approval has the answer to its request.
    pub(crate) fn look_at_decision(&mut self, body: &Body, reply: &Reply) {
        let Reply::Approvals(ApprovalReply::Decided(decided)) = reply else { return };
        let Body::Approvals(Request::Approve(approve)) = body else { return };
        let is_done = decided.reply.is_some();
        let is_said = decided.view.status == "APPROVED" && decided.view.result.is_some();
        // After a break-glass there is nothing to do.
        self.check(Invariant::ApprovedIsDone, "", !is_done || is_said, || {
            format!("{} is {}, and its request was answered", decided.view.id, decided.view.status)
        });
        if let Some(reply) = &decided.reply {
            let answer: Answer = Ok((**reply).clone());
            self.answered(&approve.body, &answer);
        }
    }
}

/// Whether this is more than one person may do alone.
fn is_guarded(action: Action, entry: &AuditEntry, commit: &Commit) -> bool {
    let write = commit.flows.iter().find(|write| write.after.name() == entry.resource);
    let is_large = |amount: Money| {
        let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
        amount.minor() > FOUR_EYES_ABOVE.saturating_mul(unit)
    };
    let funds = write.and_then(|write| write.after.state.funds()).map(|funds| funds.amount);
    match action {
        Action::CreatePayout | Action::CloseCase => funds.is_some_and(is_large),
        Action::RecordPayIn => {
            let before = write.and_then(|write| write.before.as_ref());
            let before = before.and_then(|flow| flow.state.payin());
            let was_booked = before.is_some_and(|payin| payin.state.is_booked());
            funds.is_some_and(is_large) && !was_booked
        }
        Action::Post => true,
        Action::IssueKey | Action::IssueMerchantKey | Action::RevokeKey => {
            let record = commit.records.iter().find(|write| write.after.id == entry.resource);
            let Some(Content::ApiKey(key)) = record.map(|write| &write.after.content) else {
                return false;
            };
            let is_own = action == Action::RevokeKey && human(&entry.actor) == Some(&*key.person());
            key.role.may_approve() && !is_own
        }
    }
}
