//! Endpoints: where a merchant wants to be told. A secret is shown once, when it is made.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::registry::{
    CONCURRENCY, Change, Content, Endpoint, EndpointChange, Kind, PAYLOAD_VERSION, Record,
    RecordKey, Registration, Settings, SettingsPatch, Status,
};
use bursar_core::request::{Body, Mail};
use bursar_store::Browse as _;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::deliveries::{Delivery, replayed};
use super::pages::{Listed, Page};
use crate::App;
use crate::auth::Caller;
use crate::extract::{Json, Optional, Query};
use crate::problem::Problem;
use crate::webhooks::WebhookSettings;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEndpoint {
    merchant_id: String,
    /// Over https, on port 443 or 8443, on the public internet.
    #[schema(example = "https://merchant.example/bursar")]
    url: String,
    /// `*` for all, `payout.*`, or single ones such as `payout.success`.
    #[serde(default = "everything")]
    #[schema(min_items = 1, max_items = 64)]
    event_types: BTreeSet<String>,
    /// The form of what is sent.
    #[schema(example = "2024-01-01")]
    version: Option<String>,
    /// Headers of your own, such as a token. Their values are never shown again.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// How many are sent at the same time.
    #[schema(minimum = 1, maximum = 256, default = 32)]
    concurrency: Option<u32>,
    /// How many may begin in a second, in each process.
    #[schema(minimum = 1, maximum = 10_000)]
    rate_limit_per_s: Option<u32>,
}

