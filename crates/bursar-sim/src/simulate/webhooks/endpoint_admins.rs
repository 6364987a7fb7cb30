//! Admins of endpoints: create, disable, enable, change, test and delete them, and replay deliveries.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::Flow;
use bursar_core::ids::{DeliveryId, EndpointId, Seed};
use bursar_core::registry::{Change, Registration};
use bursar_core::turn::{Answer, Body};
use bursar_core::webhooks::{
    ENDPOINTS_MAX, EndpointChange, PAYLOAD_VERSION, Replay, Settings, SettingsPatch, Test,
};
use jiff::SignedDuration;

use crate::simulate::actors::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{
    Actor, DAY, Event, HOUR, MILLISECOND, MINUTE, POLL, SECOND, Scene, time_at,
};

#[derive(Debug)]
pub(crate) struct EndpointAdmins {
    me: usize,
    seed: u64,
    dice: Dice,
    made: u64,
    tasks: BTreeMap<u64, Task>,
}

#[derive(Debug, Clone)]
struct Task {
    endpoint: EndpointId,
    merchant: &'static str,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Change(EndpointChange),
    Test,
}

/// Event filters of endpoints by weight: most are narrow.
const TYPES: [(u64, &str); 7] = [
    (1, "*"),
    (2, "payout.*"),
    (2, "payin.*"),
    (4, "payin.success"),
    (4, "payout.success"),
    (3, "payout.failed"),
    (2, "payout.ready"),
];

impl EndpointAdmins {
    pub(crate) fn new(seed: u64) -> Self {
        // The purpose of the dice keeps its first name: another one would change every seed.
        Self { me: 0, seed, dice: Dice::new(seed, "mail"), made: 0, tasks: BTreeMap::new() }
    }

    fn plan(&mut self, at: u64, task: Task, scene: &mut Scene) {
        let what = u64::try_from(self.tasks.len()).unwrap_or_default();
        self.tasks.insert(what, task);
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
        self.plan(at, Task { endpoint, merchant, what: What::Change(change) }, scene);
        endpoint
    }

    /// The later changes of an endpoint.
    fn plan_changes(&mut self, endpoint: EndpointId, merchant: &'static str, scene: &mut Scene) {
        let span = DAY.saturating_mul(scene.settings.options.days);
        let task = |what| Task { endpoint, merchant, what };
        if self.dice.chance(300) {
            let off = self.dice.between(HOUR, span);
            let reason = "maintenance".to_owned();
            self.plan(off, task(What::Change(EndpointChange::Disable { reason })), scene);
            if self.dice.chance(300) {
                self.plan(off.saturating_add(MINUTE), task(What::Test), scene);
            }
            let on = off.saturating_add(self.dice.between(MINUTE, 8 * HOUR));
            self.plan(on, task(What::Change(EndpointChange::Enable)), scene);
        }
        if self.dice.chance(150) {
            self.flap(endpoint, merchant, scene);
        }
        if self.dice.chance(150) {
            let overlap = SignedDuration::from_hours(24);
            let change = EndpointChange::Rotate { secret: "sealed-again".to_owned(), overlap };
            let at = self.dice.between(HOUR, span);
            self.plan(at, task(What::Change(change)), scene);
        }
        if self.dice.chance(250) {
            let at = self.dice.between(HOUR, span);
            self.plan(at, task(What::Test), scene);
        }
        if self.dice.chance(60) {
            let at = self.dice.between(HOUR, span);
            self.plan(at, task(What::Change(EndpointChange::Delete)), scene);
        }
        if self.dice.chance(60) {
            let bad =
                SettingsPatch { event_types: Some(BTreeSet::new()), ..SettingsPatch::default() };
            let at = self.dice.between(HOUR, span);
            self.plan(at, task(What::Change(EndpointChange::Alter(Box::new(bad)))), scene);
        }
    }

    /// Disabled and enabled again and again, under load.
    fn flap(&mut self, endpoint: EndpointId, merchant: &'static str, scene: &mut Scene) {
        let mut at = MINUTE.saturating_add(self.dice.below(MINUTE));
        for _ in 0..8 {
            let reason = "flapping".to_owned();
            for change in [EndpointChange::Disable { reason }, EndpointChange::Enable] {
                at = at.saturating_add(self.dice.between(100 * MILLISECOND, 5 * SECOND));
                self.plan(at, Task { endpoint, merchant, what: What::Change(change) }, scene);
            }
        }
    }

    /// Replays some finished deliveries, and enables some disabled endpoints.
    fn poll(&mut self, scene: &mut Scene) {
        let is_over =
            |flow: &&Flow| flow.state.delivery().is_some_and(|delivery| delivery.state.is_over());
        let over: Vec<&Flow> = scene.audit.flows.values().filter(is_over).collect();
        let mut some = BTreeSet::new();
        for _ in 0..self.dice.below(3) {
            some.extend(self.dice.pick(&over).map(|flow| DeliveryId::from_uuid(flow.id.uuid())));
        }
        // One that was not delivered, for an enabled endpoint: others are rejected.
        let endpoints = &scene.audit.webhooks.endpoints;
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
                let replay = Replay { actor: "eve/k1".to_owned(), deliveries };
                scene.ask(self.me, POLL, replay.into());
            }
        }
        for (id, merchant) in off {
            if self.dice.chance(300) {
                let change = Change::Endpoint { id, merchant, change: EndpointChange::Enable };
                let registration = Registration { actor: "eve/k1".to_owned(), change };
                scene.ask(self.me, POLL, registration.into());
            }
        }
    }
}

impl Actor for EndpointAdmins {
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
                self.plan_changes(endpoint, merchant, scene);
            }
        }
        if self.dice.chance(40) {
            // A merchant with one more endpoint than the limit.
            for _ in 0..=ENDPOINTS_MAX {
                self.make("m2", (2 * HOUR, true), scene);
            }
        }
        scene.after(6 * HOUR, Event::Act { actor: me, what: POLL });
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        if what == POLL {
            if !scene.is_calm {
                self.poll(scene);
                let delay = self.dice.between(2 * HOUR, 12 * HOUR);
                scene.after(delay, Event::Act { actor: self.me, what: POLL });
            }
            return;
        }
        let Some(Task { endpoint, merchant, what: task }) = self.tasks.get(&what).cloned() else {
            return;
        };
        let actor = "admin".to_owned();
        let body: Body = match task {
            What::Change(change) => {
                let change =
                    Change::Endpoint { id: endpoint, merchant: merchant.to_owned(), change };
                Registration { actor, change }.into()
            }
            What::Test => Test { actor, endpoint }.into(),
        };
        scene.ask(self.me, what, body);
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
