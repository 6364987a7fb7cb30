//! Pay-in providers: repeated reports, reports in any order, failed and then paid, paid and then failed, and another
//! amount under a known reference.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::turn::Answer;

use crate::simulate::actors::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MILLISECOND, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct Providers {
    me: usize,
    dice: Dice,
    reports: BTreeMap<u64, NewPayIn>,
}

/// The reports about one reference.
const HISTORIES: [&[ProviderStatus]; 6] = [
    &[ProviderStatus::Completed],
    &[ProviderStatus::Pending, ProviderStatus::Completed],
    &[ProviderStatus::Pending, ProviderStatus::Failed],
    &[ProviderStatus::Failed, ProviderStatus::Completed],
    &[ProviderStatus::Completed, ProviderStatus::Failed, ProviderStatus::Completed],
    &[ProviderStatus::Completed, ProviderStatus::Pending],
];

impl Providers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, dice: Dice::new(seed, "providers"), reports: BTreeMap::new() }
    }

    fn plan(&mut self, at: u64, report: NewPayIn, scene: &mut Scene) {
        let what = u64::try_from(self.reports.len()).unwrap_or_default();
        self.reports.insert(what, report);
        scene.after(at, Event::Act { actor: self.me, what });
    }

    /// Other values once more, some of them after an operator has closed the case.
    fn plan_others(&mut self, at: u64, report: &NewPayIn, scene: &mut Scene) {
        let text = |text: &str| text.to_owned();
        let others = [
            NewPayIn { amount: text("1.0"), event: text("again"), ..report.clone() },
            NewPayIn { amount: text("2.5"), ..report.clone() },
            NewPayIn { amount: text("0"), ..report.clone() },
            NewPayIn { currency: text("USD"), ..report.clone() },
            NewPayIn { merchant: text("unknown"), ..report.clone() },
        ];
        for other in others {
            if self.dice.chance(500) {
                let later = at.saturating_add(self.dice.between(MILLISECOND, 12 * HOUR));
                self.plan(later, other, scene);
            }
        }
    }

    /// A payment of a customer, and the reports about it.
    fn pay(&mut self, (number, at): (u64, u64), money: (&str, &str, String), scene: &mut Scene) {
        let (merchant, currency, amount) = money;
        let history = if at == 0 { None } else { self.dice.pick(&HISTORIES).copied() };
        let mut at = at.saturating_add(SECOND);
        for (said, count) in history.unwrap_or(&[ProviderStatus::Completed]).iter().zip(0..) {
            let report = NewPayIn {
                key: None,
                actor: None,
                merchant: merchant.to_owned(),
                provider: if self.dice.chance(500) { "easypay" } else { "jazz" }.to_owned(),
                reference: format!("in-{number}"),
                currency: currency.to_owned(),
                amount: amount.clone(),
                said: *said,
                event: format!("e{count}"),
            };
            // One reference has one provider.
            let provider = if number & 1 == 0 { "easypay" } else { "jazz" }.to_owned();
            let report = NewPayIn { provider, ..report };
            self.plan(at, report.clone(), scene);
            if self.dice.chance(250) {
                let again = at.saturating_add(self.dice.between(MILLISECOND, 2 * HOUR));
                self.plan(again, report.clone(), scene);
            }
            if self.dice.chance(40) {
                let again = at.saturating_add(self.dice.between(SECOND, HOUR));
                self.plan(again, NewPayIn { amount: "1".to_owned(), ..report.clone() }, scene);
                self.plan_others(again, &report, scene);
            }
            if self.dice.chance(100) {
                // An admin records it by hand, under a key of its own.
                let key = Key::new("admins".to_owned(), format!("record-{number}-{count}"));
                let actor = Some("ada/k1".to_owned());
                let report = NewPayIn { key: Some(key), actor, ..report };
                let again = at.saturating_add(self.dice.between(SECOND, HOUR));
                self.plan(again, report, scene);
            }
            at = at.saturating_add(self.dice.between(MILLISECOND, HOUR));
        }
    }
}

impl Actor for Providers {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        let mut number = 0_u64;
        for merchant in MERCHANTS {
            for (currency, amount) in [("PKR", "9000.00"), ("IQD", "900.000")] {
                number = number.saturating_add(1);
                self.pay((number, 0), (merchant, currency, amount.to_owned()), scene);
            }
        }
        let span = DAY.saturating_mul(scene.settings.options.days);
        let more = scene.settings.options.payouts.checked_div(2).unwrap_or_default();
        for _ in 0..more {
            number = number.saturating_add(1);
            let merchant = self.dice.pick(&MERCHANTS).copied().unwrap_or_default();
            let amount = format!("{}.{:02}", self.dice.below(500), self.dice.between(1, 99));
            let at = self.dice.between(HOUR, span);
            self.pay((number, at), (merchant, "PKR", amount), scene);
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        if let Some(report) = self.reports.get(&what) {
            scene.ask(self.me, what, report.clone().into());
        }
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
