//! Admins: open and close merchants, post corrections by hand and revert them, freeze and unfreeze.

use std::collections::BTreeMap;

use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{self, FreezeAction, FreezeChange, Scope};
use bursar_core::ids::TransactionId;
use bursar_core::ledger::{self, LedgerEvent, Post, Posted};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::turn::{Answer, Body, Reply};

use super::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MINUTE, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct Admins {
    me: usize,
    dice: Dice,
    count: u64,
    /// What each request was for, by its tag.
    tasks: BTreeMap<u64, Task>,
}

#[derive(Debug, Clone)]
enum Task {
    Register,
    Correct { event: &'static str, reference: String, values: [String; 3] },
    Revert { event: &'static str, reference: String, id: TransactionId },
    Freeze { scope: Scope },
    Lift { scope: Scope, person: usize },
    Close,
    Open,
}

/// Who may approve and who may not.
const PEOPLE: [(&str, bool); 3] = [("ada/k1", false), ("ada/k2", true), ("bob", true)];

impl Admins {
    pub(crate) fn new(seed: u64) -> Self {
        // The purpose of the dice keeps its first name: another one would change every seed.
        Self { me: 0, dice: Dice::new(seed, "house"), count: 0, tasks: BTreeMap::new() }
    }

    fn plan(&mut self, delay: u64, task: Task, scene: &mut Scene) {
        self.count = self.count.saturating_add(1);
        self.tasks.insert(self.count, task);
        scene.after(delay, Event::Act { actor: self.me, what: self.count });
    }

    fn any_scope(&mut self, scene: &Scene) -> Scope {
        let channels: Vec<&String> = scene.rules.channels.keys().collect();
        let channel = self.dice.pick(&channels).map(|name| (*name).clone()).unwrap_or_default();
        let merchant = self.dice.pick(&MERCHANTS).map(|name| (*name).to_owned());
        match self.dice.below(3) {
            0 => Scope::Global,
            1 => Scope::Channel(channel),
            _ => Scope::Merchant(merchant.unwrap_or_default()),
        }
    }

    fn body(task: &Task) -> Body {
        let register = |change| Registration { actor: "admin".to_owned(), change }.into();
        let status = |status| {
            let id = MERCHANTS.last().copied().unwrap_or_default().to_owned();
            register(Change::AlterMerchant { id, name: None, status: Some(status) })
        };
        let switch = |scope: &Scope, person: usize, action| {
            let (actor, is_approver) = PEOPLE.get(person).copied().unwrap_or_default();
            let by = Signature::new(actor, is_approver);
            FreezeChange { scope: scope.clone(), by, action }.into()
        };
        let reason = || "drill".to_owned();
        match task {
            Task::Register => register(Change::SetAlert {
                name: "drill".to_owned(),
                is_raised: true,
                detail: reason(),
            }),
            Task::Correct { event, reference, values } => {
                let names = ["merchantId", "currency", "amount"];
                let variables = names.into_iter().map(str::to_owned).zip(values.iter().cloned());
                let mut variables: BTreeMap<String, String> = variables.collect();
                if *event == "ADJUSTMENT_DEBIT" {
                    variables.insert("vat".to_owned(), "0.10".to_owned());
                }
                let event = LedgerEvent {
                    name: (*event).to_owned(),
                    reference: reference.clone(),
                    variables,
                    effective_at: None,
                };
                Post { actor: Some("admin".to_owned()), event }.into()
            }
            Task::Revert { id, .. } => {
                let event = LedgerEvent {
                    name: ledger::REVERT.to_owned(),
                    reference: id.to_string(),
                    variables: BTreeMap::new(),
                    effective_at: None,
                };
                Post { actor: Some("admin".to_owned()), event }.into()
            }
            Task::Freeze { scope } => switch(scope, 0, FreezeAction::Freeze { reason: reason() }),
            Task::Lift { scope, person } => {
                switch(scope, *person, FreezeAction::Unfreeze { reason: reason() })
            }
            Task::Close => status(MerchantStatus::Closed),
            Task::Open => status(MerchantStatus::Open),
        }
    }
}

impl Actor for Admins {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        for id in MERCHANTS {
            let change = Change::OpenMerchant { id: id.to_owned(), name: format!("Shop {id}") };
            let registration = Registration { actor: "admin".to_owned(), change };
            scene.ask(me, 0, registration.into());
        }
        for _ in 0..scene.settings.options.days {
            let span = DAY.saturating_mul(scene.settings.options.days);
            for event in ["ADJUSTMENT_CREDIT", "ADJUSTMENT_DEBIT"] {
                let merchant = self.dice.pick(&MERCHANTS).copied().unwrap_or_default().to_owned();
                let amount = format!("{}.5", self.dice.between(1, 90));
                let values = [merchant, "PKR".to_owned(), amount];
                let reference = format!("by-hand-{}", self.count);
                let task = Task::Correct { event, reference, values };
                let delay = self.dice.between(MINUTE, span);
                self.plan(delay, task.clone(), scene);
                // Sent again, as an impatient admin does.
                let again = delay.saturating_add(self.dice.between(SECOND, HOUR));
                self.plan(again, task, scene);
            }
            for _ in 0..3 {
                let scope = self.any_scope(scene);
                let delay = self.dice.between(MINUTE, span);
                self.plan(delay, Task::Freeze { scope }, scene);
            }
            let delay = self.dice.between(HOUR, span);
            self.plan(delay, Task::Close, scene);
            let delay = self.dice.between(HOUR, span);
            self.plan(delay, Task::Register, scene);
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let Some(task) = self.tasks.get(&what) else { return };
        let is_trouble = matches!(task, Task::Freeze { .. } | Task::Close);
        if scene.is_calm && is_trouble {
            return;
        }
        let body = Self::body(task);
        scene.ask(self.me, what, body);
    }

    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene) {
        let Some(task) = self.tasks.remove(&tag) else { return };
        match (task, answer) {
            (
                Task::Correct { event, reference, .. },
                Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(id)))),
            ) => {
                if self.dice.chance(300) {
                    let task = Task::Revert { event, reference, id: *id };
                    let delay = self.dice.between(SECOND, HOUR);
                    self.plan(delay, task.clone(), scene);
                    self.plan(delay.saturating_add(MINUTE), task, scene);
                }
            }
            (
                Task::Revert { event, reference, .. },
                Ok(Reply::Ledger(ledger::Reply::Posted(posted))),
            ) => {
                scene.audit.reverted(event, &reference);
                if let Posted::New(id) = *posted {
                    // A revert cannot be reverted.
                    self.plan(
                        MINUTE,
                        Task::Revert { event: "", reference: String::new(), id },
                        scene,
                    );
                }
            }
            (Task::Freeze { scope }, Ok(_)) => {
                scene.say("", format!("{scope} is frozen"));
                let delay = self.dice.between(SECOND, 20 * MINUTE);
                self.plan(delay, Task::Lift { scope, person: 0 }, scene);
            }
            (Task::Lift { scope, person }, answer) => {
                // One person after the other, until it is unfrozen.
                let is_open = matches!(answer, Ok(Reply::Freezes(freezes::Reply::Accepted(it))) if it.status == "OPEN");
                if !is_open {
                    let person = if person >= 2 { 0 } else { person.saturating_add(1) };
                    let delay = self.dice.between(SECOND, MINUTE);
                    self.plan(delay, Task::Lift { scope, person }, scene);
                }
            }
            (Task::Close, Ok(_)) => {
                let delay = self.dice.between(MINUTE, 6 * HOUR);
                self.plan(delay, Task::Open, scene);
            }
            (
                Task::Correct { .. }
                | Task::Revert { .. }
                | Task::Freeze { .. }
                | Task::Close
                | Task::Open
                | Task::Register,
                _,
            ) => {}
        }
    }
}
