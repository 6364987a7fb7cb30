//! Operators who close the cases of pay-ins: most of them soon, some twice, some after another report.

use std::collections::BTreeMap;

use bursar_core::flow::Flow;
use bursar_core::idempotency::Key;
use bursar_core::ids::PayInId;
use bursar_core::payins::CloseCase;
use bursar_core::turn::{Answer, Body};

use crate::simulate::approvals::{closer, proposal};
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, Event, HOUR, MINUTE, POLL, Scene};

#[derive(Debug)]
pub(crate) struct CaseClosers {
    me: usize,
    dice: Dice,
    count: u64,
    /// What was asked for under each tag.
    asked: BTreeMap<u64, Body>,
}

impl CaseClosers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, dice: Dice::new(seed, "case closers"), count: 0, asked: BTreeMap::new() }
    }

    fn close(&mut self, flow: &Flow, scene: &mut Scene) {
        self.count = self.count.saturating_add(1);
        let is_stale = self.dice.chance(100);
        let close = CloseCase {
            key: Key::new("closers".to_owned(), format!("close-{}", self.count)),
            id: PayInId::from_uuid(flow.id.uuid()),
            evidence: "asked the provider".to_owned(),
            expected_version: flow.version.saturating_sub(u64::from(is_stale)),
            actor: closer().actor,
        };
        let about = scene.audit.name(flow.id);
        scene.say(&about, "hal closes the case".to_owned());
        let body = Body::from(close);
        self.asked.insert(self.count, body.clone());
        scene.ask(self.me, self.count, body);
    }
}

impl Actor for CaseClosers {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        scene.after(HOUR, Event::Act { actor: me, what: POLL });
    }

    fn act(&mut self, _: u64, scene: &mut Scene) {
        let has_case = |flow: &&Flow| flow.state.payin().is_some_and(|payin| payin.case.is_some());
        let flows: Vec<Flow> = scene.audit.flows.values().filter(has_case).cloned().collect();
        for flow in flows {
            // A case that is closed is closed again now and then, which is rejected.
            let chance = if flow.state.review().is_some() { 500 } else { 10 };
            if !scene.is_calm && self.dice.chance(chance) {
                self.close(&flow, scene);
            }
        }
        let delay = self.dice.between(10 * MINUTE, 3 * HOUR);
        scene.after(delay, Event::Act { actor: self.me, what: POLL });
    }

    /// One person may not close the case of a large pay-in: it is proposed.
    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene) {
        let Some(body) = self.asked.remove(&tag) else { return };
        let is_refused = answer.as_ref().is_err_and(|it| it.code() == "approval_needed");
        if is_refused && self.dice.chance(300) {
            self.count = self.count.saturating_add(1);
            scene.ask(self.me, self.count, proposal(&body, closer(), None).into());
        }
    }
}
