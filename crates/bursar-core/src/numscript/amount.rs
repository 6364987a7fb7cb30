//! Whole numbers without limit: machine words while they fit, big integers beyond.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;
use num_traits::{Signed as _, Zero as _};

use super::limits;

/// An integer of any size. Template runs never leave the `Small` form.
#[derive(Clone, PartialEq, Eq)]
pub struct Amount(Form);

/// A value that fits `i128` is always `Small`, so that equality is structural.
#[derive(Clone, PartialEq, Eq)]
enum Form {
    Small(i128),
    Big(Box<BigInt>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a whole number of at most {} digits", limits::DIGITS_MAX)]
pub struct AmountError;

impl Amount {
    pub const ZERO: Self = Self(Form::Small(0));

    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Form::Small(a), Form::Small(b)) => match a.checked_add(*b) {
                Some(sum) => Self(Form::Small(sum)),
                None => Self::from_big(BigInt::from(*a) + BigInt::from(*b)),
            },
            (Form::Small(_) | Form::Big(_), Form::Small(_) | Form::Big(_)) => {
                Self::from_big(self.to_big() + other.to_big())
            }
        }
    }

    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Form::Small(a), Form::Small(b)) => match a.checked_sub(*b) {
                Some(difference) => Self(Form::Small(difference)),
                None => Self::from_big(BigInt::from(*a) - BigInt::from(*b)),
            },
            (Form::Small(_) | Form::Big(_), Form::Small(_) | Form::Big(_)) => {
                Self::from_big(self.to_big() - other.to_big())
            }
        }
    }

    #[must_use]
    pub fn negated(&self) -> Self {
        match &self.0 {
            Form::Small(value) => match value.checked_neg() {
                Some(negated) => Self(Form::Small(negated)),
                None => Self::from_big(-BigInt::from(*value)),
            },
            Form::Big(value) => Self::from_big(-(**value).clone()),
        }
    }

    /// The amount, or zero if it is negative.
    #[must_use]
    pub fn floored(self) -> Self {
        if self.is_negative() { Self::ZERO } else { self }
    }

    pub fn is_zero(&self) -> bool {
        self.0 == Form::Small(0)
    }

    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Form::Small(value) => *value < 0,
            Form::Big(value) => value.is_negative(),
        }
    }

    pub fn to_big(&self) -> BigInt {
        match &self.0 {
            Form::Small(value) => BigInt::from(*value),
            Form::Big(value) => (**value).clone(),
        }
    }

    pub fn from_big(value: BigInt) -> Self {
        match i128::try_from(&value) {
            Ok(small) => Self(Form::Small(small)),
            Err(_) => Self(Form::Big(Box::new(value))),
        }
    }

    /// The amount as the ledger stores it, if it fits.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Form::Small(value) => i64::try_from(*value).ok(),
            Form::Big(_) => None,
        }
    }

    /// Size for the resource limits.
    pub(super) fn bits(&self) -> u64 {
        match &self.0 {
            Form::Small(_) => 128,
            Form::Big(value) => value.bits(),
        }
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Self(Form::Small(i128::from(value)))
    }
}

impl From<i128> for Amount {
    fn from(value: i128) -> Self {
        Self(Form::Small(value))
    }
}

/// Decimal digits with an optional sign; the length is bounded because converting long numbers takes quadratic time.
impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let well_formed = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !well_formed || digits.len() > limits::DIGITS_MAX {
            return Err(AmountError);
        }
        match text.parse::<i128>() {
            Ok(small) => Ok(Self(Form::Small(small))),
            Err(_) => text.parse::<BigInt>().map(Self::from_big).map_err(|_| AmountError),
        }
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Small(a), Form::Small(b)) => a.cmp(b),
            (Form::Big(a), Form::Big(b)) => a.cmp(b),
            // A big value lies outside the range of the small ones, on the side of its sign.
            (Form::Small(_), Form::Big(b)) => BigInt::zero().cmp(b),
            (Form::Big(a), Form::Small(_)) => (**a).cmp(&BigInt::zero()),
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Small(value) => value.fmt(f),
            Form::Big(value) => value.fmt(f),
        }
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
