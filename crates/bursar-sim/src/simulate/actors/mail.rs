//! Whoever looks after endpoints: makes them, switches them off and on, changes and deletes them, wants to see a test,
//! and wants again what was not taken.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::Flow;
use bursar_core::ids::{DeliveryId, EndpointId, Seed};
use bursar_core::registry::{
    Change, ENDPOINTS_MAX, EndpointChange, PAYLOAD_VERSION, Registration, Settings, SettingsPatch,
};
use bursar_core::request::{Answer, Body, Mail};
use jiff::SignedDuration;

use super::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{
    Actor, DAY, Event, HOUR, LOOK_AROUND, MILLISECOND, MINUTE, SECOND, Scene, time_at,
};

#[derive(Debug)]
pub(crate) struct Post {
    me: usize,
    seed: u64,
    dice: Dice,
    made: u64,
    deeds: BTreeMap<u64, Deed>,
}

#[derive(Debug, Clone)]
struct Deed {
    endpoint: EndpointId,
    merchant: &'static str,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Change(EndpointChange),
    Test,
}

/// What endpoints want to hear, and how likely that is: most want little.
const TYPES: [(u64, &str); 7] = [
    (1, "*"),
    (2, "payout.*"),
    (2, "payin.*"),
    (4, "payin.success"),
    (4, "payout.success"),
    (3, "payout.failed"),
    (2, "payout.ready"),
];

impl Post {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, seed, dice: Dice::new(seed, "mail"), made: 0, deeds: BTreeMap::new() }
    }

    fn plan(&mut self, at: u64, deed: Deed, scene: &mut Scene) {
        let what = u64::try_from(self.deeds.len()).unwrap_or_default();
        self.deeds.insert(what, deed);
        scene.after(at, Event::Act { actor: self.me, what });
    }

    fn settings(&mut self, number: u64, is_rare: bool) -> Settings {
        let kind = if is_rare { "payout.late_success" } else { self.a_type() };
        let mut event_types: BTreeSet<String> = [kind.to_owned()].into();
        if !is_rare && self.dice.chance(200) {
            event_types.insert(self.a_type().to_owned());
        }
        Settings {
            url: format!("https://shop{number}.example/hook"),
            event_types,
            version: PAYLOAD_VERSION.to_owned(),
            header_names: Vec::new(),
            headers: None,
            concurrency: u32::try_from(self.dice.between(1, 4)).unwrap_or(1),
            rate_limit: self.dice.chance(200).then_some(1),
        }
    }

    fn a_type(&mut self) -> &'static str {
        self.dice.weigh(&TYPES).unwrap_or("*")
    }

    fn make(
        &mut self,
        merchant: &'static str,
        (at, is_rare): (u64, bool),
        scene: &mut Scene,
    ) -> EndpointId {
        self.made = self.made.saturating_add(1);
        let number = self.made;
        let seed = Seed::from(self.seed).child(["endpoint", &number.to_string()]);
        let endpoint = EndpointId::new(time_at(0), &seed, number);
        scene.receivers.open(endpoint, Dice::new(self.seed, &format!("receiver {number}")));
        let settings = self.settings(number, is_rare);
        let change = EndpointChange::Add { settings, secret: format!("sealed-{number}") };
        self.plan(at, Deed { endpoint, merchant, what: What::Change(change) }, scene);
        endpoint
    }

    /// What happens to an endpoint later.
    fn plan_life(&mut self, endpoint: EndpointId, merchant: &'static str, scene: &mut Scene) {
        let span = DAY.saturating_mul(scene.settings.options.days);
        let deed = |what| Deed { endpoint, merchant, what };
        if self.dice.chance(300) {
            let off = self.dice.between(HOUR, span);
            let reason = "maintenance".to_owned();
            self.plan(off, deed(What::Change(EndpointChange::Disable { reason })), scene);
            if self.dice.chance(300) {
                self.plan(off.saturating_add(MINUTE), deed(What::Test), scene);
            }
            let on = off.saturating_add(self.dice.between(MINUTE, 8 * HOUR));
            self.plan(on, deed(What::Change(EndpointChange::Enable)), scene);
        }
        if self.dice.chance(150) {
            self.flicker(endpoint, merchant, scene);
        }
        if self.dice.chance(150) {
            let overlap = SignedDuration::from_hours(24);
            let change = EndpointChange::Rotate { secret: "sealed-again".to_owned(), overlap };
            let at = self.dice.between(HOUR, span);
            self.plan(at, deed(What::Change(change)), scene);
        }
        if self.dice.chance(250) {
            let at = self.dice.between(HOUR, span);
            self.plan(at, deed(What::Test), scene);
        }
        if self.dice.chance(60) {
            let at = self.dice.between(HOUR, span);
            self.plan(at, deed(What::Change(EndpointChange::Delete)), scene);
        }
        if self.dice.chance(60) {
            let bad =
                SettingsPatch { event_types: Some(BTreeSet::new()), ..SettingsPatch::default() };
            let at = self.dice.between(HOUR, span);
            self.plan(at, deed(What::Change(EndpointChange::Alter(Box::new(bad)))), scene);
        }
    }

    /// Off and on again and again, while much is going on.
    fn flicker(&mut self, endpoint: EndpointId, merchant: &'static str, scene: &mut Scene) {
        let mut at = MINUTE.saturating_add(self.dice.below(MINUTE));
        for _ in 0..8 {
            let reason = "flickers".to_owned();
            for change in [EndpointChange::Disable { reason }, EndpointChange::Enable] {
                at = at.saturating_add(self.dice.between(100 * MILLISECOND, 5 * SECOND));
                self.plan(at, Deed { endpoint, merchant, what: What::Change(change) }, scene);
            }
        }
    }

    /// Some of what is over is wanted once more, and somebody switches on what is off.
    fn look(&mut self, scene: &mut Scene) {
        let is_over =
            |flow: &&Flow| flow.state.delivery().is_some_and(|delivery| delivery.state.is_over());
        let over: Vec<&Flow> = scene.audit.flows.values().filter(is_over).collect();
        let mut some = BTreeSet::new();
        for _ in 0..self.dice.below(3) {
            some.extend(self.dice.pick(&over).map(|flow| DeliveryId::from_uuid(flow.id.uuid())));
        }
        // One that was not taken, for an endpoint that is on: others are refused.
        let endpoints = &scene.audit.mail.endpoints;
        let is_lost = |flow: &&&Flow| {
            let endpoint = flow.state.delivery().map(|delivery| delivery.terms.endpoint);
            let known = endpoint.and_then(|id| endpoints.get(&id));
            flow.state.status() != "DELIVERED" && known.is_some_and(|known| known.is_on)
        };
        let lost: Vec<&&Flow> = over.iter().filter(is_lost).collect();
        let lost = self.dice.pick(&lost).map(|flow| DeliveryId::from_uuid(flow.id.uuid()));
        let off: Vec<(EndpointId, String)> = endpoints
            .iter()
            .filter(|(_, known)| !known.is_on)
            .map(|(id, known)| (*id, known.merchant.clone()))
            .collect();
        for deliveries in [some, lost.into_iter().collect()] {
            if !deliveries.is_empty() {
                let body = Body::Mail(Mail::Replay { actor: "eve/k1".to_owned(), deliveries });
                scene.ask(self.me, LOOK_AROUND, body);
            }
        }
        for (id, merchant) in off {
            if self.dice.chance(300) {
                let change = Change::Endpoint { id, merchant, change: EndpointChange::Enable };
                let registration = Registration { actor: "eve/k1".to_owned(), change };
                scene.ask(self.me, LOOK_AROUND, Body::Register(registration));
            }
        }
    }
}

