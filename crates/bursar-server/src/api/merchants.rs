//! Merchants: their records, balances and statements.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::dispatch::{Rate, WEIGHT};
use bursar_core::money::{Currency, Money};
use bursar_core::numscript::Name;
use bursar_core::registry::{
    Change, Content, DispatchShare, Kind, MerchantStatus, Record, RecordKey, Registered,
    Registration,
};
use bursar_store::Browse as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;
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
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change))
        .routes(routes!(balances))
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
    dispatch: Option<Share>,
}

/// The share of a merchant in the channels that it uses with others.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DispatchShare)]
pub(super) struct Share {
    /// Of two merchants that both wait, the one with twice the weight is sent twice as often. 100 if it is not set.
    #[serde(default = "usual_weight")]
    #[schema(minimum = 1, maximum = 10000)]
    weight: u32,
    /// How many payouts of the merchant are sent a second at most, by channel. Only where settings limit the channel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    rate_per_s: BTreeMap<String, Rate>,
}

const fn usual_weight() -> u32 {
    WEIGHT
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
    dispatch: Share,
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
        let DispatchShare { weight, rate_per_s } = merchant.dispatch;
        let dispatch = Share { weight, rate_per_s };
        Ok(Self { id, name: merchant.name, status, dispatch, version, created_at, updated_at })
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
pub(super) async fn find(app: &App, caller: &Caller, id: &str) -> Result<Record, Problem> {
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
    let register = |change| Registration { actor: caller.actor.clone(), change };
    let share = change.dispatch.map(|share| {
        let Share { weight, rate_per_s } = share;
        let (merchant, share) = (id.clone(), DispatchShare { weight, rate_per_s });
        register(Change::SetShare { merchant, share })
    });
    let altered = register(Change::AlterMerchant { id: id.clone(), name: change.name, status });
    let Registered { mut record, .. } = app.ask(altered).await?;
    if let Some(share) = share {
        record = app.ask(share).await?.record;
    }
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
