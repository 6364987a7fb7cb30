//! Pay-in providers: the same word twice, words in any order, failed and then paid, paid and then failed, and another
//! amount under a reference that is known.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::request::{Answer, Body};

use super::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, MILLISECOND, SECOND, Scene};

#[derive(Debug)]
pub(crate) struct Providers {
    me: usize,
    dice: Dice,
    words: BTreeMap<u64, NewPayIn>,
}

/// What may be said about one reference.
const STORIES: [&[Said]; 6] = [
    &[Said::Completed],
    &[Said::Pending, Said::Completed],
    &[Said::Pending, Said::Failed],
    &[Said::Failed, Said::Completed],
    &[Said::Completed, Said::Failed, Said::Completed],
    &[Said::Completed, Said::Pending],
];

impl Providers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, dice: Dice::new(seed, "providers"), words: BTreeMap::new() }
    }

    fn say(&mut self, at: u64, word: NewPayIn, scene: &mut Scene) {
        let what = u64::try_from(self.words.len()).unwrap_or_default();
        self.words.insert(what, word);
        scene.after(at, Event::Act { actor: self.me, what });
    }

    /// Money of a customer for a merchant, which somebody speaks about.
    fn pay(&mut self, (number, at): (u64, u64), money: (&str, &str, String), scene: &mut Scene) {
        let (merchant, currency, amount) = money;
        let story = if at == 0 { None } else { self.dice.pick(&STORIES).copied() };
        let mut at = at.saturating_add(SECOND);
        for (said, count) in story.unwrap_or(&[Said::Completed]).iter().zip(0..) {
            let word = NewPayIn {
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
            let word = NewPayIn { provider, ..word };
            self.say(at, word.clone(), scene);
            if self.dice.chance(250) {
                let again = at.saturating_add(self.dice.between(MILLISECOND, 2 * HOUR));
                self.say(again, word.clone(), scene);
            }
            if self.dice.chance(40) {
                let again = at.saturating_add(self.dice.between(SECOND, HOUR));
                self.say(again, NewPayIn { amount: "1".to_owned(), ..word.clone() }, scene);
            }
            if self.dice.chance(100) {
                // People record by hand what they see, under keys of their own.
                let key = Key::new("house".to_owned(), format!("record-{number}-{count}"));
                let actor = Some("ada/k1".to_owned());
                let word = NewPayIn { key: Some(key), actor, ..word };
                let again = at.saturating_add(self.dice.between(SECOND, HOUR));
                self.say(again, word, scene);
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
        if let Some(word) = self.words.get(&what) {
            scene.ask(self.me, what, Body::TakePayIn(word.clone()));
        }
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
