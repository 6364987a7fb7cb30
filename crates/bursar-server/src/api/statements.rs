//! Statements of merchants: every movement with running balances, whole or in pages.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::feed::Cursor;
use bursar_core::ledger::AccountKey;
use bursar_core::ledger::views::{Clock, Period, StatementFold, StatementRow};
use bursar_core::money::decimal;
use bursar_store::{AnyStore, Query as _, StoreError, Walk as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{bad_cursor, limit};
use super::merchants::find;
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("GET", "/v1/merchants/{id}/statement", EVERY_ROLE)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(statement))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatementQuery {
    /// Movements with an effective time at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Movements with an effective time before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Movements of one page, at most 500: the last transaction of the page is shown whole. Without it and without a cursor,
    /// the whole statement.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page of the same period.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Statement {
    /// The balances at the beginning of the period, or of the page.
    opening: Vec<AccountBalance>,
    rows: Vec<StatementLine>,
    /// The balances at the end of the period, or of the page.
    closing: Vec<AccountBalance>,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AccountBalance {
    account: String,
    currency: String,
    balance: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StatementLine {
    #[schema(value_type = String, format = DateTime)]
    effective_at: Timestamp,
    event: String,
    reference: String,
    account: String,
    currency: String,
    /// The amount including fee and VAT, for events that have both.
    gross: Option<String>,
    fee: Option<String>,
    vat: Option<String>,
    net: Option<String>,
    debit: String,
    credit: String,
    balance: String,
}

/// The maximum number of lines of a statement that is not read in pages.
const LINES_MAX: usize = 10_000;
/// Transactions per query.
const TRANSACTIONS: u32 = 500;

/// A position between two transactions, with the balances there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    after: Cursor,
    balances: Vec<(AccountKey, i128)>,
}

/// `commit.rows~address~currency~minor units~…`: neither addresses nor currencies have a tilde.
impl Position {
    fn write(&self) -> String {
        let balances = self.balances.iter();
        let balances = balances
            .map(|((address, currency), minor)| format!("~{address}~{}~{minor}", currency.code()));
        format!("{}.{}{}", self.after.commit, self.after.rows, balances.collect::<String>())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('~');
        let (commit, rows) = parts.next()?.split_once('.')?;
        let after = Cursor { commit: commit.parse().ok()?, rows: rows.parse().ok()? };
        let mut balances = Vec::new();
        while let Some(address) = parts.next() {
            let currency = parts.next()?.parse().ok()?;
            balances.push(((address.into(), currency), parts.next()?.parse().ok()?));
        }
        Some(Self { after, balances })
    }
}

/// Get the statement of a merchant: every movement in the order of the commits, with running balances.
///
/// A long statement is read in pages: name a limit, and continue with `next_cursor` and the same period.
#[utoipa::path(get, path = "/v1/merchants/{id}/statement", tag = "merchants", params(("id" = String, Path), StatementQuery),
    responses((status = 200, body = Statement), (status = 400, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn statement(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<StatementQuery>,
) -> Result<Reply<Statement>, Problem> {
    find(&app, &caller, &id).await?;
    let period = Period { from: query.from, to: query.until, clock: Clock::Effective };
    let position = query.cursor.as_deref().map(|text| Position::parse(text).ok_or_else(bad_cursor));
    let position = position.transpose()?;
    let is_paged = query.limit.is_some() || position.is_some();
    let most = if is_paged {
        usize::try_from(limit(query.limit)?).unwrap_or(usize::MAX)
    } else {
        LINES_MAX.saturating_add(1)
    };
    let read =
        app.0.readers.report(async move |store| page(store, &id, period, position, most).await);
    let statement = read.await?.ok_or_else(bad_cursor)?;
    if !is_paged && statement.rows.len() > LINES_MAX {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "too_many_rows",
            "the period has more than 10,000 movements: nothing was read. Read it in pages with limit, or ask for a shorter one with from and until",
        ));
    }
    Ok(Reply(statement))
}

/// At least `most` lines, if there are so many. None if the position is not of this merchant.
async fn page(
    store: &mut AnyStore,
    merchant: &str,
    period: Period,
    position: Option<Position>,
    most: usize,
) -> Result<Option<Statement>, StoreError> {
    let accounts = store.accounts().await?;
    let mut fold = StatementFold::new(&accounts, merchant, period);
    let addresses = fold.addresses();
    let mut after = Cursor::default();
    if let Some(position) = position {
        after = position.after;
        if !fold.resume(position.balances) {
            return Ok(None);
        }
    } else if period.from.is_some() {
        let open = |transaction: &_| {
            fold.open(transaction);
            Ok::<(), StoreError>(())
        };
        store.each_transaction_of(&addresses, open).await?;
    }
    let opening = balances_of(&fold);
    let mut rows = Vec::new();
    let is_more = 'pages: loop {
        let found = store.transactions_of(&addresses, after, TRANSACTIONS).await?;
        if found.is_empty() {
            break false;
        }
        for (cursor, transaction) in &found {
            let lines = fold.add(transaction);
            rows.extend(lines.iter().map(line));
            after = *cursor;
            if rows.len() >= most {
                break 'pages true;
            }
        }
    };
    let next_cursor = is_more.then(|| Position { after, balances: fold.keyed_balances() }.write());
    Ok(Some(Statement { opening, rows, closing: balances_of(&fold), next_cursor }))
}

fn balances_of(fold: &StatementFold) -> Vec<AccountBalance> {
    let balance = |found: bursar_core::ledger::views::StatementBalance| AccountBalance {
        balance: decimal(found.balance, found.currency),
        currency: found.currency.to_string(),
        account: found.account,
    };
    fold.balances().into_iter().map(balance).collect()
}

fn line(row: &StatementRow) -> StatementLine {
    StatementLine {
        effective_at: row.effective_at,
        event: row.event.to_string(),
        reference: row.reference.clone(),
        account: row.account.clone(),
        currency: row.currency.to_string(),
        gross: row.breakdown.map(|parts| decimal(parts.gross, row.currency)),
        fee: row.breakdown.map(|parts| decimal(parts.fee, row.currency)),
        vat: row.breakdown.map(|parts| decimal(parts.vat, row.currency)),
        net: row.breakdown.map(|parts| decimal(parts.net, row.currency)),
        debit: decimal(row.debit.into(), row.currency),
        credit: decimal(row.credit.into(), row.currency),
        balance: decimal(row.balance, row.currency),
    }
}

#[cfg(test)]
mod tests {
    use bursar_core::feed::Cursor;

    use super::Position;

    #[test]
    fn a_position_is_written_and_parsed() {
        let key = |address: &str| (address.into(), "PKR".parse().unwrap());
        let balances =
            vec![(key("merchants:m1:available:PKR"), -5), (key("holds:m_1:PKR"), 1 << 70)];
        let position = Position { after: Cursor { commit: 7, rows: 2 }, balances };
        assert_eq!(Position::parse(&position.write()), Some(position));
        for text in ["", "7", "7.x", "7.2~a", "7.2~a~PKR", "7.2~a~PKR~x", "7.2~a~??~1", "x.2"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}
