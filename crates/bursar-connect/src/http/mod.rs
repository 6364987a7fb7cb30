//! A channel over HTTP, shaped after the GSMA Mobile Money API.
//!
//! A submission is `POST {url}/transactions` and a query `GET {url}/responses/{reference}`; both carry our reference as
//! `X-CorrelationID` and are answered with the state of the transaction: `{"status": "pending" | "completed" | "failed" |
//! "returned", "clientCorrelationId", "transactionReference", "errorReference": {"errorCode", "errorDescription"}}`.
//! A query may also be answered with `{"link": "/transactions/…"}`, below the same URL; it is followed once.
//! An answer should name our reference, in the body or as `X-CorrelationID`: a connection is used again only after an
//! answer that did, so that a late answer is never taken for the answer to the next request.

pub(crate) mod classify;
mod gate;
mod request;
mod target;
pub(crate) mod wire;

use std::time::Duration;

use bursar_core::money::Money;
use bursar_core::payouts::{Answer, Beneficiary, Outcome};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use tokio::time::Instant;

use crate::error_map::ErrorMap;
use crate::guard::Guard;
use crate::secret::Secret;
use classify::{Echo, HttpAnswer};
use request::Requests;
use wire::{Limits, Wire};

pub use request::escape;
pub(crate) use target::client_config_of_any_system;
pub use target::{BadSettings, Roots, Target, Tls};

/// How a channel over HTTP is reached. Only `url` has no default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The base URL: `https://pay.example/mm/v1`.
    pub url: String,
    pub auth: Auth,
    /// From the first attempt to connect to the last byte of the answer.
    pub submit_timeout: Duration,
    pub query_timeout: Duration,
    /// The URL for the provider's callbacks.
    pub callback_url: Option<String>,
    /// The account to debit, if the provider requires it.
    pub debit_party: Option<String>,
    pub error_map: ErrorMap,
    /// Idle connections that are kept; with 0 each call opens its own.
    pub idle_max: usize,
    pub roots: Roots,
}

/// How requests are authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    None,
    /// `Authorization: Bearer <token>`.
    Bearer(Secret),
    /// `X-Key-Id: <key_id>`, `X-Timestamp: <seconds since 1970>` and `X-Signature: sha256=<hex>`: the HMAC-SHA256 of
    /// method, path, timestamp and the SHA-256 of the body in hexadecimal, one on each line, without a last line end.
    Hmac {
        key_id: String,
        secret: Secret,
    },
}

impl HttpSettings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            auth: Auth::None,
            submit_timeout: Duration::from_mins(1),
            query_timeout: Duration::from_secs(5),
            callback_url: None,
            debit_party: None,
            error_map: ErrorMap::default(),
            idle_max: 64,
            roots: Roots::System,
        }
    }
}

#[derive(Debug)]
pub struct HttpChannel {
    requests: Requests,
    wire: Wire,
    errors: ErrorMap,
    submit_timeout: Duration,
    query_timeout: Duration,
}

impl HttpChannel {
    pub fn new(settings: HttpSettings) -> Result<Self, BadSettings> {
        let target = Target::parse(&settings.url)?;
        let tls = target.is_secure.then(|| Tls::new(&target, &settings.roots)).transpose()?;
        let requests = Requests::new(&target, &settings)?;
        Ok(Self {
            requests,
            wire: Wire::new(target, tls, settings.idle_max),
            errors: settings.error_map,
            submit_timeout: settings.submit_timeout,
            query_timeout: settings.query_timeout,
        })
    }

    /// From now on submissions and queries ask the guard before their first byte.
    pub(crate) fn obey(&mut self, guard: &Guard) {
        self.wire.guard = guard.clone();
    }

    /// The meanings of this provider's error codes; its callbacks use the same codes.
    pub const fn error_map(&self) -> &ErrorMap {
        &self.errors
    }

    /// Sends money, once. Not a byte of it after the lease has ended.
    pub(crate) async fn submit(
        &self,
        reference: &str,
        amount: Money,
        beneficiary: &Beneficiary,
        lease: Instant,
    ) -> Outcome {
        let request = match self.requests.submission(reference, amount, beneficiary) {
            Ok(request) => request,
            Err(detail) => return Outcome::NotSent { detail, is_ours: false },
        };
        let limits = limits(self.submit_timeout, lease);
        match self.wire.exchange(request, limits, names(reference)).await {
            Ok(answer) => classify::submission(&self.errors, reference, &answer),
            Err(broken) if broken.was_written => Outcome::Unknown { detail: broken.why },
            Err(broken) => Outcome::NotSent { detail: broken.why, is_ours: broken.is_ours },
        }
    }

    /// Queries the state of a reference.
    pub(crate) async fn query(&self, reference: &str, lease: Instant) -> Answer {
        let asked = self.ask(reference, limits(self.query_timeout, lease)).await;
        asked.unwrap_or_else(|detail| Answer::Failed { detail })
    }

    /// Some providers answer with a link only: then one more request follows it.
    async fn ask(&self, reference: &str, limits: Limits) -> Result<Answer, String> {
        let first = self.exchange(self.requests.query(reference)?, reference, limits).await?;
        let Some(link) = first.link(reference) else {
            return Ok(classify::query(&self.errors, reference, &first));
        };
        let request = self.requests.follow(&link, reference)?;
        let second = self.exchange(request, reference, limits).await?;
        match classify::query(&self.errors, reference, &second) {
            // A provider with a link for it has the transaction.
            Answer::NotFound => Err("the link leads nowhere".to_owned()),
            answer @ (Answer::Paid { .. }
            | Answer::NotPaid { .. }
            | Answer::Pending { .. }
            | Answer::Returned { .. }
            | Answer::Failed { .. }) => Ok(answer),
        }
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        reference: &str,
        limits: Limits,
    ) -> Result<HttpAnswer, String> {
        let answer = self.wire.exchange(request, limits, names(reference)).await;
        answer.map_err(|broken| broken.why)
    }
}

/// The answer must be complete before the lease ends: the host abandons the effect then.
pub(crate) fn limits(timeout: Duration, lease: Instant) -> Limits {
    let until = Instant::now().checked_add(timeout).map_or(lease, |until| until.min(lease));
    Limits { until, lease }
}

/// A connection is kept only after an answer that named our reference.
fn names(reference: &str) -> impl FnOnce(&HttpAnswer) -> bool {
    move |answer| answer.echo_of(reference) == Echo::Ours
}
