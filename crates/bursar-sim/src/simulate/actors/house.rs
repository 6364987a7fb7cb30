//! The house: opens and closes merchants, corrects balances by hand and takes corrections back, freezes and lifts.

use std::collections::BTreeMap;

use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::ids::TransactionId;
use bursar_core::ledger::{Event as Posting, Posted};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::request::{Answer, Body, Reply};

use super::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MINUTE, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct House {
    me: usize,
    dice: Dice,
    count: u64,
    /// What each request was for, by its tag.
    deeds: BTreeMap<u64, Deed>,
}

#[derive(Debug, Clone)]
enum Deed {
    Register,
    Correct { event: &'static str, reference: String, values: [String; 3] },
    TakeBack { event: &'static str, reference: String, id: TransactionId },
    Freeze { scope: Scope },
    Lift { scope: Scope, person: usize },
    Close,
    Open,
}

/// Who may approve and who may not.
const PEOPLE: [(&str, bool); 3] = [("ada/k1", false), ("ada/k2", true), ("bob", true)];

impl House {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, dice: Dice::new(seed, "house"), count: 0, deeds: BTreeMap::new() }
    }

    fn plan(&mut self, delay: u64, deed: Deed, scene: &mut Scene) {
        self.count = self.count.saturating_add(1);
        self.deeds.insert(self.count, deed);
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

    fn body(deed: &Deed) -> Body {
        let register = |change| Body::Register(Registration { actor: "house".to_owned(), change });
        let status = |status| {
            let id = MERCHANTS.last().copied().unwrap_or_default().to_owned();
            register(Change::AlterMerchant { id, name: None, status: Some(status) })
        };
        let switch = |scope: &Scope, person: usize, turn| {
            let (actor, is_approver) = PEOPLE.get(person).copied().unwrap_or_default();
            Body::Switch(Switch {
                scope: scope.clone(),
                actor: actor.to_owned(),
                is_approver,
                turn,
            })
        };
        let reason = || "drill".to_owned();
        match deed {
            Deed::Register => register(Change::SetAlert {
                name: "drill".to_owned(),
                is_raised: true,
                detail: reason(),
            }),
            Deed::Correct { event, reference, values } => {
                let names = ["merchantId", "currency", "amount"];
                let variables = names.into_iter().map(str::to_owned).zip(values.iter().cloned());
                let mut variables: BTreeMap<String, String> = variables.collect();
                if *event == "ADJUSTMENT_DEBIT" {
                    variables.insert("vat".to_owned(), "0.10".to_owned());
                }
                let event = Posting {
                    name: (*event).to_owned(),
                    reference: reference.clone(),
                    variables,
                    effective_at: None,
                };
                Body::PostByHand { actor: "house".to_owned(), event }
            }
            Deed::TakeBack { id, .. } => {
                let event = Posting {
                    name: bursar_core::ledger::REVERT.to_owned(),
                    reference: id.to_string(),
                    variables: BTreeMap::new(),
                    effective_at: None,
                };
                Body::PostByHand { actor: "house".to_owned(), event }
            }
            Deed::Freeze { scope } => switch(scope, 0, Turned::Freeze { reason: reason() }),
            Deed::Lift { scope, person } => {
                switch(scope, *person, Turned::Unfreeze { reason: reason() })
            }
            Deed::Close => status(MerchantStatus::Closed),
            Deed::Open => status(MerchantStatus::Open),
        }
    }
}

impl Actor for House {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        for id in MERCHANTS {
            let change = Change::OpenMerchant { id: id.to_owned(), name: format!("Shop {id}") };
            let registration = Registration { actor: "house".to_owned(), change };
            scene.ask(me, 0, Body::Register(registration));
        }
        for _ in 0..scene.settings.options.days {
            let span = DAY.saturating_mul(scene.settings.options.days);
            for event in ["ADJUSTMENT_CREDIT", "ADJUSTMENT_DEBIT"] {
                let merchant = self.dice.pick(&MERCHANTS).copied().unwrap_or_default().to_owned();
                let amount = format!("{}.5", self.dice.between(1, 90));
                let values = [merchant, "PKR".to_owned(), amount];
                let reference = format!("by-hand-{}", self.count);
                let deed = Deed::Correct { event, reference, values };
                let delay = self.dice.between(MINUTE, span);
                self.plan(delay, deed.clone(), scene);
                // Sent again, as people do.
                let again = delay.saturating_add(self.dice.between(SECOND, HOUR));
                self.plan(again, deed, scene);
            }
            for _ in 0..3 {
                let scope = self.any_scope(scene);
                let delay = self.dice.between(MINUTE, span);
                self.plan(delay, Deed::Freeze { scope }, scene);
            }
            let delay = self.dice.between(HOUR, span);
            self.plan(delay, Deed::Close, scene);
            let delay = self.dice.between(HOUR, span);
            self.plan(delay, Deed::Register, scene);
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let Some(deed) = self.deeds.get(&what) else { return };
        let is_trouble = matches!(deed, Deed::Freeze { .. } | Deed::Close);
        if scene.is_calm && is_trouble {
            return;
        }
        let body = Self::body(deed);
        scene.ask(self.me, what, body);
    }

    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene) {
        let Some(deed) = self.deeds.remove(&tag) else { return };
        match (deed, answer) {
            (Deed::Correct { event, reference, .. }, Ok(Reply::Posted(Posted::New(id)))) => {
                if self.dice.chance(300) {
                    let deed = Deed::TakeBack { event, reference, id: *id };
                    let delay = self.dice.between(SECOND, HOUR);
                    self.plan(delay, deed.clone(), scene);
                    self.plan(delay.saturating_add(MINUTE), deed, scene);
                }
            }
            (Deed::TakeBack { event, reference, .. }, Ok(Reply::Posted(posted))) => {
                scene.audit.taken_back(event, &reference);
                if let Posted::New(id) = *posted {
                    // And what was taken back cannot be taken back again.
                    self.plan(
                        MINUTE,
                        Deed::TakeBack { event: "", reference: String::new(), id },
                        scene,
                    );
                }
            }
            (Deed::Freeze { scope }, Ok(_)) => {
                scene.say("", format!("{scope} is frozen"));
                let delay = self.dice.between(SECOND, 20 * MINUTE);
                self.plan(delay, Deed::Lift { scope, person: 0 }, scene);
            }
            (Deed::Lift { scope, person }, answer) => {
                // Whoever may, until it is open.
                let is_open = matches!(answer, Ok(Reply::Noted { status: "OPEN", .. }));
                if !is_open {
                    let person = if person >= 2 { 0 } else { person.saturating_add(1) };
                    let delay = self.dice.between(SECOND, MINUTE);
                    self.plan(delay, Deed::Lift { scope, person }, scene);
                }
            }
            (Deed::Close, Ok(_)) => {
                let delay = self.dice.between(MINUTE, 6 * HOUR);
                self.plan(delay, Deed::Open, scene);
            }
            (
                Deed::Correct { .. }
                | Deed::TakeBack { .. }
                | Deed::Freeze { .. }
                | Deed::Close
                | Deed::Open
                | Deed::Register,
                _,
            ) => {}
        }
    }
}
