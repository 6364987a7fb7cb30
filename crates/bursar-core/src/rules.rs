//! What decides besides the records: the rulebook of the ledger, the channels, the prices.

use std::collections::BTreeMap;

use crate::channel::Channel;
use crate::money::{Currency, Money};
use crate::pricing::Tariff;
use crate::rulebook::Rulebook;

#[derive(Debug, Clone)]
pub struct Rules {
    pub rulebook: Rulebook,
    pub channels: BTreeMap<String, Channel>,
    /// What a payout costs its merchant.
    pub payout_tariffs: BTreeMap<Currency, Tariff>,
    /// Above this many units of a currency, two people decide about a payout that is stuck.
    pub four_eyes_above: i64,
}

/// A ledger without channels: nothing can be paid out.
impl From<Rulebook> for Rules {
    fn from(rulebook: Rulebook) -> Self {
        Self {
            rulebook,
            channels: BTreeMap::new(),
            payout_tariffs: BTreeMap::new(),
            four_eyes_above: 1_000_000,
        }
    }
}

impl Rules {
    pub(crate) fn needs_two_people(&self, amount: Money) -> bool {
        let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
        amount.minor() > self.four_eyes_above.saturating_mul(unit)
    }
}
