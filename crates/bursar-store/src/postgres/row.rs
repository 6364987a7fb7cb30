//! Conversion between values and columns. A column that cannot be decoded is an error, never a default.

use bursar_core::ids::TransactionId;
use bursar_core::ledger::{Account, Hold, HoldState};
use bursar_core::money::Money;
use tokio_postgres::types::FromSql;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::classify;
use crate::StoreError;
use crate::chart_lines::{ChartLineRow, ChartLines, damaged, parse};

/// All stored chart lines.
pub(super) async fn chart_lines(client: &impl GenericClient) -> Result<ChartLines, StoreError> {
    let sql = "SELECT line, gl, name, class, address, liquidity, view FROM chart_lines";
    let rows = client.query(sql, &[]).await.map_err(|error| classify(&error))?;
    let mut lines = ChartLines::default();
    for row in &rows {
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
pub(super) fn account(row: &Row, first: usize, lines: &ChartLines) -> Result<Account, StoreError> {
    let currency = parse(get::<&str>(row, first.saturating_add(1))?, "a currency")?;
    let metadata = lines.get(get(row, first.saturating_add(2))?)?;
    let balance = Money::from_minor(get(row, first)?, currency);
    Ok(Account { balance, received: get(row, first.saturating_add(3))?, metadata })
}

/// Reads `account, currency, amount, epoch, ended_by`, starting at a column.
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

/// Reads 32 bytes. Another length is an error.
pub(super) fn hash(row: &Row, column: usize) -> Result<[u8; 32], StoreError> {
    let bytes: &[u8] = get(row, column)?;
    bytes.try_into().map_err(|_| damaged("a hash does not have 32 bytes"))
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(damaged)
}
