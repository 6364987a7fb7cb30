//! The chart lines of all accounts, current and former, and the errors for rows that cannot be decoded.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use bursar_core::ledger::chart::GlAccount;
use jiff::Timestamp;

use crate::StoreError;

/// Chart lines by their number in the database.
#[derive(Debug, Default)]
pub struct ChartLines {
    by_number: BTreeMap<i64, Arc<GlAccount>>,
}

/// Lines that a turn has inserted.
pub type NewLines = Vec<(i64, Arc<GlAccount>)>;

/// The columns of a line.
pub(crate) struct ChartLineRow {
    pub(crate) number: i64,
    pub(crate) gl: i64,
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) address: String,
    pub(crate) liquidity: String,
    pub(crate) view: String,
}

impl ChartLines {
    pub(crate) fn add(&mut self, row: ChartLineRow) -> Result<(), StoreError> {
        let pattern =
            if row.address.is_empty() { None } else { Some(parse(&row.address, "a pattern")?) };
        let account = GlAccount {
            code: parse(&row.gl.to_string(), "a GL code")?,
            name: row.name,
            class: parse(&row.class, "a class")?,
            pattern,
            liquidity: row.liquidity,
            view: row.view,
        };
        self.by_number.insert(row.number, Arc::new(account));
        Ok(())
    }

    pub(crate) fn get(&self, number: i64) -> Result<Arc<GlAccount>, StoreError> {
        let line = self.by_number.get(&number);
        line.cloned().ok_or_else(|| damaged(format!("chart line {number} is missing")))
    }

    pub(crate) fn contains(&self, number: i64) -> bool {
        self.by_number.contains_key(&number)
    }

    pub(crate) fn number(&self, account: &GlAccount) -> Option<i64> {
        let known = self.by_number.iter().find(|(_, known)| &***known == account);
        known.map(|(number, _)| *number)
    }

    pub fn remember(&mut self, lines: NewLines) {
        self.by_number.extend(lines);
    }
}

pub(crate) fn time(microseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(microseconds).map_err(damaged)
}

pub(crate) fn parse<T: FromStr>(text: &str, what: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| damaged(format!("`{text}` is not {what}")))
}

pub(crate) fn damaged(reason: impl Display) -> StoreError {
    StoreError::Corrupt(format!("a row does not read back: {reason}"))
}
