//! Dispatch: settings, queues, cycles, and why a payout waits.

use std::collections::BTreeMap;

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use bursar_core::dispatch::{
    CycleFilter, CycleRow, Queue, QueueKey, Rank, Rate, Settings, dispatch_id, group_parts,
    queue_group,
};
use bursar_core::registry::{Change, Kind, RecordKey, Registered, Registration};
use bursar_core::rejection::Rejection;
use bursar_store::{Browse as _, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::dispatch_why::{self, Why};
use super::lists;
use crate::App;
use crate::access::{ADMIN, AccessRow, EVERY_ROLE, STAFF};
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/dispatch/config", STAFF),
    ("GET", "/v1/dispatch/config/{item_type}/{channel}", STAFF),
    ("PUT", "/v1/dispatch/config/{item_type}/{channel}", ADMIN),
    ("GET", "/v1/dispatch/queue", STAFF),
    ("GET", "/v1/dispatch/audit", STAFF),
    ("GET", "/v1/dispatch/why/{id}", EVERY_ROLE),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(configs))
        .routes(routes!(config, put_config))
        .routes(routes!(queue))
        .routes(routes!(audit))
        .routes(routes!(why))
}

/// The settings of a kind of payment and a channel.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DispatchConfig {
    item_type: String,
    channel: String,
    /// The version of the record, for `If-Match`; 0 if there is none.
    version: u64,
    /// Whether anything limits the channel. If not, every process sends at once.
    is_limited: bool,
    /// Every setting with its value and where it comes from.
    settings: BTreeMap<String, Setting>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Setting {
    value: Value,
    /// `default`, `file` or `record`.
    from: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DispatchConfigs {
    data: Vec<DispatchConfig>,
}

/// The kinds and channels that are dispatched.
fn channels(app: &App) -> impl Iterator<Item = (&'static str, &String)> {
    app.0.rules.channels.keys().map(|channel| (PAYOUT, channel))
}

const PAYOUT: &str = "payout";

async fn settings_of(
    app: &App,
    (kind, channel): (&str, &str),
) -> Result<(u64, Option<Settings>), Problem> {
    let key = RecordKey { kind: Kind::DispatchSettings, id: dispatch_id(kind, channel) };
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    let version = found.as_ref().map_or(0, |record| record.version);
    let settings = found.and_then(|record| record.content.dispatch_settings().cloned());
    Ok((version, settings))
}

async fn show(app: &App, (kind, channel): (&str, &str)) -> Result<DispatchConfig, Problem> {
    let (version, record) = settings_of(app, (kind, channel)).await?;
    let id = dispatch_id(kind, channel);
    let file = app.0.rules.dispatch.get(&id);
    let concurrency = app.0.rules.channels.get(channel).map_or(1, |it| it.concurrency);
    let mut settings = BTreeMap::new();
    let sources = [
        ("default", Some(Settings::defaults(concurrency))),
        ("file", file.cloned()),
        ("record", record.clone()),
    ];
    for (from, source) in sources {
        let Some(source) = source else { continue };
        let Ok(Value::Object(fields)) = serde_json::to_value(&source) else { continue };
        settings.extend(fields.into_iter().map(|(key, value)| (key, Setting { value, from })));
    }
    let in_force = bursar_core::dispatch::settings(&app.0.rules, &id, record.as_ref());
    Ok(DispatchConfig {
        item_type: kind.to_owned(),
        channel: channel.to_owned(),
        version,
        is_limited: in_force.is_some(),
        settings,
    })
}

/// List the settings of all channels.
#[utoipa::path(get, path = "/v1/dispatch/config", tag = "dispatch", responses((status = 200, body = DispatchConfigs)))]
pub(super) async fn configs(State(app): State<App>) -> Result<Reply<DispatchConfigs>, Problem> {
    let mut data = Vec::new();
    for (kind, channel) in channels(&app) {
        data.push(show(&app, (kind, channel)).await?);
    }
    Ok(Reply(DispatchConfigs { data }))
}

fn check(app: &App, kind: &str, channel: &str) -> Result<(), Problem> {
    if channels(app).any(|known| known == (kind, &channel.to_owned())) {
        return Ok(());
    }
    if kind != PAYOUT {
        return Err(Problem::not_found("this item type"));
    }
    let known = app.0.rules.channels.keys().cloned().collect();
    Err(Rejection::UnknownChannel { channel: channel.to_owned(), known }.into())
}

/// Get the settings of a channel, with the origin of each value.
#[utoipa::path(get, path = "/v1/dispatch/config/{item_type}/{channel}", tag = "dispatch",
    params(("item_type" = String, Path), ("channel" = String, Path)),
    responses((status = 200, body = DispatchConfig), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn config(
    State(app): State<App>,
    Path((kind, channel)): Path<(String, String)>,
) -> Result<Reply<DispatchConfig>, Problem> {
    check(&app, &kind, &channel)?;
    Ok(Reply(show(&app, (&kind, &channel)).await?))
}

/// Replace the settings of a channel that are kept in the books. They are in force over those of the configuration file.
///
/// `If-Match` names the version that the caller has seen.
#[utoipa::path(put, path = "/v1/dispatch/config/{item_type}/{channel}", tag = "dispatch",
    params(("item_type" = String, Path), ("channel" = String, Path), ("If-Match" = Option<String>, Header)),
    request_body(content = Object, description = "Any of the settings that GET shows; those that are left out come from the file"),
    responses((status = 200, body = DispatchConfig), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn put_config(
    State(app): State<App>,
    caller: Caller,
    Path((kind, channel)): Path<(String, String)>,
    headers: HeaderMap,
    Json(settings): Json<Settings>,
) -> Result<Reply<DispatchConfig>, Problem> {
    check(&app, &kind, &channel)?;
    let id = dispatch_id(&kind, &channel);
    let contract = app.0.rules.dispatch.get(&id).and_then(|file| file.contract_per_s);
    let highest = settings.rate_per_s.into_iter().chain(settings.contract_per_s).max();
    if let (Some(rate), Some(contract)) = (highest, contract)
        && rate > contract
    {
        let reason = format!("{rate} a second is above the contract of {contract} in the file");
        return Err(Rejection::BadSettings { reason }.into());
    }
    let expected_version = match headers.get(IF_MATCH) {
        Some(text) => {
            let text = text.to_str().unwrap_or_default().trim_matches('"');
            let version = text.parse().map_err(|_| {
                Problem::bad_request(
                    "If-Match is the version of the settings, a number: nothing was changed. Read them again",
                )
            })?;
            Some(version)
        }
        None => None,
    };
    let change = Change::SetDispatch { id, settings: Box::new(settings), expected_version };
    let Registered { .. } = app.ask(Registration { actor: caller.actor, change }).await?;
    Ok(Reply(show(&app, (&kind, &channel)).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct QueueParams {
    /// Such as `payout`.
    item_type: Option<String>,
    channel: Option<String>,
    merchant_id: Option<String>,
}

/// The payments that wait to be sent, by channel and rank.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queues {
    groups: Vec<QueueGroup>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QueueGroup {
    item_type: String,
    channel: String,
    /// The rank: `urgent`, `interactive`, `scheduled` or `bulk`.
    lane: &'static str,
    waiting: i64,
    /// When the first of them is due, or was.
    #[schema(value_type = Option<String>, format = DateTime)]
    first_due: Option<Timestamp>,
    /// The rate in force; none if nothing limits it.
    #[schema(value_type = Option<f64>)]
    rate_per_s: Option<Rate>,
    /// Whether the channel, or everything, is frozen.
    is_frozen: bool,
    merchants: Vec<QueuedMerchant>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QueuedMerchant {
    merchant_id: String,
    waiting: i64,
    weight: u32,
    #[schema(value_type = String, format = DateTime)]
    first_due: Timestamp,
    is_frozen: bool,
    /// Until when a limit of the merchant holds it back.
    #[schema(value_type = Option<String>, format = DateTime)]
    parked_until: Option<Timestamp>,
}

/// List the queues of payments that wait to be sent. Nothing is counted for it: the figures are kept.
#[utoipa::path(get, path = "/v1/dispatch/queue", tag = "dispatch", params(QueueParams), responses((status = 200, body = Queues)))]
pub(super) async fn queue(
    State(app): State<App>,
    Query(params): Query<QueueParams>,
) -> Result<Reply<Queues>, Problem> {
    let (queues, control) = app
        .0
        .readers
        .read(async |store| Ok((store.queues().await?, store.control().await?)))
        .await?;
    let is_wanted = |(key, _): &(QueueKey, Queue)| {
        let (kind, channel) = group_parts(&key.group).unwrap_or_default();
        params.item_type.as_ref().is_none_or(|wanted| wanted == kind)
            && params.channel.as_ref().is_none_or(|wanted| wanted == channel)
            && params.merchant_id.as_ref().is_none_or(|wanted| *wanted == key.merchant)
    };
    let mut by_group: BTreeMap<(String, Rank), Vec<(QueueKey, Queue)>> = BTreeMap::new();
    for row in queues.into_iter().filter(is_wanted) {
        by_group.entry((row.0.group.clone(), row.0.rank)).or_default().push(row);
    }
    let mut groups = Vec::new();
    for ((group, rank), rows) in by_group {
        let Some((kind, channel)) = group_parts(&group) else { continue };
        let (_, record) = settings_of(&app, (kind, channel)).await?;
        let id = dispatch_id(kind, channel);
        let in_force = bursar_core::dispatch::settings(&app.0.rules, &id, record.as_ref());
        let pace = in_force.and_then(|settings| settings.config(1).pace);
        let merchants = rows.iter().map(|(key, queue)| QueuedMerchant {
            merchant_id: key.merchant.clone(),
            waiting: queue.waiting,
            weight: queue.weight,
            first_due: queue.first.0,
            is_frozen: control.is_frozen(channel, &key.merchant),
            parked_until: queue.parked_until,
        });
        groups.push(QueueGroup {
            item_type: kind.to_owned(),
            channel: channel.to_owned(),
            lane: rank.name(),
            waiting: rows.iter().map(|(_, queue)| queue.waiting).sum(),
            first_due: rows.iter().map(|(_, queue)| queue.first.0).min(),
            rate_per_s: pace.map(|pace| pace.rate),
            is_frozen: control.is_frozen(channel, ""),
            merchants: merchants.collect(),
        });
    }
    Ok(Reply(Queues { groups }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditParams {
    item_type: Option<String>,
    channel: Option<String>,
    /// Only cycles that ended at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Only cycles that ended before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// 50 if it is left out.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Cycles {
    data: Vec<CycleView>,
}

/// What was done for a channel in a few seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CycleView {
    item_type: String,
    channel: String,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
    claimed: u64,
    dispatched: u64,
    failed: u64,
    recovered: u64,
    expired: u64,
    #[schema(value_type = Option<f64>)]
    rate_per_s: Option<Rate>,
    /// Why no more was sent: `sending`, `idle`, `rate`, `concurrency`, `closed` or `disabled`.
    reason: String,
}

/// List the cycles of dispatch, latest first.
#[utoipa::path(get, path = "/v1/dispatch/audit", tag = "dispatch", params(AuditParams),
    responses((status = 200, body = Cycles), (status = 400, body = Problem)))]
pub(super) async fn audit(
    State(app): State<App>,
    Query(params): Query<AuditParams>,
) -> Result<Reply<Cycles>, Problem> {
    let AuditParams { item_type, channel, from, before, limit } = params;
    let filter = CycleFilter { kind: item_type, channel, from, before };
    let limit = lists::limit(limit)?;
    let rows = app.0.readers.read(async move |store| store.cycles(&filter, limit).await).await?;
    let view = |CycleRow { kind, channel, cycle, until, rate }: CycleRow| CycleView {
        item_type: kind,
        channel,
        since: cycle.since,
        until,
        claimed: cycle.claimed,
        dispatched: cycle.dispatched,
        failed: cycle.failed,
        recovered: cycle.recovered,
        expired: cycle.expired,
        rate_per_s: rate,
        reason: cycle.reason,
    };
    Ok(Reply(Cycles { data: rows.into_iter().map(view).collect() }))
}

/// Say why a payment waits, in one sentence and its parts.
#[utoipa::path(get, path = "/v1/dispatch/why/{id}", tag = "dispatch", params(("id" = String, Path)),
    responses((status = 200, body = Why), (status = 404, body = Problem)))]
pub(super) async fn why(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Why>, Problem> {
    let flow = app.find_flow::<bursar_core::payouts::Payout>(&caller, &id).await?;
    let channel = flow.state.channel().unwrap_or_default().to_owned();
    let (_, record) = settings_of(&app, (PAYOUT, &channel)).await?;
    let group = queue_group(PAYOUT, &channel);
    let (queues, control) = app
        .0
        .readers
        .read(async |store| Ok((store.queues().await?, store.control().await?)))
        .await?;
    let queues = queues.into_iter().filter(|(key, _)| key.group == group).collect();
    let concurrency = app.0.rules.channels.get(&channel).map_or(1, |it| it.concurrency);
    let id = dispatch_id(PAYOUT, &channel);
    let settings = bursar_core::dispatch::settings(&app.0.rules, &id, record.as_ref());
    let config = settings.map(|settings| settings.config(concurrency));
    let now = app.0.host.now();
    Ok(Reply(dispatch_why::explain(&flow, &dispatch_why::Known { now, control, queues, config })))
}
