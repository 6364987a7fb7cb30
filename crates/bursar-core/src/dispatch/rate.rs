//! Rates: how many a second, to a thousandth.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many a second, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u32);

/// Nanoseconds between two, at a thousandth a second.
const INTERVAL: u64 = 1_000_000_000_000;

impl Rate {
    /// The largest rate: a slot is not shorter than ten microseconds.
    pub const MAX: Self = Self(100_000_000);

    pub const fn from_milli(milli: u32) -> Self {
        Self(milli)
    }

    pub const fn milli(self) -> u32 {
        self.0
    }

    /// The time between two, rounded up, so that no second has more than it may.
    pub fn interval(self) -> SignedDuration {
        let nanoseconds = INTERVAL.div_ceil(u64::from(self.0.max(1)));
        SignedDuration::from_nanos(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
    }
}

/// What is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a number from 0.001 to 100000 a second, with at most three decimals")]
pub struct NoRate;

impl FromStr for Rate {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Self, NoRate> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
            return Err(NoRate);
        }
        let milli = format!("{whole}{decimals:0<3}").parse().map_err(|_| NoRate)?;
        Some(Self(milli)).filter(|rate| rate.0 > 0 && *rate <= Self::MAX).ok_or(NoRate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:04}", self.0);
        let (whole, decimals) = text.split_at(text.len().saturating_sub(3));
        match decimals.trim_end_matches('0') {
            "" => f.write_str(whole),
            decimals => write!(f, "{whole}.{decimals}"),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        match text.parse::<u32>() {
            Ok(number) => serializer.serialize_u32(number),
            Err(_) => serializer.serialize_f64(text.parse().map_err(serde::ser::Error::custom)?),
        }
    }
}

/// From a number, or its text.
impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Number {
            Integer(i64),
            Decimal(f64),
            Text(String),
        }
        let text = match Number::deserialize(deserializer)? {
            Number::Integer(number) => number.to_string(),
            Number::Decimal(number) => number.to_string(),
            Number::Text(text) => text,
        };
        text.parse().map_err(de::Error::custom)
    }
}
