//! Closings: the accounts as of a commit.

use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::turn::Commit;
use rusqlite::{Connection, Row, params};

use super::classify;
use super::load::{all, prepare};
use super::row::get;
use crate::StoreError;
use crate::chart_lines::{damaged, parse, time};

/// Rows that are there already stay: another process has closed the same day.
pub(super) fn save(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    let sql = "INSERT INTO closed_accounts (address, currency, seq, balance, received)
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    for close in &commit.closings {
        let seq = number(close.seq)?;
        let mut statement = prepare(connection, sql)?;
        for ClosedAccount { address, currency, balance, received } in &close.accounts {
            let values = params![&**address, currency.code(), seq, balance, received];
            statement.execute(values).map_err(|error| classify(&error))?;
        }
        let Some(Closing { seq, hash, time, earliest, latest }) = close.closing else { continue };
        let micros = |time: Option<jiff::Timestamp>| time.map(jiff::Timestamp::as_microsecond);
        let (seq, time) = (number(seq)?, time.as_microsecond());
        let values = params![seq, hash.as_slice(), time, micros(earliest), micros(latest)];
        let sql =
            "INSERT INTO closings (seq, hash, time, earliest, latest) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT DO NOTHING";
        prepare(connection, sql)?.execute(values).map_err(|error| classify(&error))?;
    }
    Ok(())
}

pub(super) fn list(connection: &Connection) -> Result<Vec<Closing>, StoreError> {
    let sql = "SELECT seq, hash, time, earliest, latest FROM closings ORDER BY seq";
    all(connection, sql, [], |row| {
        let optional = |column| get::<Option<i64>>(row, column)?.map(time).transpose();
        Ok(Closing {
            seq: u64::try_from(get::<i64>(row, 0)?).map_err(damaged)?,
            hash: get(row, 1)?,
            time: time(get(row, 2)?)?,
            earliest: optional(3)?,
            latest: optional(4)?,
        })
    })
}

/// One index probe for each account.
pub(super) fn accounts(
    connection: &Connection,
    seq: u64,
) -> Result<Vec<ClosedAccount>, StoreError> {
    let sql = "SELECT c.address, c.currency, c.balance, c.received FROM accounts a
               CROSS JOIN closed_accounts c ON c.address = a.address AND c.currency = a.currency
                   AND c.seq = (SELECT max(l.seq) FROM closed_accounts l
                                WHERE l.address = a.address AND l.currency = a.currency AND l.seq BETWEEN 1 AND ?1)
               ORDER BY a.address, a.currency";
    all(connection, sql, params![number(seq)?], closed)
}

pub(super) fn rows(
    connection: &Connection,
    (first, last): (u64, u64),
) -> Result<Vec<(u64, ClosedAccount)>, StoreError> {
    let sql = "SELECT address, currency, balance, received, seq FROM closed_accounts
               WHERE seq BETWEEN ?1 AND ?2 ORDER BY address, currency, seq";
    all(connection, sql, params![number(first)?, number(last)?], |row| {
        Ok((u64::try_from(get::<i64>(row, 4)?).map_err(damaged)?, closed(row)?))
    })
}

/// `address, currency, balance, received`.
fn closed(row: &Row<'_>) -> Result<ClosedAccount, StoreError> {
    Ok(ClosedAccount {
        address: get::<String>(row, 0)?.into(),
        currency: parse(&get::<String>(row, 1)?, "a currency")?,
        balance: get(row, 2)?,
        received: get(row, 3)?,
    })
}

fn number(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(damaged)
}
