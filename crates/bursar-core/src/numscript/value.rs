//! The values of the language and their text form.

use std::fmt;
use std::sync::Arc;

use super::amount::Amount;
use super::error::ErrorKind;
use super::limits;
use super::portion::Portion;

/// A shared piece of text: an address, an asset, a colour, a string.
pub type Name = Arc<str>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Account(Name),
    Asset(Name),
    Number(Amount),
    String(Name),
    Portion(Portion),
    Monetary(Monetary),
}

/// An amount of an asset. It may be negative; only sending or saving a negative one is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monetary {
    pub asset: Name,
    pub amount: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Account,
    Asset,
    Number,
    String,
    Portion,
    Monetary,
}

impl Type {
    pub const ALL: [Self; 6] =
        [Self::Account, Self::Asset, Self::Number, Self::String, Self::Portion, Self::Monetary];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Asset => "asset",
            Self::Number => "number",
            Self::String => "string",
            Self::Portion => "portion",
            Self::Monetary => "monetary",
        }
    }

    /// Reads a value given as text: an input variable, or account metadata.
    pub fn parse(self, text: &str) -> Result<Value, ErrorKind> {
        if text.len() > limits::STRING_BYTES_MAX {
            return Err(ErrorKind::ResourceLimit { what: "a string of at most 64 KiB" });
        }
        match self {
            Self::Account => account(text),
            Self::Asset if is_asset(text) => Ok(Value::Asset(text.into())),
            Self::Asset => Err(ErrorKind::InvalidAsset { name: text.into() }),
            Self::Number => number(text).map(Value::Number),
            Self::String => Ok(Value::String(text.into())),
            Self::Portion => Portion::parse(text)
                .map(Value::Portion)
                .map_err(|reason| ErrorKind::BadPortionParsing { text: text.into(), reason }),
            Self::Monetary => monetary(text).map(Value::Monetary),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    pub const fn kind(&self) -> Type {
        match self {
            Self::Account(_) => Type::Account,
            Self::Asset(_) => Type::Asset,
            Self::Number(_) => Type::Number,
            Self::String(_) => Type::String,
            Self::Portion(_) => Type::Portion,
            Self::Monetary(_) => Type::Monetary,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(text) | Self::Asset(text) | Self::String(text) => f.write_str(text),
            Self::Number(amount) => amount.fmt(f),
            Self::Portion(portion) => portion.fmt(f),
            Self::Monetary(monetary) => write!(f, "{} {}", monetary.asset, monetary.amount),
        }
    }
}

/// An account address as a value, if it is well formed.
pub(super) fn account(text: &str) -> Result<Value, ErrorKind> {
    if is_address(text) {
        Ok(Value::Account(text.into()))
    } else {
        Err(ErrorKind::InvalidAccountName { name: text.into() })
    }
}

/// Segments of letters, digits, `_` and `-`, joined by colons.
pub fn is_address(text: &str) -> bool {
    let mut is_in_segment = false;
    for byte in text.bytes() {
        match byte {
            b':' if is_in_segment => is_in_segment = false,
            byte if is_address_byte(byte) => is_in_segment = true,
            _ => return false,
        }
    }
    is_in_segment && text.len() <= limits::ADDRESS_BYTES_MAX
}

pub(super) const fn is_address_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Up to 17 capitals and digits, an optional `_SUFFIX` of capitals, an optional scale of up to six digits.
pub fn is_asset(text: &str) -> bool {
    let (code, scale) = match text.split_once('/') {
        Some((code, scale)) => (code, Some(scale)),
        None => (text, None),
    };
    let (base, suffix) = match code.split_once('_') {
        Some((base, suffix)) => (base, Some(suffix)),
        None => (code, None),
    };
    let base_is_good = base.len() <= 17
        && base.starts_with(|first: char| first.is_ascii_uppercase())
        && base.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let suffix_is_good = suffix.is_none_or(|suffix| {
        (1..=16).contains(&suffix.len()) && suffix.bytes().all(|byte| byte.is_ascii_uppercase())
    });
    let scale_is_good = scale.is_none_or(|scale| {
        (1..=6).contains(&scale.len()) && scale.bytes().all(|byte| byte.is_ascii_digit())
    });
    base_is_good && suffix_is_good && scale_is_good
}

pub(super) fn is_color(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn number(text: &str) -> Result<Amount, ErrorKind> {
    text.parse().map_err(|_| ErrorKind::InvalidNumberLiteral { text: text.into() })
}

fn monetary(text: &str) -> Result<Monetary, ErrorKind> {
    let parts = text.split_once(' ').filter(|(_, amount)| !amount.contains(' '));
    let Some((asset, amount)) = parts else {
        return Err(ErrorKind::InvalidMonetaryLiteral { text: text.into() });
    };
    let amount = number(amount)?;
    if !is_asset(asset) {
        return Err(ErrorKind::InvalidAsset { name: asset.into() });
    }
    Ok(Monetary { asset: asset.into(), amount })
}
