//! Merchants: create payouts, repeat requests under the same key, cancel, and ask for more than they have.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::ids::PayoutId;
use bursar_core::payouts::{
    Beneficiary, Cancel, Cancellation, ClientMetadata, Create, NewPayout, Reply as PayoutReply,
};
use bursar_core::turn::{Answer, Body, Reply};

use crate::simulate::actors::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MILLISECOND, MINUTE, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct Merchants {
    me: usize,
    seed: u64,
    orders: BTreeMap<u64, NewPayout>,
    made: BTreeMap<u64, PayoutId>,
}

/// What is done about an order; the number of the order and this make a tag.
const ORDER: u64 = 0;
const SAME_AGAIN: u64 = 1;
const OTHER_AGAIN: u64 = 2;
const CANCEL: u64 = 3;
const CANCEL_STALE: u64 = 4;
const KINDS: u64 = 8;

impl Merchants {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, seed, orders: BTreeMap::new(), made: BTreeMap::new() }
    }

    /// Each order has its own dice: one order less does not change the others.
    fn dice(&self, number: u64, purpose: &str) -> Dice {
        Dice::new(self.seed, &format!("order {number} {purpose}"))
    }

    fn order(&mut self, number: u64, scene: &Scene) -> NewPayout {
        let mut dice = self.dice(number, "terms");
        let channels: Vec<&String> = scene.rules.channels.keys().collect();
        let channel = dice.pick(&channels).map(|name| (*name).clone()).unwrap_or_default();
        let is_iqd = channel == "bank" && dice.chance(200);
        let amount = match dice.below(20) {
            0 => 99_999_999,
            1..=3 => dice.between(1_001, 4_000),
            _ => dice.between(1, 300),
        };
        let fraction = dice.below(100);
        let scheduled_at = dice.chance(150).then(|| {
            let after = scene.now.saturating_add(dice.between(0, 3 * HOUR));
            crate::simulate::scene::time_at(after)
        });
        let account = dice.chance(500).then(|| "PK36SCBL0000001123456702".to_owned());
        let msisdn = account.is_none().then(|| "923001234567".to_owned());
        NewPayout {
            merchant: dice.pick(&MERCHANTS).copied().unwrap_or_default().to_owned(),
            channel,
            currency: if is_iqd { "IQD" } else { "PKR" }.to_owned(),
            amount: format!("{amount}.{fraction:02}"),
            beneficiary: Beneficiary { name: "A. Khan".to_owned(), account, msisdn, bank: None },
            scheduled_at,
            beneficiary_id: None,
            remarks: ClientMetadata::default(),
        }
    }

    fn plan(&mut self, number: u64, kind: u64, delay: u64, scene: &mut Scene) {
        let what = number.saturating_mul(KINDS).saturating_add(kind);
        scene.after(delay, Event::Act { actor: self.me, what });
    }

    fn body(&mut self, number: u64, kind: u64, scene: &Scene) -> Option<Body> {
        if kind == CANCEL || kind == CANCEL_STALE {
            let id = *self.made.get(&number)?;
            let expected_version = (kind == CANCEL_STALE).then_some(1);
            let actor = "merchant".to_owned();
            let cancellation = Cancellation { id, expected_version, actor };
            let key = Key::new("merchants".to_owned(), format!("cancel-{kind}-{number}"));
            return Some(Cancel { key, cancellation }.into());
        }
        if kind == ORDER {
            let order = self.order(number, scene);
            self.orders.insert(number, order);
        }
        let mut payout = self.orders.get(&number)?.clone();
        if kind == OTHER_AGAIN {
            "7.77".clone_into(&mut payout.amount);
        }
        let key = Key::new(payout.merchant.clone(), format!("order-{number}"));
        Some(Create { key, payout, actor: None, workflow: None }.into())
    }
}

impl Actor for Merchants {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        let span = DAY.saturating_mul(scene.settings.options.days).saturating_sub(HOUR);
        let mut dice = Dice::new(self.seed, "merchants");
        let mut delay = MINUTE;
        for number in 0..scene.settings.options.payouts {
            // Some come together.
            if !dice.chance(400) {
                delay = dice.between(MINUTE, span);
            }
            let what = number.saturating_mul(KINDS);
            scene.after(delay, Event::Act { actor: me, what });
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let number = what.checked_div(KINDS).unwrap_or_default();
        let kind = what.checked_rem(KINDS).unwrap_or_default();
        if let Some(body) = self.body(number, kind, scene) {
            scene.ask(self.me, what, body);
        }
        if kind == ORDER {
            let mut dice = self.dice(number, "again");
            for (kind, per_mille, longest) in
                [(SAME_AGAIN, 300, 20 * SECOND), (SAME_AGAIN, 150, DAY), (OTHER_AGAIN, 100, HOUR)]
            {
                if dice.chance(per_mille) {
                    let delay = dice.between(MILLISECOND, longest);
                    self.plan(number, kind, delay, scene);
                }
            }
        }
    }

    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene) {
        let number = tag.checked_div(KINDS).unwrap_or_default();
        let Ok(Reply::Payouts(PayoutReply::Payout(given))) = answer else { return };
        let Ok(id) = given.view.id.parse() else { return };
        if self.made.insert(number, id).is_none() {
            let mut dice = self.dice(number, "cancel");
            for (kind, per_mille, longest) in [
                (CANCEL, 250, 20 * SECOND),
                (CANCEL, 100, 2 * HOUR),
                (CANCEL_STALE, 60, 10 * MINUTE),
            ] {
                if dice.chance(per_mille) {
                    let delay = dice.between(MILLISECOND, longest);
                    self.plan(number, kind, delay, scene);
                }
            }
        }
    }
}
