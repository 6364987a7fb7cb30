//! The money of a merchant that a flow moves: amounts, parties, and the values that the ledger's rules need to book it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

use crate::ledger::rulebook::Values;
use crate::money::{Currency, Money, MoneyError};
use crate::numscript::Name;
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Stored<'_>")]
pub struct Funds {
    pub merchant: String,
    /// The bank that the money leaves from, if it leaves.
    pub bank: String,
    pub amount: Money,
    pub fee: Money,
    pub vat: Money,
}

/// The values that the ledger's rules need, without a detour through text.
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

    /// Some rules need fewer variables, so none of these is unknown.
    fn unknown(&self, _known: &[String]) -> Option<&str> {
        None
    }
}

/// Parses an amount of a request.
pub(crate) fn parse_money(name: &str, text: &str, currency: &str) -> Result<Money, Rejection> {
    let currency: Currency = currency
        .parse()
        .map_err(|error| Rejection::BadCurrency { name: "currency".into(), error })?;
    Money::parse(text, currency)
        .map_err(|error| Rejection::BadAmount { name: Name::from(name), error })
}

/// The stored form: amounts in minor units.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<'f> {
    merchant: Cow<'f, str>,
    bank: Cow<'f, str>,
    currency: Cow<'f, str>,
    amount: i64,
    fee: i64,
    vat: i64,
}

impl Serialize for Funds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = Stored {
            merchant: (&*self.merchant).into(),
            bank: (&*self.bank).into(),
            currency: self.amount.code().into(),
            amount: self.amount.minor(),
            fee: self.fee.minor(),
            vat: self.vat.minor(),
        };
        stored.serialize(serializer)
    }
}

impl TryFrom<Stored<'_>> for Funds {
    type Error = String;

    fn try_from(stored: Stored<'_>) -> Result<Self, String> {
        let currency: Currency = stored.currency.parse().map_err(|error| format!("{error}"))?;
        let money = |minor| Money::from_minor(minor, currency);
        Ok(Self {
            amount: money(stored.amount),
            fee: money(stored.fee),
            vat: money(stored.vat),
            merchant: stored.merchant.into_owned(),
            bank: stored.bank.into_owned(),
        })
    }
}
