//! Configuration that decisions depend on: the rulebook of the ledger, channels, tariffs, retry policy, host.

use std::collections::BTreeMap;

use crate::dispatch::Settings;
use crate::flow::host::Hosting;
use crate::four_eyes::{Action, ApprovalRule};
use crate::ids::BooksId;
use crate::ledger::pricing::Tariff;
use crate::ledger::rulebook::Rulebook;
use crate::money::{Currency, Money};
use crate::payouts::channel::Channel;
use crate::rejection::Rejection;
use crate::webhooks::delivery::RetryPolicy;

#[derive(Debug, Clone)]
pub struct Rules {
    /// The books that decisions are saved to: references at channels depend on it.
    pub books: BooksId,
    pub rulebook: Rulebook,
    pub channels: BTreeMap<String, Channel>,
    /// Settings of dispatch by kind and channel, as `payout.wallet`.
    pub dispatch: BTreeMap<String, Settings>,
    /// The fee of a payout for its merchant.
    pub payout_tariffs: BTreeMap<Currency, Tariff>,
    /// The fee of a pay-in for its merchant.
    pub payin_tariffs: BTreeMap<Currency, Tariff>,
    /// The configured providers of pay-ins, with the banks that receive their money. Without any, a provider is free text.
    pub providers: BTreeMap<String, String>,
    pub default_bank: String,
    /// Above this many units of a currency, two operators must decide about a stuck payout.
    pub four_eyes_above: i64,
    /// How many people an action needs, where it is not the usual.
    pub approvals: BTreeMap<Action, ApprovalRule>,
    /// The largest amount of one payment. A currency that is not named has no limit.
    pub largest: BTreeMap<Currency, Money>,
    /// The retry policy of webhook deliveries.
    pub deliveries: RetryPolicy,
    /// The host of new payouts and deliveries.
    pub hosting: Hosting,
}

/// A ledger without channels: no payout is possible.
impl From<Rulebook> for Rules {
    fn from(rulebook: Rulebook) -> Self {
        Self {
            books: BooksId::NONE,
            rulebook,
            channels: BTreeMap::new(),
            dispatch: BTreeMap::new(),
            payout_tariffs: BTreeMap::new(),
            payin_tariffs: BTreeMap::new(),
            providers: BTreeMap::new(),
            default_bank: "main".to_owned(),
            four_eyes_above: 1_000_000,
            approvals: BTreeMap::new(),
            largest: BTreeMap::new(),
            deliveries: RetryPolicy::default(),
            hosting: Hosting::default(),
        }
    }
}

impl Rules {
    /// The bank that receives the money of a provider. A provider that is not configured beside others is a mistake.
    pub(crate) fn bank_of_provider(&self, provider: &str) -> Result<&str, Rejection> {
        match self.providers.get(provider) {
            Some(bank) => Ok(bank),
            None if self.providers.is_empty() => Ok(&self.default_bank),
            None => {
                let known = self.providers.keys().cloned().collect();
                Err(Rejection::UnknownProvider { provider: provider.to_owned(), known })
            }
        }
    }

    /// One enormous payment would leave no room in the accounts of its currency for any other.
    pub(crate) fn check_size(&self, amount: Money) -> Result<(), Rejection> {
        match self.largest.get(&amount.currency()) {
            Some(largest) if amount.minor() > largest.minor() => {
                Err(Rejection::AmountTooLarge { amount, largest: *largest })
            }
            Some(_) | None => Ok(()),
        }
    }
}
