//! What can be wrong with a program or its inputs: a stable kind, a place, a reason and a remedy.

use super::amount::Amount;
use super::feature::Feature;
use super::portion::{Portion, PortionError};
use super::span::Span;
use super::value::{Name, Type, Value};

/// An error with its place in the program. Boxed where it is returned, so that success stays cheap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    pub kind: ErrorKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    #[error("{message}")]
    Parse { message: String, hint: &'static str },
    #[error("there is no feature `{}`", brief(name))]
    InvalidFeature { name: String },
    #[error("the variable `${name}` was not given")]
    MissingVariable { name: Name },
    #[error("`{name}` is not a type")]
    InvalidType { name: Name },
    #[error("`{}` is not a monetary value", brief(text))]
    InvalidMonetaryLiteral { text: String },
    #[error("`{}` is not a whole number", brief(text))]
    InvalidNumberLiteral { text: String },
    #[error("`{}` is not a portion: {reason}", brief(text))]
    BadPortionParsing { text: String, reason: PortionError },
    #[error("`{}` is not an account address", brief(name))]
    InvalidAccountName { name: String },
    #[error("`{}` is not an asset", brief(name))]
    InvalidAsset { name: String },
    #[error("`{}` is not a colour", brief(color))]
    InvalidColor { color: Name },
    #[error("the variable `${name}` is not declared before this place")]
    UnboundVariable { name: Name },
    #[error("there is no function `{name}` here")]
    UnboundFunction { name: Name },
    #[error("this function takes {expected} argument{}, {given} {} given", if *.expected == 1 { "" } else { "s" }, if *.given == 1 { "was" } else { "were" })]
    BadArity { expected: usize, given: usize },
    #[error("expected a value of type {}, found the {} `{}`", join(expected), value.kind(), brief(&value.to_string()))]
    Type { expected: &'static [Type], value: Value },
    #[error("expected an amount of {expected}, found one of {got}")]
    MismatchedCurrency { expected: Name, got: Name },
    #[error("{numerator} is divided by zero")]
    DivideByZero { numerator: Amount },
    #[error("the {} `{}` cannot be part of an account address", value.kind(), brief(&value.to_string()))]
    CannotCastToString { value: Value },
    #[error("`meta` is used inside another expression")]
    InvalidNestedMeta,
    #[error("the account `{}` has no metadata `{}`", brief(account), brief(key))]
    MetadataNotFound { account: Name, key: Name },
    #[error("the account `{account}` has a negative balance of {amount}")]
    NegativeBalance { account: Name, amount: Amount },
    #[error("the amount {asset} {amount} is negative")]
    NegativeAmount { asset: Name, amount: Amount },
    #[error("{asset} {needed} is needed here, {available} is available{}", in_account(account.as_ref()))]
    MissingFunds { asset: Name, needed: Amount, available: Amount, account: Option<Name> },
    #[error("the shares add up to {sum} instead of 1")]
    InvalidAllotmentSum { sum: Portion },
    #[error("a source divided into shares cannot send everything")]
    InvalidAllotmentInSendAll,
    #[error("the account `{name}` is unbounded and cannot send everything")]
    InvalidUnboundedInSendAll { name: Name },
    #[error("the account `{name}` has no known balances to scale")]
    InvalidUnboundedAddressInScalingAddress { name: Name },
    #[error("this needs the feature `{flag}`")]
    ExperimentalFeature { flag: Feature },
    #[error("the program makes a posting that no ledger can take: {reason}")]
    Internal { reason: String },
    #[error("the program is beyond the limits of a run: it may use {what}")]
    ResourceLimit { what: &'static str },
}

impl ErrorKind {
    pub fn at(self, span: Span) -> Box<Error> {
        Box::new(Error { kind: self, span })
    }

    /// The stable name of the kind, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Parse { .. } => "Parse",
            Self::InvalidFeature { .. } => "InvalidFeature",
            Self::MissingVariable { .. } => "MissingVariable",
            Self::InvalidType { .. } => "InvalidType",
            Self::InvalidMonetaryLiteral { .. } => "InvalidMonetaryLiteral",
            Self::InvalidNumberLiteral { .. } => "InvalidNumberLiteral",
            Self::BadPortionParsing { .. } => "BadPortionParsing",
            Self::InvalidAccountName { .. } => "InvalidAccountName",
            Self::InvalidAsset { .. } => "InvalidAsset",
            Self::InvalidColor { .. } => "InvalidColor",
            Self::UnboundVariable { .. } => "UnboundVariable",
            Self::UnboundFunction { .. } => "UnboundFunction",
            Self::BadArity { .. } => "BadArity",
            Self::Type { .. } => "Type",
            Self::MismatchedCurrency { .. } => "MismatchedCurrency",
            Self::DivideByZero { .. } => "DivideByZero",
            Self::CannotCastToString { .. } => "CannotCastToString",
            Self::InvalidNestedMeta => "InvalidNestedMeta",
            Self::MetadataNotFound { .. } => "MetadataNotFound",
            Self::NegativeBalance { .. } => "NegativeBalance",
            Self::NegativeAmount { .. } => "NegativeAmount",
            Self::MissingFunds { .. } => "MissingFunds",
            Self::InvalidAllotmentSum { .. } => "InvalidAllotmentSum",
            Self::InvalidAllotmentInSendAll => "InvalidAllotmentInSendAll",
            Self::InvalidUnboundedInSendAll { .. } => "InvalidUnboundedInSendAll",
            Self::InvalidUnboundedAddressInScalingAddress { .. } => {
                "InvalidUnboundedAddressInScalingAddress"
            }
            Self::ExperimentalFeature { .. } => "ExperimentalFeature",
            Self::Internal { .. } => "Internal",
            Self::ResourceLimit { .. } => "ResourceLimit",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Parse { hint, .. } => (*hint).to_owned(),
            Self::InvalidFeature { .. } => {
                let names: Vec<_> = Feature::ALL.into_iter().map(Feature::name).collect();
                format!("the features are {}", names.join(", "))
            }
            Self::MissingVariable { name } => {
                format!("give `{name}` with the other variables, as text")
            }
            Self::InvalidType { .. } => {
                let names: Vec<_> = Type::ALL.into_iter().map(Type::name).collect();
                format!("the types are {}", names.join(", "))
            }
            Self::InvalidMonetaryLiteral { .. } => {
                "write the asset, one space and a whole number, as in `USD/2 1050`".to_owned()
            }
            Self::InvalidNumberLiteral { .. } => {
                "write decimal digits with an optional sign, at most 1,000 of them; amounts are in minor units".to_owned()
            }
            Self::BadPortionParsing { .. } => "write a percentage such as `12.5%` or a fraction such as `1/8`, at most 1".to_owned(),
            Self::InvalidAccountName { .. } => "an address is made of letters, digits, `_` and `-`, in segments joined by `:`".to_owned(),
            Self::InvalidAsset { .. } => "an asset is written like `USD/2`: capitals and digits, then the number of decimals".to_owned(),
            Self::InvalidColor { .. } => "a colour is made of capital letters; the empty string means no colour".to_owned(),
            Self::UnboundVariable { name } => format!("declare it in the `vars` block above its first use: `vars {{ monetary ${name} }}`"),
            Self::UnboundFunction { .. } => {
                "statements are set_tx_meta and set_account_meta; expressions are balance, overdraft, meta, get_asset and get_amount".to_owned()
            }
            Self::BadArity { expected, .. } => format!("give it exactly {expected}"),
            Self::Type { expected, .. } => format!("use an expression of type {}", join(expected)),
            Self::MismatchedCurrency { expected, .. } => format!("use {expected} on both sides; amounts of two assets never mix"),
            Self::DivideByZero { .. } => "make sure that the divisor is not zero".to_owned(),
            Self::CannotCastToString { .. } => "only accounts, strings and numbers can be part of an address".to_owned(),
            Self::InvalidNestedMeta => "assign it to a variable first: `vars { number $n = meta(@account, \"key\") }`".to_owned(),
            Self::MetadataNotFound { account, key } => format!("set `{}` on `{}` before, or read another key", brief(key), brief(account)),
            Self::NegativeBalance { account, .. } => format!("use `overdraft(@{account}, …)` for what is owed, or bring the account above zero first"),
            Self::NegativeAmount { .. } => "send and save take amounts of zero or more: check the subtraction, or swap source and destination".to_owned(),
            Self::MissingFunds { .. } => "nothing was moved: fund the source, lower the amount, add a further source, or allow an overdraft".to_owned(),
            Self::InvalidAllotmentSum { .. } => "make the shares add up to exactly 1, or give one `remaining`".to_owned(),
            Self::InvalidAllotmentInSendAll => "name the accounts in order, or send a fixed amount".to_owned(),
            Self::InvalidUnboundedInSendAll { .. } => "limit it with `max … from`, or send a fixed amount".to_owned(),
            Self::InvalidUnboundedAddressInScalingAddress { .. } => "scale an account that holds the asset in some scale; `@world` has no balance".to_owned(),
            Self::ExperimentalFeature { flag } => format!("put `#![feature(\"{flag}\")]` on the first line, or turn it on for the run"),
            Self::Internal { .. } => "check the accounts and assets that the program computes".to_owned(),
            Self::ResourceLimit { .. } => "stay below that, or split the program into smaller ones".to_owned(),
        }
    }
}

/// The beginning of a text that is too long to show.
pub(super) fn brief(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn in_account(account: Option<&Name>) -> String {
    account.map(|account| format!(" in `{account}`")).unwrap_or_default()
}

fn join(types: &[Type]) -> String {
    types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join("|")
}
