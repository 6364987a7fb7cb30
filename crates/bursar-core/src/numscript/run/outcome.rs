//! The inputs and the outcome of a run.

use std::collections::BTreeMap;

use super::super::amount::Amount;
use super::super::value::{Name, Value};

/// The variables of a run.
#[derive(Debug, Clone, Copy)]
pub enum Inputs<'a> {
    /// By name, as text; names that the program does not declare are ignored.
    Text(&'a BTreeMap<String, String>),
    /// In the order of `Program::inputs`, already typed. Accounts are not checked again: give well-formed addresses.
    Values(&'a [Value]),
}

/// The records that a program may read.
pub trait Records {
    /// Zero for an account that was never used.
    fn balance(&self, account: &str, asset: &str, color: &str) -> Amount;
    /// The uncoloured balances of an account whose asset has this base, in any scale.
    fn scales(&self, account: &str, base: &str) -> Vec<(Name, Amount)>;
    fn metadata(&self, account: &str, key: &str) -> Option<&str>;
}

/// Records held in memory.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    balances: BTreeMap<(String, String, String), Amount>,
    metadata: BTreeMap<(String, String), String>,
}

impl Snapshot {
    pub fn set_balance(&mut self, account: &str, asset: &str, color: &str, amount: Amount) {
        self.balances.insert((account.to_owned(), asset.to_owned(), color.to_owned()), amount);
    }

    pub fn set_metadata(&mut self, account: &str, key: &str, value: &str) {
        self.metadata.insert((account.to_owned(), key.to_owned()), value.to_owned());
    }
}

impl Records for Snapshot {
    fn balance(&self, account: &str, asset: &str, color: &str) -> Amount {
        let key = (account.to_owned(), asset.to_owned(), color.to_owned());
        self.balances.get(&key).cloned().unwrap_or(Amount::ZERO)
    }

    fn scales(&self, account: &str, base: &str) -> Vec<(Name, Amount)> {
        let first = (account.to_owned(), String::new(), String::new());
        self.balances
            .range(first..)
            .take_while(|((owner, _, _), _)| owner == account)
            .filter(|((_, asset, color), _)| color.is_empty() && asset_base(asset) == base)
            .map(|((_, asset, _), amount)| (Name::from(asset.as_str()), amount.clone()))
            .collect()
    }

    fn metadata(&self, account: &str, key: &str) -> Option<&str> {
        self.metadata.get(&(account.to_owned(), key.to_owned())).map(String::as_str)
    }
}

/// The part of an asset before its scale.
pub(super) fn asset_base(asset: &str) -> &str {
    asset.split_once('/').map_or(asset, |(base, _)| base)
}

/// The result of a successful run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub postings: Vec<Posting>,
    pub tx_metadata: BTreeMap<Name, Value>,
    pub accounts_metadata: BTreeMap<Name, BTreeMap<Name, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub source: Name,
    pub destination: Name,
    pub asset: Name,
    pub amount: Amount,
    /// Empty for ordinary money.
    pub color: Name,
}
