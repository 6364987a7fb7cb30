//! A merchant's money that a flow puts aside: how much, for whom, and what the ledger's rules need to book it.

use serde::{Deserialize, Serialize};

use crate::money::{Currency, Money, MoneyError};
use crate::numscript::Name;
use crate::rejection::Rejection;
use crate::rulebook::{RequestHash, Values};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Funds {
    pub merchant: String,
    /// The bank that the money leaves from, if it leaves.
    pub bank: String,
    pub amount: Money,
    pub fee: Money,
    pub vat: Money,
}

impl Funds {
    pub(crate) fn add_to(&self, hash: &mut RequestHash) {
        hash.add("merchant", &self.merchant);
        hash.add("bank", &self.bank);
        hash.add("currency", self.amount.currency().code());
        for (name, money) in [("amount", self.amount), ("fee", self.fee), ("vat", self.vat)] {
            hash.add(name, &money.minor().to_string());
        }
    }
}

/// What the rules of the ledger ask for. Nothing is written as text and read again.
impl Values for Funds {
    fn text(&self, name: &str) -> Option<&str> {
        match name {
            "merchantId" => Some(&self.merchant),
            "bankId" => Some(&self.bank),
            "currency" => Some(self.amount.code()),
            _ => None,
        }
    }

    fn money(&self, name: &str, currency: Currency) -> Option<Result<Money, MoneyError>> {
        let money = match name {
            "amount" | "gross" => self.amount,
            "fee" => self.fee,
            "vat" => self.vat,
            _ => return None,
        };
        (money.currency() == currency).then_some(Ok(money))
    }

    fn has(&self, name: &str) -> bool {
        matches!(name, "merchantId" | "bankId" | "currency" | "amount" | "gross" | "fee" | "vat")
    }

    /// Some rules ask for less; that is no mistake of anybody.
    fn unknown(&self, _known: &[String]) -> Option<&str> {
        None
    }
}

/// An amount that somebody has written down.
pub(crate) fn parse_money(name: &str, text: &str, currency: &str) -> Result<Money, Rejection> {
    let currency: Currency = currency
        .parse()
        .map_err(|error| Rejection::BadCurrency { name: "currency".into(), error })?;
    Money::parse(text, currency)
        .map_err(|error| Rejection::BadAmount { name: Name::from(name), error })
}

/// As the stores keep it: amounts in minor units.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    merchant: String,
    bank: String,
    currency: String,
    amount: i64,
    fee: i64,
    vat: i64,
}

impl From<Funds> for Stored {
    fn from(funds: Funds) -> Self {
        Self {
            currency: funds.amount.currency().to_string(),
            amount: funds.amount.minor(),
            fee: funds.fee.minor(),
            vat: funds.vat.minor(),
            merchant: funds.merchant,
            bank: funds.bank,
        }
    }
}

impl TryFrom<Stored> for Funds {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let currency: Currency = stored.currency.parse().map_err(|error| format!("{error}"))?;
        let money = |minor| Money::from_minor(minor, currency);
        Ok(Self {
            amount: money(stored.amount),
            fee: money(stored.fee),
            vat: money(stored.vat),
            merchant: stored.merchant,
            bank: stored.bank,
        })
    }
}
