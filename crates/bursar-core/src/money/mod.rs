//! Money: a whole number of minor units and its currency. Every operation is checked; every rounding defines which part
//! gets the odd unit.

mod currency;
mod split;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};

pub use currency::{Currency, CurrencyError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money {
    currency: Currency,
    minor: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error(
        "`{text}` is not an amount: write digits and at most one decimal point, such as 1500.00"
    )]
    Malformed { text: String },
    #[error(
        "`{text}` has {given} decimals, but {currency} has {allowed}: round it before you send it"
    )]
    TooPrecise { text: String, given: usize, allowed: u8, currency: Currency },
    #[error("`{text}` {currency} is beyond what an amount can hold: check it, or split it")]
    TooLarge { text: String, currency: Currency },
    #[error("the result is beyond what an amount can hold: nothing was changed")]
    Overflow,
    #[error("amounts of {left} and {right} cannot be added: convert one of them first")]
    CurrencyMismatch { left: Currency, right: Currency },
    #[error("an amount cannot be split by weights that are all zero: give at least one a share")]
    NoWeights,
}

impl Money {
    pub const fn from_minor(minor: i64, currency: Currency) -> Self {
        Self { currency, minor }
    }

    pub const fn minor(self) -> i64 {
        self.minor
    }

    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// The decimal without its currency, such as `1500.00`.
    pub fn decimal(self) -> String {
        decimal(i128::from(self.minor), self.currency)
    }

    /// The code of its currency.
    pub fn code(&self) -> &str {
        self.currency.code()
    }

    pub const fn is_negative(self) -> bool {
        self.minor < 0
    }

    /// Reads a decimal such as `1500.00` or `-0.5`. More decimals than the currency has are refused, even zeros.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, MoneyError> {
        let malformed = || MoneyError::Malformed { text: shorten(text) };
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = match unsigned.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(malformed()),
            None => (unsigned, ""),
        };
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err(malformed());
        }
        let allowed = usize::from(currency.decimals());
        let Some(padding) = allowed.checked_sub(fraction.len()) else {
            let (given, allowed) = (fraction.len(), currency.decimals());
            return Err(MoneyError::TooPrecise { text: shorten(text), given, allowed, currency });
        };
        let is_negative = unsigned.len() < text.len();
        let digits =
            whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', padding));
        let minor = accumulate(digits, is_negative)
            .ok_or_else(|| MoneyError::TooLarge { text: shorten(text), currency })?;
        Ok(Self { currency, minor })
    }

    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.combine(other, i64::checked_add)
    }

    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.combine(other, i64::checked_sub)
    }

    pub fn checked_neg(self) -> Result<Self, MoneyError> {
        let minor = self.minor.checked_neg().ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    /// A part per ten thousand, rounded half away from zero.
    pub fn basis_points(self, points: u32) -> Result<Self, MoneyError> {
        let product = i128::from(self.minor).saturating_mul(i128::from(points));
        let half = if self.minor < 0 { -5_000 } else { 5_000 };
        let minor = product.saturating_add(half).checked_div(10_000).unwrap_or_default();
        let minor = i64::try_from(minor).map_err(|_| MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    fn combine(
        self,
        other: Self,
        operation: fn(i64, i64) -> Option<i64>,
    ) -> Result<Self, MoneyError> {
        if self.currency != other.currency {
            return Err(MoneyError::CurrencyMismatch {
                left: self.currency,
                right: other.currency,
            });
        }
        let minor = operation(self.minor, other.minor).ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }
}

/// The decimal without its currency, such as `1500.00`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.decimal())
    }
}

/// A sum of minor units as a decimal. Sums are wider than single amounts.
pub fn decimal(minor: i128, currency: Currency) -> String {
    let decimals = usize::from(currency.decimals());
    let digits = minor.unsigned_abs();
    // With sign and decimal point.
    let mut text = String::with_capacity(24);
    // Almost all sums fit into 64 bits, which are written faster.
    let written = match u64::try_from(digits) {
        Ok(short) => write!(text, "{short}"),
        Err(_) => write!(text, "{digits}"),
    };
    debug_assert!(written.is_ok(), "a text takes whatever is written into it");
    while text.len() <= decimals {
        text.insert(0, '0');
    }
    if decimals > 0 {
        text.insert(text.len().saturating_sub(decimals), '.');
    }
    if minor < 0 {
        text.insert(0, '-');
    }
    text
}

/// ASCII digits as a number; the negative range is one larger.
fn accumulate(digits: impl Iterator<Item = u8>, is_negative: bool) -> Option<i64> {
    let sign: i64 = if is_negative { -1 } else { 1 };
    digits.map(|digit| i64::from(digit.wrapping_sub(b'0'))).try_fold(0_i64, |number, digit| {
        number.checked_mul(10)?.checked_add(digit.checked_mul(sign)?)
    })
}

/// The part of a possibly hostile text that an error shows.
fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
