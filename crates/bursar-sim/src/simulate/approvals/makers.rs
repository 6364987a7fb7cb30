//! Staff: asks for what one person may not do alone, proposes it, repeats itself, withdraws, and breaks the glass.

use std::collections::BTreeMap;

use bursar_core::approvals::{Propose, Reply as ApprovalReply, Turndown, proposal_key};
use bursar_core::four_eyes::Signature;
use bursar_core::idempotency::Key;
use bursar_core::ids::ApprovalId;
use bursar_core::ledger::{self, Posted};
use bursar_core::registry::{self, Change, Registration};
use bursar_core::turn::{Answer, Body, Reply};
use bursar_core::{payins, payouts};

use super::people::{MIA, OTTO, again, signature};
use super::tasks;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MILLISECOND, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct Makers {
    me: usize,
    seed: u64,
    count: u64,
    tasks: BTreeMap<u64, Task>,
}

#[derive(Debug, Clone)]
struct Task {
    body: Body,
    /// The key with which it is done.
    maker: usize,
    approval: Option<ApprovalId>,
}

/// What is done about a task; the number of the task and this make a tag.
const ASK: u64 = 0;
const PROPOSE: u64 = 1;
const BREAK_GLASS: u64 = 2;
const PROPOSE_AGAIN: u64 = 3;
/// The same request, proposed by another person.
const PROPOSE_TOO: u64 = 4;
const WITHDRAW: u64 = 5;
/// The request once more, when it may have been approved.
const ASK_LATER: u64 = 6;
/// The provider reports the pay-in itself.
const REPORTED: u64 = 7;
const STEPS: u64 = 8;

/// The proposal of a request. `after` tells proposals of one request apart.
pub(crate) fn proposal(body: &Body, by: Signature, after: Option<&str>) -> Propose {
    let unneeded = |_| Key::new("approval".to_owned(), "unneeded".to_owned());
    let key = proposal_key(body, &by.person(), after).unwrap_or_else(unneeded);
    let (body, reason) = (Box::new(body.clone()), "as agreed".to_owned());
    Propose { key, body, by, reason, break_glass: after.is_some() }
}

