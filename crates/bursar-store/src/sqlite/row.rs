//! Conversion between values and columns. A column that cannot be decoded is an error, never a default.

use bursar_core::ids::TransactionId;
use bursar_core::ledger::{Account, Hold, HoldState};
use bursar_core::money::Money;
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::classify;
use crate::StoreError;
use crate::chart_lines::{ChartLineRow, ChartLines, damaged, parse};

/// All stored chart lines.
pub(super) fn chart_lines(connection: &Connection) -> Result<ChartLines, StoreError> {
    let sql = "SELECT line, gl, name, class, address, liquidity, view FROM chart_lines";
    let mut statement = connection.prepare(sql).map_err(|error| classify(&error))?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    let mut lines = ChartLines::default();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        lines.add(ChartLineRow {
            number: get(row, 0)?,
            gl: get(row, 1)?,
            name: get(row, 2)?,
            class: get(row, 3)?,
            address: get(row, 4)?,
            liquidity: get(row, 5)?,
            view: get(row, 6)?,
        })?;
    }
    Ok(lines)
}

/// Reads `balance, currency, line, received`, starting at a column.
pub(super) fn account(
    row: &Row<'_>,
    first: usize,
    lines: &ChartLines,
) -> Result<Account, StoreError> {
    let currency = parse(&get::<String>(row, first.saturating_add(1))?, "a currency")?;
    let metadata = lines.get(get(row, first.saturating_add(2))?)?;
    let balance = Money::from_minor(get(row, first)?, currency);
    Ok(Account { balance, received: get(row, first.saturating_add(3))?, metadata })
}

/// Reads `account, currency, amount, epoch, ended_by`, starting at a column.
pub(super) fn hold(row: &Row<'_>, first: usize) -> Result<Hold, StoreError> {
    let at = |offset: usize| first.saturating_add(offset);
    let currency = parse(&get::<String>(row, at(1))?, "a currency")?;
    let ended_by: Option<[u8; 16]> = get(row, at(4))?;
    Ok(Hold {
        account: get::<String>(row, at(0))?.into(),
        money: Money::from_minor(get(row, at(2))?, currency),
        epoch: get(row, at(3))?,
        state: match ended_by {
            Some(bytes) => {
                HoldState::Ended { by: TransactionId::from_uuid(Uuid::from_bytes(bytes)) }
            }
            None => HoldState::Open,
        },
    })
}

pub(super) fn get<T: rusqlite::types::FromSql>(
    row: &Row<'_>,
    column: usize,
) -> Result<T, StoreError> {
    row.get(column).map_err(damaged)
}
