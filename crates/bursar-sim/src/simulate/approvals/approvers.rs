//! Approvers: most approve, some reject, some let a proposal expire; and now and then one person tries to be two.

use bursar_core::approvals::{Approval, Approve, State, Turndown, stored_body};
use bursar_core::flow::Flow;
use bursar_core::ids::ApprovalId;
use bursar_core::turn::{Answer, Body};

use super::people::{ANNA, ANNA_AGAIN, BEN, CLEO, OTTO, PUPPET, again, signature};
use super::tasks;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, Event, HOUR, MINUTE, POLL, Scene};

#[derive(Debug)]
pub(crate) struct Approvers {
    me: usize,
    seed: u64,
    dice: Dice,
    count: u64,
}

/// What an approver does about a proposal.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Approve,
    /// With another key of the maker.
    AsMaker,
    /// With the key of an operator, who may not approve.
    AsOperator,
    /// With a key that another person made alone.
    AsPuppet,
    /// About a version that is over.
    Stale,
    /// With another request than the one that was proposed.
    OtherRequest,
    Reject,
    RejectAsOperator,
    Nothing,
}

const CHOICES: [(u64, Choice); 9] = [
    (40, Choice::Approve),
    (10, Choice::AsMaker),
    (6, Choice::AsOperator),
    (8, Choice::AsPuppet),
    (5, Choice::Stale),
    (5, Choice::OtherRequest),
    (10, Choice::Reject),
    (4, Choice::RejectAsOperator),
    (12, Choice::Nothing),
];

impl Approvers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, seed, dice: Dice::new(seed, "approvers"), count: 0 }
    }

    /// Some proposals wait until they expire.
    fn is_ignored(&self, name: &str) -> bool {
        Dice::new(self.seed, &format!("ignored {name}")).chance(150)
    }

    fn decide(&mut self, flow: &Flow, approval: &Approval, scene: &mut Scene) {
        let Ok(body) = stored_body(&approval.body) else { return };
        let choice = if scene.is_calm { None } else { self.dice.weigh(&CHOICES) };
        let choice = choice.unwrap_or(Choice::Approve);
        let next = match approval.signed.len() {
            0 => ANNA,
            1 if !scene.is_calm && self.dice.chance(300) => ANNA_AGAIN,
            1 => BEN,
            _ => CLEO,
        };
        let person = match choice {
            Choice::AsMaker => again(&approval.maker.actor),
            Choice::AsOperator | Choice::RejectAsOperator => OTTO,
            Choice::AsPuppet => PUPPET,
            Choice::Approve
            | Choice::Stale
            | Choice::OtherRequest
            | Choice::Reject
            | Choice::Nothing => next,
        };
        let is_other = matches!(choice, Choice::OtherRequest);
        let body = if is_other { tasks::revoke("mia/k1", &[1; 32]) } else { body };
        let expected_version =
            matches!(choice, Choice::Stale).then(|| flow.version.saturating_sub(1));
        let (id, by) = (ApprovalId::from_uuid(flow.id.uuid()), signature(person));
        let (about, note) = (scene.audit.name(flow.id), "seen".to_owned());
        let request: Body = match choice {
            Choice::Nothing => return,
            Choice::Reject | Choice::RejectAsOperator => {
                scene.say(&about, format!("{} rejects it", by.actor));
                Turndown { id, expected_version, by, note }.into()
            }
            Choice::Approve
            | Choice::AsMaker
            | Choice::AsOperator
            | Choice::AsPuppet
            | Choice::Stale
            | Choice::OtherRequest => {
                scene.say(&about, format!("{} approves it", by.actor));
                Approve { id, expected_version, by, note, body: Box::new(body) }.into()
            }
        };
        self.count = self.count.saturating_add(1);
        scene.ask(self.me, self.count, request);
    }
}

impl Actor for Approvers {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        if scene.settings.is_guarded {
            scene.after(HOUR, Event::Act { actor: me, what: POLL });
        }
    }

    fn act(&mut self, _: u64, scene: &mut Scene) {
        let is_approval = |flow: &&Flow| flow.state.approval().is_some();
        let flows: Vec<Flow> = scene.audit.flows.values().filter(is_approval).cloned().collect();
        for flow in flows {
            let Some(approval) = flow.state.approval() else { continue };
            let is_ignored = self.is_ignored(&scene.audit.name(flow.id));
            // What is decided is decided again now and then, which is rejected.
            let per_mille = match &approval.state {
                State::Proposed if is_ignored => 0,
                State::Proposed | State::BreakGlass { .. } if scene.is_calm => 1_000,
                State::Proposed | State::BreakGlass { .. } => 600,
                State::Approved { .. }
                | State::Rejected { .. }
                | State::Withdrawn
                | State::Expired
                | State::Stale { .. } => {
                    if scene.is_calm {
                        0
                    } else {
                        15
                    }
                }
            };
            if self.dice.chance(per_mille) {
                self.decide(&flow, approval, scene);
            }
        }
        let delay = self.dice.between(10 * MINUTE, 3 * HOUR);
        scene.after(delay, Event::Act { actor: self.me, what: POLL });
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
