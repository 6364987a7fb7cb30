//! Operators: look at what is stuck, find out what the channel really did, and decide that; now and then with a stale
//! version, alone where two are needed, or about something that is not stuck.

use std::collections::BTreeMap;

use bursar_core::attempt::Attempt;
use bursar_core::flow::Flow;
use bursar_core::idempotency::Key;
use bursar_core::ids::PayoutId;
use bursar_core::payout::{Resolution, Ruling};
use bursar_core::request::{Answer, Body};

use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, Event, HOUR, LOOK_AROUND, MINUTE, Scene};
use crate::truth::Truth;

#[derive(Debug)]
pub(crate) struct Operators {
    me: usize,
    dice: Dice,
    count: u64,
    /// Who decided last about a payout, so that another one goes next.
    last: BTreeMap<PayoutId, usize>,
}

/// Who may approve and who may not. The first two are one person.
const PEOPLE: [(&str, bool); 4] =
    [("eve/k1", false), ("eve/k2", false), ("fay", false), ("gus", true)];

impl Operators {
    pub(crate) fn new(seed: u64) -> Self {
        let dice = Dice::new(seed, "operators");
        Self { me: 0, dice, count: 0, last: BTreeMap::new() }
    }

    fn look(&mut self, scene: &mut Scene) {
        let is_wrong = !scene.is_calm && self.dice.chance(50);
        let is_looked_at = |flow: &&Flow| {
            flow.state.payout().is_some() && (flow.state.status() == "STUCK" || is_wrong)
        };
        let flows: Vec<Flow> = scene.audit.flows.values().filter(is_looked_at).cloned().collect();
        for flow in flows {
            if scene.is_calm || self.dice.chance(700) {
                self.decide(&flow, scene);
            }
        }
    }

    fn decide(&mut self, flow: &Flow, scene: &mut Scene) {
        let ruling = self.ruling(flow, scene);
        let id = PayoutId::from_uuid(flow.id.uuid());
        let person = self.last.get(&id).map_or(0, |last| last.saturating_add(1));
        // Not always the next one.
        let person = if !scene.is_calm && self.dice.chance(300) { 0 } else { person };
        let person = if PEOPLE.get(person).is_some() { person } else { 0 };
        self.last.insert(id, person);
        let (actor, is_approver) = PEOPLE.get(person).copied().unwrap_or_default();
        let is_stale = !scene.is_calm && self.dice.chance(100);
        self.count = self.count.saturating_add(1);
        let key = Key::new("operators".to_owned(), format!("decide-{}", self.count));
        let resolution = Resolution {
            id,
            ruling,
            evidence: "looked at the channel's books".to_owned(),
            expected_version: flow.version.saturating_sub(u64::from(is_stale)),
            actor: actor.to_owned(),
            is_approver,
        };
        let about = scene.audit.name(flow.id);
        scene.say(&about, format!("{actor} decides {ruling:?}"));
        scene.ask(self.me, self.count, Body::ResolvePayout { key, resolution });
    }

    /// What is true, as far as it is known for good.
    fn ruling(&mut self, flow: &Flow, scene: &Scene) -> Ruling {
        let Some(payout) = flow.state.payout() else { return Ruling::KeepWaiting };
        let channel = &payout.terms.channel;
        let names = payout.attempts.iter().map(|known| (channel.clone(), known.reference.clone()));
        let names: Vec<_> = names.collect();
        let is_said_to_be_paid = payout.attempts.iter().any(Attempt::was_paid);
        if is_said_to_be_paid && !scene.is_calm && self.dice.chance(200) {
            // Refused: whoever wants this has not read on.
            return Ruling::NewAttempt;
        }
        if names.iter().any(|name| scene.channels.truth(name).is_paid()) {
            return Ruling::ConfirmPaid;
        }
        if names.iter().any(|name| scene.channels.may_be_paid(name)) {
            return Ruling::KeepWaiting;
        }
        let is_certain = names.iter().all(|name| scene.channels.truth(name) == Truth::Nothing)
            || scene.channels.fails_for_good(channel);
        if !scene.is_calm && is_certain && self.dice.chance(400) {
            return Ruling::NewAttempt;
        }
        Ruling::ConfirmNotPaid
    }
}

impl Actor for Operators {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        scene.after(HOUR, Event::Act { actor: me, what: LOOK_AROUND });
    }

    fn act(&mut self, _: u64, scene: &mut Scene) {
        self.look(scene);
        let delay = self.dice.between(10 * MINUTE, 3 * HOUR);
        scene.after(delay, Event::Act { actor: self.me, what: LOOK_AROUND });
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