impl Actor for Post {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        let most = scene.settings.endpoints;
        if most == 0 {
            return;
        }
        for merchant in MERCHANTS {
            for _ in 0..self.dice.between(0, most) {
                let at = if self.dice.chance(800) { MINUTE } else { self.dice.between(HOUR, DAY) };
                let endpoint = self.make(merchant, (at, false), scene);
                self.plan_life(endpoint, merchant, scene);
            }
        }
        if self.dice.chance(40) {
            // One who has more than anybody may have.
            for _ in 0..=ENDPOINTS_MAX {
                self.make("m2", (2 * HOUR, true), scene);
            }
        }
        scene.after(6 * HOUR, Event::Act { actor: me, what: LOOK_AROUND });
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        if what == LOOK_AROUND {
            if !scene.is_calm {
                self.look(scene);
                let delay = self.dice.between(2 * HOUR, 12 * HOUR);
                scene.after(delay, Event::Act { actor: self.me, what: LOOK_AROUND });
            }
            return;
        }
        let Some(Deed { endpoint, merchant, what: deed }) = self.deeds.get(&what).cloned() else {
            return;
        };
        let actor = "house".to_owned();
        let body = match deed {
            What::Change(change) => {
                let change =
                    Change::Endpoint { id: endpoint, merchant: merchant.to_owned(), change };
                Body::Register(Registration { actor, change })
            }
            What::Test => Body::Mail(Mail::Test { actor, endpoint }),
        };
        scene.ask(self.me, what, body);
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
