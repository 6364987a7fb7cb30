//! What decides besides the records: the rulebook of the ledger, the channels, the prices.

use std::collections::BTreeMap;

use crate::channel::Channel;
use crate::delivery::Schedule;
use crate::host::Hosting;
use crate::money::{Currency, Money};
use crate::pricing::Tariff;
use crate::rulebook::Rulebook;

#[derive(Debug, Clone)]
pub struct Rules {
    pub rulebook: Rulebook,
    pub channels: BTreeMap<String, Channel>,
    /// What a payout costs its merchant.
    pub payout_tariffs: BTreeMap<Currency, Tariff>,
    /// What a pay-in costs its merchant.
    pub payin_tariffs: BTreeMap<Currency, Tariff>,
    /// Where the money of a provider arrives, if not at the default bank.
    pub provider_banks: BTreeMap<String, String>,
    pub default_bank: String,
    /// Above this many units of a currency, two people decide about a payout that is stuck.
    pub four_eyes_above: i64,
    /// How merchants are told.
    pub deliveries: Schedule,
    /// Who drives the payouts and deliveries that are made here.
    pub hosting: Hosting,
}

/// A ledger without channels: nothing can be paid out.
impl From<Rulebook> for Rules {
    fn from(rulebook: Rulebook) -> Self {
        Self {
            rulebook,
            channels: BTreeMap::new(),
            payout_tariffs: BTreeMap::new(),
            payin_tariffs: BTreeMap::new(),
            provider_banks: BTreeMap::new(),
            default_bank: "main".to_owned(),
            four_eyes_above: 1_000_000,
            deliveries: Schedule::default(),
            hosting: Hosting::default(),
        }
    }
}

impl Rules {
    pub(crate) fn bank_of_provider(&self, provider: &str) -> &str {
        self.provider_banks.get(provider).unwrap_or(&self.default_bank)
    }

    pub(crate) fn needs_two_people(&self, amount: Money) -> bool {
        let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
        amount.minor() > self.four_eyes_above.saturating_mul(unit)
    }
}
