//! Bursar over HTTP.
//!
//! A request is authenticated (`auth`), allowed by one table (`access`), read, and handed to whoever decides (`port`);
//! the answer becomes JSON, a refusal becomes a problem (`problem`). What is only looked at is read beside the engine
//! (`readers`). `api` has one file for each resource, and the `OpenAPI` document is made from the same functions.

#![expect(unused_qualifications, reason = "the macro that describes the operations writes them")]

mod access;
mod alerts;
mod api;
mod auth;
mod docs;
mod extract;
mod metrics;
mod port;
mod problem;
mod readers;
mod requests;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::routing::get;
use bursar_connect::{ErrorMap, Secret};
use bursar_core::money::Currency;
use bursar_core::rules::Rules;
use bursar_store::Location;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;

use auth::Keys;
use metrics::Metrics;
use readers::Readers;

pub use access::{Access, access, access_table};
pub use alerts::{AlertLimits, watch};
pub use auth::key_digest;
pub use port::{ChannelNumbers, DeliveryNumbers, Numbers, Submit, Submitted, Unanswered};
pub use webhooks::WebhookSettings;

/// What the operator of this process has configured.
#[derive(Clone)]
pub struct Settings {
    /// SHA-256 of the key that opens everything before there are other keys.
    pub admin_key: Option<[u8; 32]>,
    /// Requests a second that one key may make, in this process.
    pub rate_limit_per_s: u32,
    /// The channels and providers that may tell us something.
    pub callbacks: BTreeMap<String, CallbackSettings>,
    pub alerts: AlertLimits,
    /// Whether the clock may be moved by hand.
    pub has_test_clock: bool,
    pub webhooks: WebhookSettings,
}

/// How a channel or a provider tells us something.
#[derive(Debug, Clone)]
pub struct CallbackSettings {
    /// What it signs with.
    pub secret: Secret,
    /// What its error codes mean.
    pub errors: ErrorMap,
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("rate_limit_per_s", &self.rate_limit_per_s)
            .field("has_test_clock", &self.has_test_clock)
            .finish_non_exhaustive()
    }
}

/// What every handler needs.
#[derive(Debug, Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    submit: Arc<dyn Submit>,
    readers: Readers,
    rules: Arc<Rules>,
    settings: Settings,
    keys: Keys,
    metrics: Metrics,
    /// All there are.
    currencies: Vec<Currency>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl App {
    pub fn new(
        submit: Arc<dyn Submit>,
        location: Location,
        rules: Arc<Rules>,
        settings: Settings,
    ) -> Self {
        let keys = Keys::new(settings.admin_key, settings.rate_limit_per_s);
        let (readers, metrics) = (Readers::new(location), Metrics::default());
        let currencies = currencies().collect();
        Self(Arc::new(Inner { submit, readers, rules, settings, keys, metrics, currencies }))
    }
}

/// Of all codes of three letters, those that are currencies.
fn currencies() -> impl Iterator<Item = Currency> {
    let letters = || 'A'..='Z';
    let pairs = letters().flat_map(move |first| letters().map(move |second| (first, second)));
    let codes = pairs.flat_map(move |(first, second)| {
        letters().map(move |third| String::from_iter([first, second, third]))
    });
    codes.filter_map(|code| code.parse().ok())
}

/// Bodies that are larger are refused before they are read.
const BODY_MAX: usize = 256 * 1_024;

/// What a process without an API shows to whoever watches it.
pub fn probes(app: &App) -> Router {
    Router::new()
        .route("/healthz", get(api::health::healthz))
        .route("/readyz", get(api::health::readyz))
        .route("/metrics", get(metrics::text))
        .with_state(app.clone())
}

/// Everything that is served.
pub fn router(app: &App) -> Router {
    let (api, mut document) = OpenApiRouter::with_openapi(docs::Document::openapi())
        .merge(api::routes(app.0.settings.has_test_clock))
        .split_for_parts();
    docs::complete(&mut document);
    let document = Arc::new(document);
    let page = Arc::clone(&document);
    api.route("/openapi.json", get(async move || docs::json(&document)))
        .route("/docs", get(async move || docs::page(&page)))
        .route("/metrics", get(metrics::text))
        .route_layer(from_fn_with_state(app.clone(), auth::admit))
        .fallback(async || problem::Problem::not_found("this path"))
        .method_not_allowed_fallback(async || problem::Problem::method_not_allowed())
        .layer(map_response(problem::tidy))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(from_fn(extract::without_nul))
        .layer(from_fn_with_state(app.clone(), requests::log))
        .with_state(app.clone())
}
