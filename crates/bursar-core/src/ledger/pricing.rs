//! Fees and the VAT on them. Each is rounded once, here; no later step divides money.

use std::collections::BTreeMap;

use crate::money::{Currency, Money, MoneyError};
use crate::rejection::Rejection;

/// A flat fee, a part of the amount, and VAT on the two together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tariff {
    flat: Money,
    basis_points: u32,
    vat_basis_points: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TariffError {
    #[error(transparent)]
    Amount(#[from] MoneyError),
    #[error("a fee is zero or more: it is never paid to the customer")]
    Negative,
    #[error("10,000 basis points are the whole: no fee or tax is more than that")]
    AboveWhole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    pub fee: Money,
    pub vat: Money,
}

impl Quote {
    pub const fn nothing(currency: Currency) -> Self {
        let nothing = Money::from_minor(0, currency);
        Self { fee: nothing, vat: nothing }
    }

    /// In minor units.
    pub const fn total(&self) -> i64 {
        self.fee.minor().saturating_add(self.vat.minor())
    }
}

/// The fee for an amount; none if its currency has no tariff.
pub(crate) fn quote(
    tariffs: &BTreeMap<Currency, Tariff>,
    amount: Money,
) -> Result<Option<Quote>, Rejection> {
    let quote = tariffs.get(&amount.currency()).map(|tariff| tariff.quote(amount)).transpose();
    quote.map_err(|error| Rejection::BadAmount { name: "amount".into(), error })
}

impl Tariff {
    /// `flat` is a decimal in the currency.
    pub fn new(
        flat: &str,
        basis_points: u32,
        vat_basis_points: u32,
        currency: Currency,
    ) -> Result<Self, TariffError> {
        let flat = Money::parse(flat, currency)?;
        if flat.is_negative() {
            return Err(TariffError::Negative);
        }
        if basis_points.max(vat_basis_points) > 10_000 {
            return Err(TariffError::AboveWhole);
        }
        Ok(Self { flat, basis_points, vat_basis_points })
    }

    pub fn quote(&self, amount: Money) -> Result<Quote, MoneyError> {
        let fee = self.flat.checked_add(amount.basis_points(self.basis_points)?)?;
        Ok(Quote { fee, vat: fee.basis_points(self.vat_basis_points)? })
    }
}

#[cfg(test)]
mod tests {
    use super::{Quote, Tariff};
    use crate::money::{Currency, Money};

    #[test]
    fn fee_and_vat_are_rounded_once() {
        let pkr: Currency = "PKR".parse().unwrap();
        let money = |text: &str| Money::parse(text, pkr).unwrap();
        let tariff = Tariff::new("1.00", 290, 2_000, pkr).unwrap();
        for (amount, fee, vat) in
            [("100.00", "3.90", "0.78"), ("0.17", "1.00", "0.20"), ("0.18", "1.01", "0.20")]
        {
            let quote = Quote { fee: money(fee), vat: money(vat) };
            assert_eq!(tariff.quote(money(amount)), Ok(quote), "{amount}");
        }
        assert!(tariff.quote(Money::from_minor(1, "BDT".parse().unwrap())).is_err());
    }
}
