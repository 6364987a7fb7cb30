//! What went wrong, as RFC 9457 has it: every refusal with a stable code, what it means for the money, and what to do.

use axum::Json;
use axum::body::{HttpBody as _, to_bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bursar_core::rejection::Rejection;
use bursar_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::port::Unanswered;

/// A problem (RFC 9457). Programs look at `code`, people read `detail`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    /// Stable; for programs.
    code: &'static str,
    /// What happened, what it means for the money, and what to do next.
    detail: String,
}

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:bursar:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            code,
            detail: detail.into(),
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        let detail =
            format!("there is nothing at {what}: nothing was changed. Check the path and the id");
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let detail = "this path does not take this method: nothing was changed. See /docs";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    pub(crate) fn too_many(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
    }

    /// Said no, and would say no again: nothing is wrong with the server.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.status < 500 && self.status != 429
    }

    fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let media_type = HeaderValue::from_static(MEDIA_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        let wait = match status {
            StatusCode::TOO_MANY_REQUESTS => Some("1"),
            StatusCode::SERVICE_UNAVAILABLE => Some("2"),
            _ => None,
        };
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(wait) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(wait));
        }
        response
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        let (status, code) = (status(&rejection), rejection.code());
        Self::new(status, code, rejection.to_string())
    }
}

impl From<Unanswered> for Problem {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Busy => Self::too_many(
                "too much waits already: nothing was done. Try again in a moment, with the same key",
            ),
            Unanswered::Stopping => Self::unavailable(
                "this process is stopping: nothing was done. Try again with the same key",
            ),
            Unanswered::NotSaved(reason) => {
                // Words of the database may hold more than a caller should know.
                tracing::error!(reason, "a turn was not saved");
                Self::unavailable(
                    "it could not be saved, or nobody knows whether it was. Ask again with the same key: what was done is answered, and nothing is done twice",
                )
            }
            Unanswered::Failed(reason) => Self::internal(reason),
        }
    }
}

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        // Words of the database may hold more than a caller should know.
        tracing::error!(%error, "the books cannot be read");
        match error {
            StoreError::Corrupt(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "unreadable",
                "it is kept in a form that this version cannot read: nothing was changed. Run the version that wrote it, or look at its row",
            ),
            StoreError::Conflict | StoreError::Unavailable(_) | StoreError::Unknown(_) => {
                Self::unavailable(
                    "the books cannot be read now: nothing was changed. Try again in a moment",
                )
            }
        }
    }
}

/// Every refusal has its place: a new one must be given one.
const fn status(rejection: &Rejection) -> StatusCode {
    match rejection {
        Rejection::BadKey => StatusCode::BAD_REQUEST,
        Rejection::ApproverNeeded { .. } => StatusCode::FORBIDDEN,
        Rejection::UnknownTransaction { .. }
        | Rejection::UnknownFlow { .. }
        | Rejection::UnknownReference { .. }
        | Rejection::UnknownRecord { .. } => StatusCode::NOT_FOUND,
        Rejection::ReferenceReused { .. }
        | Rejection::TakenBack { .. }
        | Rejection::HoldEnded { .. }
        | Rejection::RevertOfRevert { .. }
        | Rejection::BelongsToFlow { .. }
        | Rejection::FlowEnded { .. }
        | Rejection::StaleVersion { .. }
        | Rejection::KeyReused { .. }
        | Rejection::RecordExists { .. }
        | Rejection::NotCancellable { .. }
        | Rejection::NotStuck { .. }
        | Rejection::SecondPersonNeeded { .. }
        | Rejection::TooManyEndpoints { .. }
        | Rejection::CalledOff { .. }
        | Rejection::NoNewAttempt { .. } => StatusCode::CONFLICT,
        Rejection::NotDoubleEntry { .. }
        | Rejection::TemplateFailed { .. }
        | Rejection::Unreadable { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        Rejection::UnknownEvent { .. }
        | Rejection::MissingVariables { .. }
        | Rejection::UnknownVariable { .. }
        | Rejection::BadIdentifier { .. }
        | Rejection::BadReference
        | Rejection::BadCurrency { .. }
        | Rejection::BadAmount { .. }
        | Rejection::NegativeAmount { .. }
        | Rejection::PartsExceedWhole { .. }
        | Rejection::MissingFunds { .. }
        | Rejection::EpochInReference { .. }
        | Rejection::SameCurrency { .. }
        | Rejection::HoldNotFound { .. }
        | Rejection::HoldMismatch { .. }
        | Rejection::HoldOfAnother { .. }
        | Rejection::BalanceTooLarge { .. }
        | Rejection::NothingMoves { .. }
        | Rejection::ExpiresInThePast { .. }
        | Rejection::BadActor
        | Rejection::BadNote { .. }
        | Rejection::UnknownChannel { .. }
        | Rejection::CurrencyOfChannel { .. }
        | Rejection::NothingToPay { .. }
        | Rejection::BadBeneficiary
        | Rejection::UnknownMerchant { .. }
        | Rejection::MerchantClosed { .. }
        | Rejection::BadName
        | Rejection::BadScope
        | Rejection::BadRemarks
        | Rejection::BadEndpoint { .. }
        | Rejection::UnknownMarket { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// What the framework itself refuses (a body that is too large, a path that is not text) is a problem like any other.
pub(crate) async fn tidy(response: Response) -> Response {
    let status = response.status();
    let is_ours = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/"));
    if !(status.is_client_error() || status.is_server_error()) || is_ours {
        return response;
    }
    let is_small = response.body().size_hint().upper().is_some_and(|size| size < 4_096);
    let words = if is_small { to_bytes(response.into_body(), 4_096).await.ok() } else { None };
    let words = words.map(|words| String::from_utf8_lossy(&words).into_owned()).unwrap_or_default();
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        StatusCode::METHOD_NOT_ALLOWED => return Problem::method_not_allowed().into_response(),
        StatusCode::NOT_FOUND => return Problem::not_found("this path").into_response(),
        _ => "bad_request",
    };
    let words = if words.is_empty() { "the request cannot be used".to_owned() } else { words };
    Problem::new(status, code, format!("{words}: nothing was changed. Correct the request"))
        .into_response()
}
