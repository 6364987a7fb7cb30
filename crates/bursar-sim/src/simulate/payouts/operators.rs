//! Operators: decide stuck payouts from the channel's own books, and close cases; now and then with a stale version, alone
//! where two are needed, or about a payout that is not stuck.

use std::collections::BTreeMap;

use bursar_core::flow::{Flow, ReviewReason};
use bursar_core::idempotency::Key;
use bursar_core::ids::PayoutId;
use bursar_core::payouts::attempt::Attempt;
use bursar_core::payouts::{Decision, Resolution, Resolve};
use bursar_core::turn::Answer;

use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, Event, HOUR, MINUTE, POLL, Scene};
use crate::truth::Truth;

#[derive(Debug)]
pub(crate) struct Operators {
    me: usize,
    dice: Dice,
    count: u64,
    /// Who decided last about a payout, so that another person is next.
    last: BTreeMap<PayoutId, usize>,
}

/// Who may approve. The first two are one person.
const PEOPLE: [(&str, bool); 4] =
    [("eve/k1", false), ("eve/k2", false), ("fay", false), ("gus", true)];

impl Operators {
    pub(crate) fn new(seed: u64) -> Self {
        let dice = Dice::new(seed, "operators");
        Self { me: 0, dice, count: 0, last: BTreeMap::new() }
    }

    fn poll(&mut self, scene: &mut Scene) {
        let is_wrong = !scene.is_calm && self.dice.chance(50);
        let is_selected = |flow: &&Flow| {
            flow.state.payout().is_some() && (flow.state.review().is_some() || is_wrong)
        };
        let flows: Vec<Flow> = scene.audit.flows.values().filter(is_selected).cloned().collect();
        for flow in flows {
            if scene.is_calm || self.dice.chance(700) {
                self.decide(&flow, scene);
            }
        }
    }

    fn decide(&mut self, flow: &Flow, scene: &mut Scene) {
        let decision = self.decision(flow, scene);
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
            decision,
            evidence: "checked the channel's books".to_owned(),
            expected_version: flow.version.saturating_sub(u64::from(is_stale)),
            actor: actor.to_owned(),
            is_approver,
            made_by: Vec::new(),
        };
        let about = scene.audit.name(flow.id);
        scene.say(&about, format!("{actor} decides {decision:?}"));
        scene.ask(self.me, self.count, Resolve { key, resolution }.into());
    }

    /// What is true, as far as it is final.
    fn decision(&mut self, flow: &Flow, scene: &Scene) -> Decision {
        let Some(payout) = flow.state.payout() else { return Decision::KeepWaiting };
        match flow.state.review() {
            Some(ReviewReason::Case) => return Decision::CloseCase,
            // Rejected: there is no case.
            None if !scene.is_calm && self.dice.chance(200) => return Decision::CloseCase,
            Some(ReviewReason::Stuck | ReviewReason::Approval) | None => {}
        }
        let channel = &payout.terms.channel;
        let names = payout.attempts.iter().map(|known| (channel.clone(), known.reference.clone()));
        let names: Vec<_> = names.collect();
        let is_said_to_be_paid = payout.attempts.iter().any(Attempt::was_paid);
        if is_said_to_be_paid && !scene.is_calm && self.dice.chance(200) {
            // Rejected: the operator has overlooked the evidence.
            return Decision::NewAttempt;
        }
        if names.iter().any(|name| scene.channels.truth(name).is_paid()) {
            return Decision::ConfirmPaid;
        }
        if names.iter().any(|name| scene.channels.may_be_paid(name)) {
            return Decision::KeepWaiting;
        }
        let is_certain = names.iter().all(|name| scene.channels.truth(name) == Truth::Nothing)
            || scene.channels.fails_for_good(channel);
        if !scene.is_calm && is_certain && self.dice.chance(400) {
            return Decision::NewAttempt;
        }
        Decision::ConfirmNotPaid
    }
}

impl Actor for Operators {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        scene.after(HOUR, Event::Act { actor: me, what: POLL });
    }

    fn act(&mut self, _: u64, scene: &mut Scene) {
        self.poll(scene);
        let delay = self.dice.between(10 * MINUTE, 3 * HOUR);
        scene.after(delay, Event::Act { actor: self.me, what: POLL });
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
