//! Merchants: their records, balances and statements.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::ledger::Account;
use bursar_core::ledger::views::{Clock, Period, StatementFold, StatementRow};
use bursar_core::money::{Currency, Money, decimal};
use bursar_core::numscript::Name;
use bursar_core::registry::{
    Change, Content, Kind, MerchantStatus, Record, RecordKey, Registered, Registration,
};
use bursar_store::{Browse as _, Query as _, StoreError, Walk as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answered;
use super::lists::{Listed, Page};
use crate::App;
use crate::access::{ADMIN, AccessRow, EVERY_ROLE, STAFF};
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/merchants", ADMIN),
    ("GET", "/v1/merchants", STAFF),
    ("GET", "/v1/merchants/{id}", EVERY_ROLE),
    ("PATCH", "/v1/merchants/{id}", ADMIN),
    ("GET", "/v1/merchants/{id}/balances", EVERY_ROLE),
    ("GET", "/v1/merchants/{id}/statement", EVERY_ROLE),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change))
        .routes(routes!(balances))
        .routes(routes!(statement))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMerchant {
    /// 1 to 64 letters, digits and `_`.
    #[schema(pattern = "^[A-Za-z0-9_]{1,64}$")]
    id: String,
    #[schema(min_length = 1, max_length = 128)]
    name: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MerchantChange {
    #[schema(min_length = 1, max_length = 128)]
    name: Option<String>,
    status: Option<Status>,
}

/// A closed merchant starts no new payouts or pay-ins; the open ones are completed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MerchantStatus)]
pub(super) enum Status {
    Open,
    Closed,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Merchant {
    id: String,
    name: String,
    status: Status,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl Merchant {
    fn new(record: Record) -> Result<Self, Problem> {
        let Record { id, version, created_at, updated_at, content } = record;
        let Content::Merchant(merchant) = content else {
            return Err(Problem::not_found("this id"));
        };
        let status = match merchant.status {
            MerchantStatus::Open => Status::Open,
            MerchantStatus::Closed => Status::Closed,
        };
        Ok(Self { id, name: merchant.name, status, version, created_at, updated_at })
    }
}

/// Create a merchant.
///
/// A repeated request with the same name returns the existing merchant.
#[utoipa::path(post, path = "/v1/merchants", tag = "merchants", request_body = NewMerchant,
    responses((status = 201, body = Merchant), (status = 200, body = Merchant), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewMerchant>,
) -> Result<Response, Problem> {
    let change = Change::OpenMerchant { id: new.id, name: new.name };
    let registration = Registration { actor: caller.actor, change };
    let Registered { record, is_new } = app.ask(registration).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answered(status, Reply(Merchant::new(*record)?), !is_new))
}

/// List merchants.
#[utoipa::path(get, path = "/v1/merchants", tag = "merchants", params(Page),
    responses((status = 200, body = Listed<Merchant>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Merchant>>, Problem> {
    app.list_records(Kind::Merchant, None, page, Merchant::new).await
}

/// Get a merchant.
#[utoipa::path(get, path = "/v1/merchants/{id}", tag = "merchants", params(("id" = String, Path)),
    responses((status = 200, body = Merchant), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Merchant>, Problem> {
    Ok(Reply(Merchant::new(find(&app, &caller, &id).await?)?))
}

/// A merchant that the caller may not see is not found.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Record, Problem> {
    let unknown = || Problem::not_found("this id");
    if !caller.sees(id) {
        return Err(unknown());
    }
    let key = RecordKey::merchant(id);
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    found.ok_or_else(unknown)
}

/// Change the name or the status of a merchant.
#[utoipa::path(patch, path = "/v1/merchants/{id}", tag = "merchants", params(("id" = String, Path)), request_body = MerchantChange,
    responses((status = 200, body = Merchant), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(change): Json<MerchantChange>,
) -> Result<Reply<Merchant>, Problem> {
    let status = change.status.map(|status| match status {
        Status::Open => MerchantStatus::Open,
        Status::Closed => MerchantStatus::Closed,
    });
    let change = Change::AlterMerchant { id, name: change.name, status };
    let registration = Registration { actor: caller.actor, change };
    let Registered { record, .. } = app.ask(registration).await?;
    Ok(Reply(Merchant::new(*record)?))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Balances {
    balances: Vec<Balance>,
}

/// A merchant's money in one currency.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Balance {
    currency: String,
    /// Available for payouts.
    available: String,
    /// On hold for payouts and disputes.
    held: String,
    /// Not settled yet.
    pending: String,
}

/// Get the balances of a merchant.
#[utoipa::path(get, path = "/v1/merchants/{id}/balances", tag = "merchants", params(("id" = String, Path)),
    responses((status = 200, body = Balances), (status = 404, body = Problem)))]
pub(super) async fn balances(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Balances>, Problem> {
    find(&app, &caller, &id).await?;
    let addresses = addresses(&app, &id);
    let found = app.0.readers.read(async move |store| store.accounts_at(&addresses).await).await?;
    let mut sums: BTreeMap<Currency, [i64; 3]> = BTreeMap::new();
    for (_, account) in &found {
        let sums = sums.entry(account.balance.currency()).or_default();
        let place = match account.metadata.code.to_string().as_str() {
            "2004" => 0,
            "2010" | "2011" => 1,
            _ => 2,
        };
        if let Some(sum) = sums.get_mut(place) {
            *sum = sum.saturating_add(account.balance.minor());
        }
    }
    let balance = |(currency, [available, held, pending]): (Currency, [i64; 3])| {
        let text = |minor| Money::from_minor(minor, currency).to_string();
        let currency = currency.to_string();
        Balance { currency, available: text(available), held: text(held), pending: text(pending) }
    };
    Ok(Reply(Balances { balances: sums.into_iter().map(balance).collect() }))
}

/// The addresses of a merchant by the chart, in every currency.
fn addresses(app: &App, merchant: &str) -> Vec<Name> {
    let chart = app.0.rules.rulebook.chart();
    let mut addresses = Vec::new();
    for line in chart.accounts() {
        let Some(pattern) = &line.pattern else { continue };
        if !pattern.placeholders().any(|name| &**name == "merchantId") {
            continue;
        }
        addresses.extend(app.0.currencies.iter().map(|currency| {
            pattern.fill(|name| match name {
                "currency" => currency.code(),
                "merchantId" => merchant,
                _ => "",
            })
        }));
    }
    addresses
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
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Statement {
    /// The balances at the beginning of the period.
    opening: Vec<AccountBalance>,
    rows: Vec<StatementLine>,
    closing: Vec<AccountBalance>,
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

/// The maximum number of lines of a statement.
const LINES_MAX: usize = 10_000;

/// Get the statement of a merchant: every movement, with running balances.
#[utoipa::path(get, path = "/v1/merchants/{id}/statement", tag = "merchants", params(("id" = String, Path), StatementQuery),
    responses((status = 200, body = Statement), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn statement(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<StatementQuery>,
) -> Result<Reply<Statement>, Problem> {
    find(&app, &caller, &id).await?;
    let period = Period { from: query.from, to: query.until, clock: Clock::Effective };
    let read = app.0.readers.report(async move |store| {
        let accounts: Vec<(Name, Account)> = store.accounts().await?;
        let mut fold = StatementFold::new(&accounts, &id, period);
        let addresses = fold.addresses();
        if period.from.is_some() {
            let open = |transaction: &_| {
                fold.open(transaction);
                Ok::<(), StoreError>(())
            };
            store.each_transaction_of(&addresses, open).await?;
        }
        let opening = balances_of(&fold);
        let mut rows = Vec::new();
        let add = |transaction: &_| {
            if rows.len() <= LINES_MAX {
                rows.extend(fold.add(transaction).iter().map(line));
            }
            Ok::<(), StoreError>(())
        };
        store.each_transaction_of(&addresses, add).await?;
        Ok(Statement { opening, rows, closing: balances_of(&fold) })
    });
    let statement = read.await?;
    if statement.rows.len() > LINES_MAX {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "too_many_rows",
            "the period has more than 10,000 movements: nothing was read. Ask for a shorter one with from and until",
        ));
    }
    Ok(Reply(statement))
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
