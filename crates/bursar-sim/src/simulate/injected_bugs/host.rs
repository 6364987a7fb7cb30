//! Hosts that act on what is decided and not saved, or decide by themselves.

use bursar_core::rejection::Rejection;
use bursar_core::turn::{Answer, Body, Commit, Reply};
use bursar_core::{approvals, flow, ledger, payins, webhooks};

use super::InjectedBug;
use crate::simulate::calls::Calls;
use crate::simulate::payins::name;
use crate::simulate::world::World;

impl World {
    /// The answer of a host that keeps pay-in reports of another amount from the turn.
    pub(crate) fn drops(&self, body: &Body) -> Option<Rejection> {
        let bug = self.scene.settings.options.injected_bug;
        let Body::PayIns(payins::Request::NewPayIn(report)) = body else { return None };
        let flow = self.scene.audit.flow_of(&name(report))?;
        let is_dropped = bug == Some(InjectedBug::HostDropsOtherAmounts)
            && self.scene.audit.reports_otherwise(report, flow);
        is_dropped.then(|| Rejection::ReferenceReused {
            event: payins::BOOKING.into(),
            reference: report.reference.clone(),
        })
    }

    /// The request as a host sends it that takes every key for a person.
    pub(crate) fn renamed(&self, mut body: Body) -> Body {
        let bug = self.scene.settings.options.injected_bug;
        let is_renamed = bug == Some(InjectedBug::HostTakesKeysForPeople);
        if let (true, Body::Approvals(approvals::Request::Approve(approve))) =
            (is_renamed, &mut body)
        {
            let key = approve.by.actor.rsplit('/').next().unwrap_or_default();
            approve.by.actor = format!("{key}/{key}");
            approve.by.made_by.clear();
        }
        body
    }

    /// A host that posts once more what was approved, under another reference.
    pub(crate) fn repeats(&mut self, body: &Body, answer: &Answer) {
        let bug = self.scene.settings.options.injected_bug;
        let Body::Approvals(approvals::Request::Approve(approve)) = body else { return };
        let Body::Ledger(ledger::Request::Post(post)) = &*approve.body else { return };
        let Ok(Reply::Approvals(approvals::Reply::Decided(decided))) = answer else { return };
        if bug == Some(InjectedBug::HostRepeatsApproved) && decided.reply.is_some() {
            let reference = format!("{}-again", post.event.reference);
            let event = ledger::LedgerEvent { reference, ..post.event.clone() };
            // No actor waits for the answer.
            self.scene.ask(usize::MAX, 0, ledger::Post { actor: None, event }.into());
        }
    }

    pub(crate) fn anticipate(&mut self, process: usize, commit: &Commit) {
        let bug = self.scene.settings.options.injected_bug;
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(running) = known.running.as_mut() else { return };
        if running.is_anticipated {
            return;
        }
        let moment = running.moment;
        let calls = Calls::new(commit.effects.iter().cloned());
        if bug == Some(InjectedBug::HostSendsBeforeSave) {
            running.is_anticipated = true;
            for call in calls.channels {
                let deadline = moment.real_of(call.effect.lease_until);
                self.start_channel_call(process, call, deadline);
            }
        } else if bug == Some(InjectedBug::HostNotifiesBeforeSave) {
            running.is_anticipated = true;
            for call in calls.webhooks {
                let deadline = moment.real_of(call.effect.lease_until);
                self.start_webhook_call(process, call, deadline);
            }
        } else if bug == Some(InjectedBug::HostAnswersBeforeSave) {
            running.is_anticipated = true;
            // Requests are answered in the order in which they came; outcomes and claims have no caller.
            let waiting: Vec<u64> = known.waiting.values().copied().collect();
            let answers = commit.answers.iter().filter(|answer| !is_claim(answer));
            let skipped = answers.clone().count().saturating_sub(waiting.len());
            let answers: Vec<Answer> = answers.skip(skipped).cloned().collect();
            for (id, answer) in waiting.into_iter().zip(answers) {
                self.answered(id, Ok(answer));
            }
        }
    }
}

fn is_claim(answer: &Answer) -> bool {
    matches!(
        answer,
        Ok(Reply::Flows(flow::Reply::Claimed(_)) | Reply::Webhooks(webhooks::Reply::Claimed(_)))
    )
}
