//! Request extractors. A body, query or header that cannot be used becomes a problem response.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bursar_core::idempotency::Key;
use serde::de::DeserializeOwned;

use crate::auth::Caller;
use crate::problem::Problem;

/// A JSON body, whatever its media type. Request structs deny unknown fields, so that a misspelt one is not ignored.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|error| unread(&error))?;
        parse(&bytes).map(Self)
    }
}

/// An optional JSON body.
#[derive(Debug)]
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|error| unread(&error))?;
        if bytes.is_empty() { Ok(Self(T::default())) } else { parse(&bytes).map(Self) }
    }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let parsed = serde_json::from_slice(bytes).map_err(|error| {
        Problem::bad_request(format!(
            "the body cannot be read: {error}. Nothing was changed; correct it"
        ))
    })?;
    // serde also reads a struct from an array; the order of fields is no part of the API.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::bad_request(
            "the body is not an object: nothing was changed. Send fields with their names",
        ));
    }
    if has_nul(bytes) { Err(nul()) } else { Ok(parsed) }
}

/// Whether a JSON string contains NUL. PostgreSQL cannot store it.
fn has_nul(mut json: &[u8]) -> bool {
    while let Some(at) = json.iter().position(|byte| *byte == b'\\') {
        let escape = json.get(at..).unwrap_or_default();
        if escape.starts_with(b"\\u0000") {
            return true;
        }
        json = escape.get(2..).unwrap_or_default();
    }
    false
}

fn nul() -> Problem {
    Problem::bad_request("there is a NUL in a text: nothing was changed. Leave it out")
}

/// Rejects a path or a query that contains NUL.
pub(crate) async fn without_nul(request: Request, next: Next) -> Response {
    let uri = request.uri();
    let is_in = |part: &str| part.contains("%00");
    if is_in(uri.path()) || uri.query().is_some_and(is_in) {
        return nul().into_response();
    }
    next.run(request).await
}

/// Rejects a request with two keys: it must not depend on the reader which of them counts.
pub(crate) async fn without_doubled_headers(request: Request, next: Next) -> Response {
    for (name, shown) in
        [(header::AUTHORIZATION.as_str(), "Authorization"), (NAME, "Idempotency-Key")]
    {
        if request.headers().get_all(name).iter().nth(1).is_some() {
            let detail = format!("there are two headers {shown}: nothing was done. Send one");
            return Problem::new(StatusCode::BAD_REQUEST, "doubled_header", detail).into_response();
        }
    }
    next.run(request).await
}

pub(crate) fn unread(error: &BytesRejection) -> Problem {
    let status = match error {
        BytesRejection::FailedToBufferBody(error) => error.status(),
        _ => StatusCode::BAD_REQUEST,
    };
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = "the body is too large: nothing was changed. Send at most 256 KiB";
        return Problem::new(status, "too_large", detail);
    }
    Problem::bad_request("the body did not arrive: nothing was changed. Send it again")
}

/// The query of a URL.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let problem =
            |error| Problem::bad_request(format!("{error}: nothing was read. Correct the query"));
        query.map(|query| Self(query.0)).map_err(problem)
    }
}

/// The `Idempotency-Key` of a request that moves money.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The scope is the merchant of the payout, whichever caller creates it: the same key is the same payout.
    pub(crate) fn of_merchant(self, merchant: &str) -> Key {
        Key::new(format!("merchant:{merchant}"), self.0)
    }

    /// All API keys of a merchant share one scope; so do all staff keys.
    pub(crate) fn of(self, caller: &Caller) -> Key {
        let scope = match &caller.merchant {
            Some(merchant) => format!("merchant:{merchant}"),
            // Part of stored digests: the spelling must not change.
            None => "house".to_owned(),
        };
        Key::new(scope, self.0)
    }
}

const NAME: &str = "idempotency-key";

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = <Self as OptionalFromRequestParts<S>>::from_request_parts(parts, state).await?;
        found.ok_or_else(|| {
            let detail = "the header Idempotency-Key is missing: nothing was done. Send a key of 1 to 255 visible ASCII characters, and the same key again if you repeat the request";
            Problem::new(StatusCode::BAD_REQUEST, "idempotency_key_missing", detail)
        })
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Problem> {
        let Some(value) = parts.headers.get(NAME) else { return Ok(None) };
        let text =
            value.to_str().map_err(|_| Problem::from(bursar_core::rejection::Rejection::BadKey))?;
        Ok(Some(Self(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::has_nul;

    #[test]
    fn a_nul_is_found_and_a_text_about_one_is_not() {
        for json in [r#""\u0000""#, r#"{"a\u0000b":1}"#, r#""\\\u0000""#, r#""\n\u0000""#] {
            assert!(has_nul(json.as_bytes()), "{json}");
        }
        for json in ["", "\\", r#""u0000""#, r#""\\u0000""#, r#""\u0001""#, r#""\\\\u0000""#] {
            assert!(!has_nul(json.as_bytes()), "{json}");
        }
    }
}
