//! Problem responses (RFC 9457): a stable code, and a detail that says what happened, what it means for the money, and what
//! to do.

use axum::Json;
use axum::body::{HttpBody as _, to_bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bursar_core::rejection::{Class, Rejection};
use bursar_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::port::Unanswered;

/// A problem (RFC 9457): `code` is for programs, `detail` for people.
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
    /// Whether rows of the books cannot be decoded.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.code == UNREADABLE
    }

    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:bursar:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            code,
            detail: detail.into(),
        }
    }

    /// Adds a sentence to the detail.
    pub(crate) fn and(mut self, sentence: &str) -> Self {
        self.detail = format!("{}. {sentence}", self.detail);
        self
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

    /// A rejection that a retry does not change, as opposed to a failure of the server.
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
        let (status, code) = (status(rejection.class()), rejection.code());
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
                // A database message can contain more than a caller may see.
                tracing::error!(reason, "a turn was not saved");
                Self::unavailable(
                    "it could not be saved, or it is unknown whether it was. Ask again with the same key: what was done is answered, and nothing is done twice",
                )
            }
            Unanswered::Failed(reason) => Self::internal(reason),
        }
    }
}

/// The code of a problem about rows that cannot be decoded.
const UNREADABLE: &str = "unreadable";

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        // A database message can contain more than a caller may see.
        tracing::error!(%error, "the books cannot be read");
        match error {
            StoreError::Corrupt(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                UNREADABLE,
                "it is kept in a form that this version cannot read: nothing was changed. Run the version that wrote it, or look at its row",
            ),
            StoreError::Conflict
            | StoreError::Unavailable(_)
            | StoreError::Unknown(_)
            | StoreError::Missing(_)
            | StoreError::Gone(_)
            | StoreError::WentBack(_) => Self::unavailable(
                "the books cannot be read now: nothing was changed. Try again in a moment",
            ),
        }
    }
}

/// The status of a class of rejections.
const fn status(class: Class) -> StatusCode {
    match class {
        Class::Malformed => StatusCode::BAD_REQUEST,
        Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Class::Forbidden => StatusCode::FORBIDDEN,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Turns error responses of the framework (body too large, path not UTF-8) into problems.
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