impl Makers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, seed, count: 0, tasks: BTreeMap::new() }
    }

    /// Each task has its own dice: one task less does not change the others.
    fn dice(&self, number: u64, purpose: &str) -> Dice {
        Dice::new(self.seed, &format!("staff {number} {purpose}"))
    }

    fn plan(&self, number: u64, step: u64, delay: u64, scene: &mut Scene) {
        let what = number.saturating_mul(STEPS).saturating_add(step);
        scene.after(delay, Event::Act { actor: self.me, what });
    }

    fn add(&mut self, body: Body, maker: usize) -> u64 {
        self.count = self.count.saturating_add(1);
        self.tasks.insert(self.count, Task { body, maker, approval: None });
        self.count
    }

    fn body(task: &Task, step: u64) -> Option<Body> {
        let by = signature(task.maker);
        let other = signature(if task.maker == MIA { OTTO } else { MIA });
        Some(match step {
            PROPOSE | PROPOSE_AGAIN => proposal(&task.body, by, None).into(),
            BREAK_GLASS => proposal(&task.body, by, Some("break-glass")).into(),
            PROPOSE_TOO => proposal(&task.body, other, None).into(),
            WITHDRAW => {
                let (id, by) = (task.approval?, signature(again(&by.actor)));
                Turndown { id, expected_version: None, by, note: "a mistake".to_owned() }.into()
            }
            REPORTED => {
                let Body::PayIns(payins::Request::NewPayIn(payin)) = &task.body else {
                    return None;
                };
                tasks::of_provider(payin)
            }
            _ => task.body.clone(),
        })
    }

    /// It was refused to one person, so it is proposed; now and then without waiting for a second one.
    fn refused(&self, number: u64, task: &Task, scene: &mut Scene) {
        let is_revoke = matches!(
            &task.body,
            Body::Registry(registry::Request::Registration(Registration {
                change: Change::RevokeKey { .. },
                ..
            }))
        );
        let mut dice = self.dice(number, "glass");
        let breaks = task.maker == MIA && dice.chance(if is_revoke { 500 } else { 150 });
        let step = if breaks { BREAK_GLASS } else { PROPOSE };
        self.plan(number, step, dice.between(MILLISECOND, SECOND), scene);
    }

    /// What follows a proposal.
    fn proposed(&self, number: u64, scene: &mut Scene) {
        let mut dice = self.dice(number, "proposed");
        for (step, per_mille, longest) in [
            (PROPOSE_AGAIN, 200, 20 * SECOND),
            (PROPOSE_AGAIN, 150, DAY),
            (PROPOSE_TOO, 150, 12 * HOUR),
            (WITHDRAW, 120, 6 * HOUR),
            (ASK_LATER, 300, 3 * HOUR),
            (ASK_LATER, 500, DAY),
            (REPORTED, 150, 6 * HOUR),
        ] {
            if dice.chance(per_mille) {
                self.plan(number, step, dice.between(MILLISECOND, longest), scene);
            }
        }
    }

    /// What was done is taken back, now and then.
    fn done(&mut self, task: &Task, answer: &Answer, scene: &mut Scene) {
        let mut dice = self.dice(self.count, "back");
        let actor = signature(task.maker).actor;
        let (body, per_mille) = match (&task.body, answer) {
            (
                Body::Ledger(ledger::Request::Post(post)),
                Ok(Reply::Ledger(ledger::Reply::Posted(Posted::Replayed(id)))),
            ) if post.event.name != ledger::REVERT => (tasks::revert(&actor, *id), 500),
            (Body::Registry(registry::Request::Registration(it)), Err(rejection))
                if rejection.code() == "already_exists" =>
            {
                let Change::IssueKey { digest, .. } = &it.change else { return };
                (tasks::revoke(&actor, digest), 900)
            }
            _ => return,
        };
        if dice.chance(per_mille) {
            let number = self.add(body, task.maker);
            self.plan(number, ASK, dice.between(SECOND, HOUR), scene);
        }
    }
}

impl Actor for Makers {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        if !scene.settings.is_guarded {
            return;
        }
        let span = DAY.saturating_mul(scene.settings.options.days);
        let wanted = scene.settings.options.payouts.saturating_mul(7).div_ceil(10);
        for _ in 0..wanted {
            let mut dice = self.dice(self.count, "task");
            let maker = if dice.chance(500) { MIA } else { OTTO };
            let number = self.count.saturating_add(1);
            let body = tasks::any(number, &signature(maker).actor, &mut dice);
            // What needs no approval is proposed all the same.
            let is_unneeded = matches!(&body, Body::Payouts(payouts::Request::AskAgain(_)));
            let step = if is_unneeded || dice.chance(100) { PROPOSE } else { ASK };
            self.add(body, maker);
            self.plan(number, step, dice.between(HOUR, span.max(HOUR)), scene);
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let number = what.checked_div(STEPS).unwrap_or_default();
        let step = what.checked_rem(STEPS).unwrap_or_default();
        let Some(task) = self.tasks.get(&number) else { return };
        if let Some(body) = Self::body(task, step) {
            scene.ask(self.me, what, body);
        }
    }

    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene) {
        let number = tag.checked_div(STEPS).unwrap_or_default();
        let step = tag.checked_rem(STEPS).unwrap_or_default();
        let Some(task) = self.tasks.get(&number).cloned() else { return };
        match (step, answer) {
            (ASK, Err(rejection)) if rejection.code() == "approval_needed" => {
                self.refused(number, &task, scene);
            }
            (BREAK_GLASS, Err(rejection)) if rejection.code() == "no_break_glass" => {
                self.plan(number, PROPOSE, SECOND, scene);
            }
            (PROPOSE | BREAK_GLASS, Ok(Reply::Approvals(ApprovalReply::Proposed(given)))) => {
                let approval = given.view.id.parse().ok();
                self.tasks.insert(number, Task { approval, ..task });
                self.proposed(number, scene);
            }
            (ASK_LATER, answer) => self.done(&task, answer, scene),
            _ => {}
        }
    }
}
