//! Callbacks of channels and providers. Only a signed callback is accepted.

use std::sync::Arc;

use axum::Extension;
use axum::Json as Reply;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bursar_connect::{ErrorMap, callback};
use bursar_core::flow::Accepted;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::Callback;
use bursar_core::registry::{Change, Registration, hexadecimal};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::payins;
use crate::App;
use crate::access::{Access, AccessRow};
use crate::extract::parse;
use crate::http::Connection;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/providers/{provider}/callbacks", Access::Signed),
    ("PUT", "/v1/providers/{provider}/callbacks", Access::Signed),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(post, put))
}

/// The status of the payout after the callback.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallbackReply {
    id: String,
    status: String,
}

/// A provider callback about a pay-in.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ProviderEvent {
    /// The provider's id of this callback; by default, the digest of the body.
    event_id: Option<String>,
    merchant_id: String,
    reference: String,
    amount: String,
    currency: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ProviderStatus)]
pub(super) enum Status {
    Pending,
    Completed,
    Failed,
}

/// Provider callback: from a channel about a payout, or from a provider about a pay-in.
///
/// `X-Signature` is `sha256=` and the HMAC-SHA256 of the body.
#[utoipa::path(post, path = "/v1/providers/{provider}/callbacks", tag = "callbacks",
    params(("provider" = String, Path), ("X-Signature" = String, Header)), request_body = ProviderEvent,
    responses((status = 200, body = CallbackReply), (status = 201), (status = 400, body = Problem), (status = 401, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn post(
    State(app): State<App>,
    Path(provider): Path<String>,
    connection: Option<Extension<Arc<Connection>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    receive(&app, &provider, connection, (&headers, &body)).await
}

/// Provider callback (PUT alias).
#[utoipa::path(put, path = "/v1/providers/{provider}/callbacks", tag = "callbacks",
    params(("provider" = String, Path), ("X-Signature" = String, Header)), request_body = ProviderEvent,
    responses((status = 200, body = CallbackReply), (status = 201), (status = 400, body = Problem), (status = 401, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn put(
    State(app): State<App>,
    Path(provider): Path<String>,
    connection: Option<Extension<Arc<Connection>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    receive(&app, &provider, connection, (&headers, &body)).await
}

async fn receive(
    app: &App,
    provider: &str,
    connection: Option<Extension<Arc<Connection>>>,
    (headers, body): (&HeaderMap, &[u8]),
) -> Result<Response, Problem> {
    let signature = headers.get(callback::SIGNATURE_HEADER).and_then(|value| value.to_str().ok());
    let settings = app.0.settings.callbacks.get(provider);
    // An unknown provider and a wrong signature get the same answer.
    let signed = settings
        .zip(signature)
        .filter(|(settings, signature)| callback::verify(&settings.secret, signature, body));
    let Some((settings, _)) = signed else {
        let detail = "the callback is not signed with this provider's secret: nothing was changed. Sign the raw body, and check that a callback_secret is configured";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_signature", detail));
    };
    if let Some(Extension(connection)) = connection {
        connection.prove();
    }
    if app.0.rules.channels.contains_key(provider) {
        payout_callback(app, provider, &settings.errors, body).await
    } else {
        payin_callback(app, provider, body).await
    }
}

async fn payout_callback(
    app: &App,
    channel: &str,
    errors: &ErrorMap,
    body: &[u8],
) -> Result<Response, Problem> {
    let parsed = callback::parse_with(errors, body).map_err(|error| {
        if matches!(error, callback::BadCallback::Unmapped(_)) {
            app.0.metrics.unmapped_callback(channel);
        }
        Problem::bad_request(error.to_string())
    })?;
    let callback::Callback { reference, evidence } = parsed;
    let callback = Callback { channel: channel.to_owned(), reference, evidence };
    let Accepted { name, status } = app.ask(callback).await?;
    Ok(Reply(CallbackReply { id: name, status: status.to_owned() }).into_response())
}

async fn payin_callback(app: &App, provider: &str, body: &[u8]) -> Result<Response, Problem> {
    let event: ProviderEvent = parse(body)?;
    let payin = NewPayIn {
        key: None,
        actor: None,
        merchant: event.merchant_id,
        provider: provider.to_owned(),
        reference: event.reference,
        currency: event.currency,
        amount: event.amount,
        said: match event.status {
            Status::Pending => ProviderStatus::Pending,
            Status::Completed => ProviderStatus::Completed,
            Status::Failed => ProviderStatus::Failed,
        },
        event: event.event_id.unwrap_or_else(|| hexadecimal(&Sha256::digest(body))),
    };
    let (reference, status) = (payin.reference.clone(), payin.said);
    let taken = payins::take(app, payin).await;
    if let (Err(problem), ProviderStatus::Completed) = (&taken, status) {
        alert_unbooked(app, provider, &reference, problem).await;
    }
    taken
}

/// Raises an alert for a collected pay-in that was rejected: the provider holds money that is not booked.
async fn alert_unbooked(app: &App, provider: &str, reference: &str, problem: &Problem) {
    if !problem.is_refusal() {
        return;
    }
    let detail = format!("{provider} has collected {reference}, which was refused: {problem}");
    let change = Change::SetAlert {
        name: format!("unbooked_payin:{provider}"),
        is_raised: true,
        detail: detail.chars().take(500).collect(),
    };
    let registration = Registration { actor: "bursar".to_owned(), change };
    // If this fails, the provider's next try raises it again.
    drop(app.ask(registration).await);
}
