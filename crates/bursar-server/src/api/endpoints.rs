//! Webhook endpoints of merchants. A signing secret is shown once, when it is created.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::registry::{Change, Content, Kind, Record, RecordKey, Registered, Registration};
use bursar_core::webhooks::{
    CONCURRENCY, Endpoint, EndpointChange, PAYLOAD_VERSION, Settings, SettingsPatch, Status, Test,
};
use bursar_store::Browse as _;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deliveries::Delivery;
use super::lists::{Listed, MerchantFilter, Page};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, PAYERS};
use crate::auth::Caller;
use crate::extract::{Json, Optional, Query};
use crate::problem::Problem;
use crate::webhooks::WebhookSettings;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/webhook-endpoints", PAYERS),
    ("GET", "/v1/webhook-endpoints", EVERY_ROLE),
    ("GET", "/v1/webhook-endpoints/{id}", EVERY_ROLE),
    ("PATCH", "/v1/webhook-endpoints/{id}", PAYERS),
    ("DELETE", "/v1/webhook-endpoints/{id}", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/enable", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/disable", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/rotate-secret", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/test", PAYERS),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change, delete))
        .routes(routes!(enable))
        .routes(routes!(disable))
        .routes(routes!(rotate))
        .routes(routes!(test))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEndpoint {
    merchant_id: String,
    /// Over https, on port 443 or 8443, on the public internet.
    #[schema(example = "https://merchant.example/bursar")]
    url: String,
    /// `*` for all, `payout.*`, or single ones such as `payout.success`.
    #[serde(default = "all_event_types")]
    #[schema(min_items = 1, max_items = 64)]
    event_types: BTreeSet<String>,
    /// The version of the payload format.
    #[schema(example = "2024-01-01")]
    version: Option<String>,
    /// Additional request headers, such as a token. Their values cannot be retrieved.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The maximum number of concurrent requests.
    #[schema(minimum = 1, maximum = 256, default = 32)]
    concurrency: Option<u32>,
    /// The maximum number of requests per second, for each process.
    #[schema(minimum = 1, maximum = 10_000)]
    rate_limit_per_s: Option<u32>,
}

/// A change of an endpoint. Absent fields are not changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndpointPatch {
    url: Option<String>,
    #[schema(min_items = 1, max_items = 64)]
    event_types: Option<BTreeSet<String>>,
    version: Option<String>,
    /// Replaces all headers.
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
    /// Seconds for which the previous secret still signs as well; 0 for none.
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
    /// The names of the additional headers.
    headers: Vec<String>,
    concurrency: u32,
    rate_limit_per_s: Option<u32>,
    /// enabled, disabled or deleted.
    status: &'static str,
    /// The reason why it is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The time of the first failure since the last success.
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    /// The circuit breaker is open until this time: nothing is sent.
    #[schema(value_type = Option<String>, format = DateTime)]
    resting_until: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// An endpoint with its new secret. Only this response contains the secret.
#[derive(Serialize, ToSchema)]
pub(super) struct EndpointWithSecret {
    #[serde(flatten)]
    about: WebhookEndpoint,
    /// `whsec_` and base64. It cannot be retrieved again.
    secret: String,
}

fn all_event_types() -> BTreeSet<String> {
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

/// Create a webhook endpoint.
///
/// It receives the events that happen from now on.
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
    let id = EndpointId::new(app.0.host.now(), &seed, 0);
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

/// List webhook endpoints, newest first, including deleted ones.
#[utoipa::path(get, path = "/v1/webhook-endpoints", tag = "webhook endpoints", params(MerchantFilter, Page),
    responses((status = 200, body = Listed<WebhookEndpoint>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<MerchantFilter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<WebhookEndpoint>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    app.list_records(Kind::Endpoint, merchant, page, WebhookEndpoint::new).await
}

/// An endpoint that the caller may not see is not found.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<(EndpointId, Record), Problem> {
    let unknown = || Problem::not_found("this id");
    let id: EndpointId = id.parse().map_err(|_| unknown())?;
    let key = RecordKey::endpoint(id);
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    let found = found.filter(|record| caller.sees(record.merchant()));
    Ok((id, found.ok_or_else(unknown)?))
}

/// Get a webhook endpoint and its health.
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

/// Change a webhook endpoint.
///
/// Pending deliveries use the new settings.
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

/// Delete a webhook endpoint.
///
/// Its pending deliveries are cancelled and its secrets are erased.
#[utoipa::path(delete, path = "/v1/webhook-endpoints/{id}", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    app.switch_endpoint(caller, &id, EndpointChange::Delete).await
}

/// Enable a webhook endpoint.
///
/// Deliveries that were cancelled meanwhile are sent only if they are replayed.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/enable", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 200, body = WebhookEndpoint), (status = 404, body = Problem)))]
pub(super) async fn enable(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<WebhookEndpoint>, Problem> {
    app.switch_endpoint(caller, &id, EndpointChange::Enable).await
}

/// Disable a webhook endpoint.
///
/// Its pending deliveries are cancelled; attempts in flight are completed.
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

/// Rotate the signing secret.
///
/// The previous secret signs as well until the overlap ends.
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

/// Send a `webhook.test` event.
#[utoipa::path(post, path = "/v1/webhook-endpoints/{id}/test", tag = "webhook endpoints", params(("id" = String, Path)),
    responses((status = 202, body = Delivery), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn test(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Reply<Delivery>), Problem> {
    let (endpoint, _) = find(&app, &caller, &id).await?;
    let sent = app.ask(Test { actor: caller.actor, endpoint }).await?;
    Ok((StatusCode::ACCEPTED, Reply(Delivery::one(sent)?)))
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
        let Registered { record, .. } = self.ask(registration).await?;
        WebhookEndpoint::new(*record)
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
