//! Accounts and their chart lines. All turns contend for account rows, so a turn writes them only while it holds the lock
//! of the head.

use std::sync::Arc;

use bursar_core::ledger::chart::GlAccount;
use bursar_core::money::Currency;
use bursar_core::turn::AccountWrite;
use futures_util::future::join;
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::chart_lines::{ChartLines, NewLines, damaged};

const OPEN: &str = "INSERT INTO accounts (address, currency, balance, version, line)
    SELECT address, currency, 0, 0, line FROM unnest($1::text[], $2::text[], $3::bigint[])
         AS k (address, currency, line)
    ON CONFLICT DO NOTHING";
const CHANGE: &str = "UPDATE accounts a SET balance = a.balance + k.delta, version = a.version + 1,
        received = least(a.received, 9223372036854775807 - k.received) + k.received
    FROM (SELECT unnest($1::text[]) AS address, unnest($2::text[]) AS currency, unnest($3::bigint[]) AS delta,
                 unnest($4::bigint[]) AS least, unnest($5::bigint[]) AS received) AS k
    WHERE a.address = k.address AND a.currency = k.currency
      AND (k.least IS NULL OR a.balance >= k.least)";

/// The caller prepares these before `change`.
pub(super) const STATEMENTS: [&str; 2] = [OPEN, CHANGE];

/// Adds net changes. Precondition: each opening balance suffices. `lines` has the numbers of their chart lines.
pub(super) async fn change(
    session: &Session<'_, Transaction<'_>>,
    changes: &[AccountWrite],
    lines: &[i64],
) -> Result<(), StoreError> {
    let (opened, added) = join(open(session, changes, lines), add(session, changes)).await;
    opened?;
    added
}

/// A non-zero balance means that the row exists. An account with a zero balance may be new, so its row is inserted first.
async fn open(
    session: &Session<'_, Transaction<'_>>,
    changes: &[AccountWrite],
    lines: &[i64],
) -> Result<(), StoreError> {
    let (empty, lines): (Vec<&AccountWrite>, Vec<i64>) = changes
        .iter()
        .zip(lines)
        .filter(|(change, _)| change.after.balance.minor() == change.delta)
        .unzip();
    if empty.is_empty() {
        return Ok(());
    }
    let addresses: Vec<&str> = empty.iter().map(|change| &*change.address).collect();
    let currencies: Vec<Currency> =
        empty.iter().map(|change| change.after.balance.currency()).collect();
    session.query(OPEN, &[&addresses, &codes(&currencies), &lines]).await?;
    Ok(())
}

async fn add(
    session: &Session<'_, Transaction<'_>>,
    changes: &[AccountWrite],
) -> Result<(), StoreError> {
    let addresses: Vec<&str> = changes.iter().map(|change| &*change.address).collect();
    let currencies: Vec<Currency> =
        changes.iter().map(|change| change.after.balance.currency()).collect();
    let deltas: Vec<i64> = changes.iter().map(|change| change.delta).collect();
    let least: Vec<Option<i64>> = changes.iter().map(|change| change.least_opening).collect();
    let received: Vec<i64> = changes.iter().map(|change| change.received).collect();
    let values: [&(dyn ToSql + Sync); 5] =
        [&addresses, &codes(&currencies), &deltas, &least, &received];
    session.write(CHANGE, &values, changes.len()).await
}

pub fn codes(currencies: &[Currency]) -> Vec<&str> {
    currencies.iter().map(Currency::code).collect()
}

/// The numbers of the chart lines of these accounts, and the lines that it inserted.
pub(super) async fn chart_lines(
    session: &Session<'_, Transaction<'_>>,
    lines: &ChartLines,
    changes: &[AccountWrite],
) -> Result<(Vec<i64>, NewLines), StoreError> {
    let mut new_lines = NewLines::new();
    // All writers insert new lines in the same order, so that they cannot deadlock.
    let mut unknown: Vec<&Arc<GlAccount>> = changes
        .iter()
        .map(|change| &change.after.metadata)
        .filter(|account| lines.number(account).is_none())
        .collect();
    unknown.sort_by_key(|account| account.code);
    for account in unknown {
        chart_line(session, lines, account, &mut new_lines).await?;
    }
    let mut numbers: Vec<i64> = Vec::with_capacity(changes.len());
    for change in changes {
        numbers.push(chart_line(session, lines, &change.after.metadata, &mut new_lines).await?);
    }
    Ok((numbers, new_lines))
}

/// The number of a chart line. Inserts a new line.
pub async fn chart_line(
    session: &Session<'_, Transaction<'_>>,
    lines: &ChartLines,
    account: &Arc<GlAccount>,
    new_lines: &mut NewLines,
) -> Result<i64, StoreError> {
    if let Some(number) = lines.number(account) {
        return Ok(number);
    }
    if let Some((number, _)) = new_lines.iter().find(|(_, known)| known == account) {
        return Ok(*number);
    }
    let pattern = account.pattern.as_ref().map(ToString::to_string).unwrap_or_default();
    let code = account.code.to_string();
    let values: [&(dyn ToSql + Sync); 6] =
        [&code, &account.name, &account.class.name(), &pattern, &account.liquidity, &account.view];
    // `DO NOTHING` takes no lock on an existing line: the turn that holds the head may reference it.
    let sql = "INSERT INTO chart_lines (gl, name, class, address, liquidity, view)
               VALUES ($1::text::bigint, $2, $3, $4, $5, $6)
               ON CONFLICT (gl, name, class, address, liquidity, view) DO NOTHING";
    session.query(sql, &values).await?;
    let sql = "SELECT line FROM chart_lines WHERE gl = $1::text::bigint AND name = $2 AND class = $3 AND address = $4
                   AND liquidity = $5 AND view = $6";
    let rows = session.query(sql, &values).await?;
    let row = rows.first().ok_or_else(|| damaged("a chart line has no number"))?;
    let number = get(row, 0)?;
    new_lines.push((number, Arc::clone(account)));
    Ok(number)
}
