//! Closings: the accounts as of a commit.

use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::money::Currency;
use bursar_core::turn::Commit;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};

use super::accounts::codes;
use super::row::{get, hash};
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::{damaged, parse, time};

/// Rows that are there already stay: another process has closed the same day. All write them in the same order.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    for close in &commit.closings {
        let rows = || close.accounts.iter();
        let addresses: Vec<&str> = rows().map(|row| &*row.address).collect();
        let currencies: Vec<Currency> = rows().map(|row| row.currency).collect();
        let balances: Vec<i64> = rows().map(|row| row.balance).collect();
        let received: Vec<i64> = rows().map(|row| row.received).collect();
        let sql = "INSERT INTO closed_accounts (address, currency, seq, balance, received)
                   SELECT unnest($1::text[]), unnest($2::text[]), $3, unnest($4::bigint[]), unnest($5::bigint[])
                   ON CONFLICT DO NOTHING";
        let values: [&(dyn ToSql + Sync); 5] =
            [&addresses, &codes(&currencies), &number(close.seq)?, &balances, &received];
        session.query(sql, &values).await?;
        let Some(Closing { seq, hash, time, earliest, latest }) = close.closing else { continue };
        let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
        let (seq, time, hash) = (number(seq)?, time.as_microsecond(), hash.as_slice());
        let sql =
            "INSERT INTO closings (seq, hash, time, earliest, latest) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT DO NOTHING";
        session.query(sql, &[&seq, &hash, &time, &micros(earliest), &micros(latest)]).await?;
    }
    Ok(())
}

pub(super) async fn list(
    session: &Session<'_, impl GenericClient>,
) -> Result<Vec<Closing>, StoreError> {
    let sql = "SELECT seq, hash, time, earliest, latest FROM closings ORDER BY seq";
    let closing = |row| {
        let optional = |column| get::<Option<i64>>(row, column)?.map(time).transpose();
        Ok(Closing {
            seq: u64::try_from(get::<i64>(row, 0)?).map_err(damaged)?,
            hash: hash(row, 1)?,
            time: time(get(row, 2)?)?,
            earliest: optional(3)?,
            latest: optional(4)?,
        })
    };
    session.query(sql, &[]).await?.iter().map(closing).collect()
}

/// One index probe for each account.
pub(super) async fn accounts(
    session: &Session<'_, impl GenericClient>,
    seq: u64,
) -> Result<Vec<ClosedAccount>, StoreError> {
    let sql =
        "SELECT a.address, a.currency, c.balance, c.received FROM accounts a CROSS JOIN LATERAL (
                   SELECT balance, received FROM closed_accounts c
                   WHERE c.address = a.address AND c.currency = a.currency AND c.seq BETWEEN 1 AND $1
                   ORDER BY c.seq DESC LIMIT 1) c
               ORDER BY a.address, a.currency";
    session.query(sql, &[&number(seq)?]).await?.iter().map(closed).collect()
}

pub(super) async fn rows(
    session: &Session<'_, impl GenericClient>,
    (first, last): (u64, u64),
) -> Result<Vec<(u64, ClosedAccount)>, StoreError> {
    let sql = "SELECT address, currency, balance, received, seq FROM closed_accounts
               WHERE seq BETWEEN $1 AND $2 ORDER BY address, currency, seq";
    let rows = session.query(sql, &[&number(first)?, &number(last)?]).await?;
    let row = |row| Ok((u64::try_from(get::<i64>(row, 4)?).map_err(damaged)?, closed(row)?));
    rows.iter().map(row).collect()
}

/// `address, currency, balance, received`.
fn closed(row: &Row) -> Result<ClosedAccount, StoreError> {
    Ok(ClosedAccount {
        address: get::<String>(row, 0)?.into(),
        currency: parse(get(row, 1)?, "a currency")?,
        balance: get(row, 2)?,
        received: get(row, 3)?,
    })
}

fn number(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(damaged)
}
