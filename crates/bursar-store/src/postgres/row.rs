//! Values to columns and back. What does not read back is damage, never a default.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::chart::GlAccount;
use bursar_core::ids::TransactionId;
use bursar_core::ledger::{Account, Hold, HoldState};
use bursar_core::money::Money;
use jiff::Timestamp;
use tokio_postgres::types::FromSql;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::classify;
use crate::StoreError;

/// The lines of all charts that accounts were opened under, by their number.
#[derive(Debug, Default)]
pub(super) struct ChartLines {
    by_number: BTreeMap<i64, Arc<GlAccount>>,
}

/// Lines that a turn has written down.
pub(super) type NewLines = Vec<(i64, Arc<GlAccount>)>;

impl ChartLines {
    /// Another process may have opened accounts under a chart line that is new to this one.
    pub(super) async fn refresh(
        &mut self,
        client: &impl GenericClient,
        mut numbers: impl Iterator<Item = Result<i64, StoreError>>,
    ) -> Result<(), StoreError> {
        let is_known = |number: Result<i64, StoreError>| {
            number.map(|number| self.by_number.contains_key(&number))
        };
        let unknown = numbers.find_map(|number| match is_known(number) {
            Ok(true) => None,
            Ok(false) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        });
        if unknown.transpose()?.is_some() {
            *self = Self::read(client).await?;
        }
        Ok(())
    }

    pub(super) async fn read(client: &impl GenericClient) -> Result<Self, StoreError> {
        let sql = "SELECT line, gl, name, class, address, liquidity, view FROM chart_lines";
        let rows = client.query(sql, &[]).await.map_err(|error| classify(&error))?;
        let mut lines = Self::default();
        for row in &rows {
            let address: String = get(row, 4)?;
            let account = GlAccount {
                code: parse(&get::<i64>(row, 1)?.to_string(), "a GL code")?,
                name: get(row, 2)?,
                class: parse(&get::<String>(row, 3)?, "a class")?,
                pattern: if address.is_empty() {
                    None
                } else {
                    Some(parse(&address, "a pattern")?)
                },
                liquidity: get(row, 5)?,
                view: get(row, 6)?,
            };
            lines.by_number.insert(get(row, 0)?, Arc::new(account));
        }
        Ok(lines)
    }

    pub(super) fn get(&self, number: i64) -> Result<Arc<GlAccount>, StoreError> {
        let line = self.by_number.get(&number);
        line.cloned().ok_or_else(|| damaged(format!("chart line {number} is missing")))
    }

    pub(super) fn number(&self, account: &GlAccount) -> Option<i64> {
        let known = self.by_number.iter().find(|(_, known)| &***known == account);
        known.map(|(number, _)| *number)
    }

    pub(super) fn remember(&mut self, lines: NewLines) {
        self.by_number.extend(lines);
    }
}

/// `balance, currency, line` from a column on.
pub(super) fn account(row: &Row, first: usize, lines: &ChartLines) -> Result<Account, StoreError> {
    let currency = parse(&get::<String>(row, first.saturating_add(1))?, "a currency")?;
    let metadata = lines.get(get(row, first.saturating_add(2))?)?;
    Ok(Account { balance: Money::from_minor(get(row, first)?, currency), metadata })
}

/// `account, currency, amount, epoch, ended_by` from a column on.
pub(super) fn hold(row: &Row, first: usize) -> Result<Hold, StoreError> {
    let at = |offset: usize| first.saturating_add(offset);
    let currency = parse(&get::<String>(row, at(1))?, "a currency")?;
    let ended_by: Option<Uuid> = get(row, at(4))?;
    Ok(Hold {
        account: get::<String>(row, at(0))?.into(),
        money: Money::from_minor(get(row, at(2))?, currency),
        epoch: u32::try_from(get::<i64>(row, at(3))?).map_err(damaged)?,
        state: match ended_by {
            Some(uuid) => HoldState::Ended { by: TransactionId::from_uuid(uuid) },
            None => HoldState::Open,
        },
    })
}

/// 32 bytes, or damage.
pub(super) fn hash(row: &Row, column: usize) -> Result<[u8; 32], StoreError> {
    let bytes: Vec<u8> = get(row, column)?;
    bytes.try_into().map_err(|_| damaged("a hash does not have 32 bytes"))
}

pub(super) fn time(microseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(microseconds).map_err(damaged)
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(damaged)
}

pub(super) fn parse<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| damaged(format!("`{text}` is not {what}")))
}

pub(super) fn damaged(reason: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("a row does not read back: {reason}"))
}