/// What is not named stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndpointPatch {
    url: Option<String>,
    #[schema(min_items = 1, max_items = 64)]
    event_types: Option<BTreeSet<String>>,
    version: Option<String>,
    /// All of them: those that are not named are gone.
    headers: Option<BTreeMap<String, String>>,
    #[schema(minimum = 1, maximum = 256)]
    concurrency: Option<u32>,
    /// 0 for no limit.
    #[schema(minimum = 0, maximum = 10_000)]
    rate_limit_per_s: Option<u32>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// For how long the secret before still signs as well; a day if it is not said, 0 for not at all.
    #[schema(minimum = 0, maximum = 604_800, default = 86_400)]
    overlap_s: Option<u32>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    #[schema(max_length = 200)]
    reason: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WebhookEndpoint {
    id: String,
    merchant_id: String,
    url: String,
    event_types: BTreeSet<String>,
    version: String,
    /// The names of its own headers.
    headers: Vec<String>,
    concurrency: u32,
    rate_limit_per_s: Option<u32>,
    /// enabled, disabled or deleted.
    status: &'static str,
    /// Why it is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Since when nothing was taken, if nothing is.
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    /// Until when nothing is sent, because too much has failed in a row.
    #[schema(value_type = Option<String>, format = DateTime)]
    resting_until: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// An endpoint whose secret was just made. This is the only time that it is shown.
#[derive(Serialize, ToSchema)]
pub(super) struct EndpointWithSecret {
    #[serde(flatten)]
    about: WebhookEndpoint,
    /// `whsec_` and base64. Keep it: it cannot be shown again.
    secret: String,
}

fn everything() -> BTreeSet<String> {
    BTreeSet::from(["*".to_owned()])
}

impl WebhookEndpoint {
    fn new(record: Record) -> Result<Self, Problem> {
        let Content::Endpoint(endpoint) = record.content else {
            return Err(Problem::not_found("this id"));
        };
        let Endpoint { merchant, settings, status, health, .. } = *endpoint;
        let name = status.name();
        let reason = match status {
            Status::Disabled { reason, .. } => Some(reason),
            Status::Enabled | Status::Deleted => None,
        };
        Ok(Self {
            id: record.id,
            merchant_id: merchant,
            url: settings.url,
            event_types: settings.event_types,
            version: settings.version,
            headers: settings.header_names,
            concurrency: settings.concurrency,
            rate_limit_per_s: settings.rate_limit,
            status: name,
            reason,
            failing_since: health.failing_since,
            resting_until: health.breaker.map(|breaker| breaker.until),
            created_at: record.created_at,
            updated_at: record.updated_at,
        })
    }
}

/// Add an endpoint. Nothing is sent to it until something happens.
#[utoipa::path(post, path = "/v1/webhook-endpoints", tag = "webhook endpoints", request_body = NewEndpoint,
    responses((status = 201, body = EndpointWithSecret), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewEndpoint>,
) -> Result<(StatusCode, Reply<EndpointWithSecret>), Problem> {
    caller.must_be(&new.merchant_id)?;
    let webhooks = &app.0.settings.webhooks;
    webhooks.vet(&new.url).await?;
    let seed = Seed::new(WebhookSettings::random()?);
    let id = EndpointId::new(app.0.submit.now(), &seed, 0);
    let (secret, sealed) = webhooks.new_secret(id)?;
    let (header_names, headers) = webhooks.seal_headers(id, &new.headers)?;
    let settings = Settings {
        url: new.url,
        event_types: new.event_types,
        version: new.version.unwrap_or_else(|| PAYLOAD_VERSION.to_owned()),
        header_names,
        headers,
        concurrency: new.concurrency.unwrap_or(CONCURRENCY),
        rate_limit: new.rate_limit_per_s,
    };
    let change = EndpointChange::Add { settings, secret: sealed };
    let about = app.change_endpoint(caller, id, new.merchant_id, change).await?;
    Ok((StatusCode::CREATED, Reply(EndpointWithSecret { about, secret })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// Endpoints, newest first, also those that were deleted.
#[utoipa::path(get, path = "/v1/webhook-endpoints", tag = "webhook endpoints", params(Filter),
    responses((status = 200, body = Listed<WebhookEndpoint>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<WebhookEndpoint>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    let page = Page { cursor: filter.cursor, limit: filter.limit };
    let limit = page.limit()?;
    let found = app.0.readers.read(async move |store| {
        Ok(store
            .records(Kind::Endpoint, merchant.as_deref(), page.cursor.as_deref(), limit)
            .await?
            .records)
    });
    let found: Vec<_> =
        found.await?.into_iter().map(WebhookEndpoint::new).collect::<Result<_, _>>()?;
    Ok(Reply(Listed::full(found, limit, |endpoint| endpoint.id.clone())))
}

/// Whoever may not see an endpoint is told that there is none.
pub(super) async fn find(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<(EndpointId, Record), Problem> {
    let unknown = || Problem::not_found("this id");
    let id: EndpointId = id.parse().map_err(|_| unknown())?;
    let key = RecordKey::endpoint(id);
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    let found = found.filter(|record| caller.sees(record.merchant()));
    Ok((id, found.ok_or_else(unknown)?))
}

/// One endpoint, and how it is doing.
#[utoipa::path(get, path = "/v1/webhook-endpoints/{id}", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    let (_, record) = find(&app, &caller, &id).await?;
    Ok(Reply(WebhookEndpoint::new(record)?))
}

/// Change an endpoint. What waits to be sent goes where it points now.
#[utoipa::path(patch, path = "/v1/webhook-endpoints/{id}", tag = "webhook endpoints", params(("id" = String, Path)), request_body = EndpointPatch,
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(patch): Json<EndpointPatch>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    let (id, record) = find(&app, &caller, &id).await?;
    let merchant = record.merchant().to_owned();
    let webhooks = &app.0.settings.webhooks;
    if let Some(url) = &patch.url {
        webhooks.vet(url).await?;
    }
    let headers = patch.headers.as_ref().map(|headers| webhooks.seal_headers(id, headers));
    let change = EndpointChange::Alter(Box::new(SettingsPatch {
        url: patch.url,
        event_types: patch.event_types,
        version: patch.version,
        headers: headers.transpose()?,
        concurrency: patch.concurrency,
        rate_limit: patch.rate_limit_per_s,
    }));
    Ok(Reply(app.change_endpoint(caller, id, merchant, change).await?))
}

/// Delete an endpoint. What waits to be sent to it is cancelled; its secrets are gone.
#[utoipa::path(delete, path = "/v1/webhook-endpoints/{id}", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    app.switch_endpoint(caller, &id, EndpointChange::Delete).await
}

/// Send to it again. What was cancelled meanwhile is sent only if somebody asks for it.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/enable", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn enable(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    app.switch_endpoint(caller, &id, EndpointChange::Enable).await
}

/// Send nothing to it. What waits is cancelled; what is under way comes to its end.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/disable", tag = "webhook endpoints", params(("id" = String, Path)), request_body = Option<Reason>,
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn disable(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Optional(Reason { reason }): Optional<Reason>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    let reason = reason.unwrap_or_else(|| "by hand".to_owned());
    if reason.chars().count() > 200 {
        return Err(Problem::bad_request(
            "a reason has at most 200 characters: nothing was changed. Shorten it",
        ));
    }
    app.switch_endpoint(caller, &id, EndpointChange::Disable { reason }).await
}

/// Make a new secret. The one before signs as well until the overlap has passed.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/rotate-secret", tag = "webhook endpoints", params(("id" = String, Path)), request_body = Option<Rotation>,
    responses((status = 200, body = EndpointWithSecret), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn rotate(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Optional(rotation): Optional<Rotation>,
) -> Result<Reply<EndpointWithSecret>, Problem> {
    let (id, record) = find(&app, &caller, &id).await?;
    let (secret, sealed) = app.0.settings.webhooks.new_secret(id)?;
    let overlap = rotation.overlap_s.unwrap_or(24 * 60 * 60);
    let overlap = SignedDuration::from_secs(overlap.into());
    let change = EndpointChange::Rotate { secret: sealed, overlap };
    let merchant = record.merchant().to_owned();
    let about = app.change_endpoint(caller, id, merchant, change).await?;
    Ok(Reply(EndpointWithSecret { about, secret }))
}

/// Send an event that says only that somebody wanted to see one.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/test", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 202, body = Delivery), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn test(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Reply<Delivery>), Problem> {
    let (endpoint, _) = find(&app, &caller, &id).await?;
    let body = Body::Mail(Mail::Test { actor: caller.actor, endpoint });
    let sent = replayed(app.ask(body).await?)?;
    let sent = sent.into_iter().next().ok_or_else(super::unexpected)?;
    Ok((StatusCode::ACCEPTED, Reply(sent)))
}

impl App {
    async fn change_endpoint(
        &self,
        caller: Caller,
        id: EndpointId,
        merchant: String,
        change: EndpointChange,
    ) -> Result<WebhookEndpoint, Problem> {
        let change = Change::Endpoint { id, merchant, change };
        let registration = Registration { actor: caller.actor, change };
        let (record, _) = self.ask_record(Body::Register(registration)).await?;
        WebhookEndpoint::new(record)
    }

    async fn switch_endpoint(
        &self,
        caller: Caller,
        id: &str,
        change: EndpointChange,
    ) -> Result<Reply<WebhookEndpoint>, Problem> {
        let (id, record) = find(self, &caller, id).await?;
        let merchant = record.merchant().to_owned();
        Ok(Reply(self.change_endpoint(caller, id, merchant, change).await?))
    }
}
