//! The demo's desk: turns what happens into events, posts them, and stops if the ledger answers otherwise than it must.

use std::collections::BTreeMap;

use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Event, Ledger, Posted};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::rulebook::Rulebook;
use jiff::{SignedDuration, Timestamp};

use super::audit::World;
use crate::config::Market;
use crate::failure::Failure;

pub(super) struct Desk<'r> {
    rulebook: &'r Rulebook,
    bank_id: String,
    now: Timestamp,
    sequence: u64,
    pub(super) ledger: Ledger,
    /// What really happened at the bank, kept apart from the ledger.
    pub(super) world: World,
    pub(super) tally: Tally,
}

/// A merchant in a market.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) market: Market,
    pub(super) number: u64,
}

/// What the ledger must answer. Anything else stops the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    Posted,
    /// Posted if the money is there, refused if it is not.
    PostedIfFunded,
    Repeated,
    /// Refused with this code.
    Refused(&'static str),
}

/// How each event was answered.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<String, Count>);

#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) posted: u64,
    pub(super) repeated: u64,
    pub(super) refused: u64,
}

impl Tally {
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &Count)> {
        self.0.iter().map(|(event, count)| (event.as_str(), count))
    }
}

impl<'r> Desk<'r> {
    pub(super) fn new(rulebook: &'r Rulebook, bank_id: &str, morning: Timestamp) -> Self {
        Self {
            rulebook,
            bank_id: bank_id.to_owned(),
            now: morning,
            sequence: 0,
            ledger: Ledger::default(),
            world: World::default(),
            tally: Tally::default(),
        }
    }

    /// Posts an event and says whether it moved money.
    pub(super) fn post(
        &mut self,
        shop: &Shop,
        name: &str,
        reference: &str,
        amounts: &[(&str, Money)],
        expect: Expect,
    ) -> Result<bool, Failure> {
        let rule =
            self.rulebook.rule(name).map_err(|rejection| Failure::new(rejection.to_string()))?;
        let mut variables: BTreeMap<String, String> =
            amounts.iter().map(|(name, money)| ((*name).to_owned(), money.to_string())).collect();
        for variable in rule.variables() {
            if let Some(value) = self.identifier(variable, shop) {
                variables.insert(variable.clone(), value);
            }
        }
        self.now = self.now.saturating_add(SignedDuration::from_millis(200)).unwrap_or(self.now);
        self.sequence = self.sequence.saturating_add(1);
        let admission = Admission { now: self.now, seed: Seed::from(self.sequence) };
        let (name, reference) = (name.to_owned(), reference.to_owned());
        let event = Event { name, reference, variables, effective_at: None };
        let answer = self.ledger.post(self.rulebook, &event, &admission);
        let count = self.tally.0.entry(event.name.clone()).or_default();
        let found = match &answer {
            Ok(Posted::New(_)) => {
                count.posted = count.posted.saturating_add(1);
                Expect::Posted
            }
            Ok(Posted::Replayed(_)) => {
                count.repeated = count.repeated.saturating_add(1);
                Expect::Repeated
            }
            Err(rejection) => {
                count.refused = count.refused.saturating_add(1);
                Expect::Refused(rejection.code())
            }
        };
        let is_expected = match expect {
            Expect::PostedIfFunded => {
                matches!(found, Expect::Posted | Expect::Refused("missing_funds"))
            }
            Expect::Posted | Expect::Repeated | Expect::Refused(_) => found == expect,
        };
        if is_expected {
            return Ok(found == Expect::Posted);
        }
        Err(Failure::new(format!(
            "{} {} should have been {expect:?}, but the ledger answered: {answer:?}. No real money was touched",
            event.name, event.reference
        )))
    }

    /// The account of a code, as the chart in use addresses it.
    pub(super) fn address(&self, code: &str, shop: &Shop) -> Result<Name, Failure> {
        let gl = code.parse().ok().and_then(|code| self.rulebook.chart().get(code));
        let Some(pattern) = gl.and_then(|gl| gl.pattern.as_ref()) else {
            return Err(Failure::new(format!("the chart has no address for {code}")));
        };
        let values: BTreeMap<&str, String> = pattern
            .placeholders()
            .filter_map(|name| Some((&**name, self.identifier(name, shop)?)))
            .collect();
        Ok(pattern.fill(|name| values.get(name).map_or("", String::as_str)))
    }

    pub(super) fn balance(&self, code: &str, shop: &Shop) -> Result<Money, Failure> {
        Ok(self.ledger.balance(&self.address(code, shop)?, shop.market.currency))
    }

    /// The bank's own books are told what happened.
    pub(super) fn received(&mut self, shop: &Shop, money: Money) -> Result<(), Failure> {
        let bank = self.address("1000", shop)?;
        self.world.received(&bank, money);
        Ok(())
    }

    pub(super) fn paid(&mut self, shop: &Shop, money: Money) -> Result<(), Failure> {
        let bank = self.address("1000", shop)?;
        self.world.paid(&bank, money);
        Ok(())
    }

    pub(super) fn reference(&self, kind: &str) -> String {
        format!("{kind}-{}", self.sequence)
    }

    fn identifier(&self, variable: &str, shop: &Shop) -> Option<String> {
        let market = &shop.market;
        match variable {
            "merchantId" => Some(format!("{}_shop_{}", market.name.to_lowercase(), shop.number)),
            "bankId" => Some(self.bank_id.clone()),
            "providerId" => Some(format!("acquirer_{}", market.name)),
            "currency" => Some(market.currency.to_string()),
            _ => None,
        }
    }
}
