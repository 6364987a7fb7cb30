//! The reports of a provider about a pay-in.

use serde::{Deserialize, Serialize};

use super::state::Terms;
use crate::idempotency::Key;
use crate::ledger::funds::{Funds, parse_money};
use crate::ledger::pricing::{Quote, quote};
use crate::ledger::rulebook::RequestHash;
use crate::rejection::Rejection;
use crate::rules::Rules;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderStatus {
    Pending,
    Completed,
    Failed,
}

impl ProviderStatus {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Completed, Self::Failed];
}

/// A report of a provider: a customer has paid, will pay, or has failed to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPayIn {
    /// The caller's idempotency key, if there is one.
    pub key: Option<Key>,
    /// The operator who records the pay-in manually, for the audit log; none for the provider itself.
    pub actor: Option<String>,
    pub merchant: String,
    pub provider: String,
    pub reference: String,
    pub currency: String,
    /// A decimal, as text: the amount that the customer paid.
    pub amount: String,
    pub said: ProviderStatus,
    /// The provider's own id of the report, or a digest of it.
    pub event: String,
}

/// The issuer name of a provider in the index of external references.
pub(crate) fn lookup(provider: &str) -> String {
    format!("payin:{provider}")
}

impl NewPayIn {
    /// Checks the names by which its pay-in is found.
    pub(super) fn check_names(&self) -> Result<(), Rejection> {
        let is_good = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !is_good(&self.provider, 64)
            || !is_good(&self.reference, 128)
            || !is_good(&self.event, 128)
        {
            return Err(Rejection::BadReference);
        }
        Ok(())
    }

    /// Validates the values of the report and quotes its fee.
    pub(crate) fn terms(&self, rules: &Rules) -> Result<Terms, Rejection> {
        let amount = parse_money("amount", &self.amount, &self.currency)?;
        if amount.minor() <= 0 {
            return Err(Rejection::NothingToPay { amount });
        }
        let currency = amount.currency();
        let Quote { fee, vat } = match quote(&rules.payin_tariffs, amount)? {
            // Money that has arrived is booked: a fee that would take more than all of it is not charged.
            Some(quote) if quote.total() > amount.minor() => Quote::nothing(currency),
            Some(quote) => quote,
            None if rules.payin_tariffs.is_empty() => Quote::nothing(currency),
            None => return Err(Rejection::UnknownMarket { currency }),
        };
        let funds = Funds {
            merchant: self.merchant.clone(),
            bank: rules.bank_of_provider(&self.provider)?.to_owned(),
            amount,
            fee,
            vat,
        };
        Ok(Terms { funds, provider: self.provider.clone(), reference: self.reference.clone() })
    }
}

impl Terms {
    /// A hash of the provider's values without the fee, because tariffs may change between two reports.
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let Funds { merchant, amount, .. } = &self.funds;
        let mut hash = RequestHash::new("payin", merchant, None);
        hash.add("provider", &self.provider);
        hash.add("reference", &self.reference);
        hash.add("currency", amount.currency().code());
        hash.add("amount", &amount.minor().to_string());
        hash.finish()
    }
}
