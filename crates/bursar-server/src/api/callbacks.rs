//! What channels and providers tell us unasked. Believed only if it is signed.

use axum::Json as Reply;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bursar_connect::{ErrorMap, callback};
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::registry::{Change, Registration, hexadecimal};
use bursar_core::request::{self, Body, Told};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::{payins, unexpected};
use crate::App;
use crate::extract::parse;
use crate::problem::Problem;

/// Where the payout stands now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Noted {
    id: String,
    status: String,
}

/// What a provider says about a pay-in.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ProviderEvent {
    /// The provider's own name for what it says; the digest of the body, if it has none.
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

/// A channel speaks about a payout, a provider about a pay-in. `X-Signature: sha256=` and the HMAC-SHA256 of the body.
#[utoipa::path(post, path = "/v1/providers/{provider}/callbacks", tag = "callbacks",
    params(("provider" = String, Path), ("X-Signature" = String, Header)), request_body = ProviderEvent,
    responses((status = 200, body = Noted), (status = 201), (status = 400, body = Problem), (status = 401, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn post(
    State(app): State<App>,
    Path(provider): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    hear(&app, &provider, &headers, &body).await
}

/// The same, for those who put.
#[utoipa::path(put, path = "/v1/providers/{provider}/callbacks", tag = "callbacks",
    params(("provider" = String, Path), ("X-Signature" = String, Header)), request_body = ProviderEvent,
    responses((status = 200, body = Noted), (status = 201), (status = 400, body = Problem), (status = 401, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn put(
    State(app): State<App>,
    Path(provider): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    hear(&app, &provider, &headers, &body).await
}

async fn hear(
    app: &App,
    provider: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Problem> {
    let signature = headers.get(callback::SIGNATURE_HEADER).and_then(|value| value.to_str().ok());
    let settings = app.0.settings.callbacks.get(provider);
    // Who has no secret and who signs wrongly are told the same.
    let signed = settings
        .zip(signature)
        .filter(|(settings, signature)| callback::verify(&settings.secret, signature, body));
    let Some((settings, _)) = signed else {
        let detail = "the callback is not signed with this provider's secret: nothing was changed. Sign the raw body, and check that a callback_secret is configured";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_signature", detail));
    };
    if app.0.rules.channels.contains_key(provider) {
        tell(app, provider, &settings.errors, body).await
    } else {
        collect(app, provider, body).await
    }
}

/// About a payout.
async fn tell(
    app: &App,
    channel: &str,
    errors: &ErrorMap,
    body: &[u8],
) -> Result<Response, Problem> {
    let told = callback::parse_with(errors, body).map_err(|error| {
        if matches!(error, callback::BadCallback::Unmapped(_)) {
            app.0.metrics.unmapped_callback(channel);
        }
        Problem::bad_request(error.to_string())
    })?;
    let callback::Callback { reference, evidence } = told;
    let told = Told { channel: channel.to_owned(), reference, evidence };
    match app.ask(Body::Tell(told)).await? {
        request::Reply::Noted { name, status } => {
            Ok(Reply(Noted { id: name, status: status.to_owned() }).into_response())
        }
        request::Reply::Posted(_)
        | request::Reply::Flow { .. }
        | request::Reply::Woken(_)
        | request::Reply::Delivering(_)
        | request::Reply::Driven(_)
        | request::Reply::Carried(_)
        | request::Reply::Replayed(_)
        | request::Reply::Registered { .. } => Err(unexpected()),
    }
}

/// About a pay-in.
async fn collect(app: &App, provider: &str, body: &[u8]) -> Result<Response, Problem> {
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
            Status::Pending => Said::Pending,
            Status::Completed => Said::Completed,
            Status::Failed => Said::Failed,
        },
        event: event.event_id.unwrap_or_else(|| hexadecimal(&Sha256::digest(body))),
    };
    let (reference, said) = (payin.reference.clone(), payin.said);
    let taken = payins::take(app, payin).await;
    if let (Err(problem), Said::Completed) = (&taken, said) {
        unbooked(app, provider, &reference, problem).await;
    }
    taken
}

/// A provider has money for somebody, and it is in no book: the provider is told why, and somebody must look.
async fn unbooked(app: &App, provider: &str, reference: &str, problem: &Problem) {
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
    // Not taken, the provider's next try raises it again.
    drop(app.0.submit.ask(Body::Register(registration)).await);
}
