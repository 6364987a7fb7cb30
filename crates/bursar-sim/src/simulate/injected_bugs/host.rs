//! Hosts that act on what is decided and not saved.

use bursar_core::turn::{Answer, Commit, Reply};
use bursar_core::{flow, webhooks};

use super::InjectedBug;
use crate::simulate::calls::Calls;
use crate::simulate::world::World;

impl World {
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
