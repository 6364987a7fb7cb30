//! Authentication by API key, and the rate limit of each key.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bursar_core::four_eyes::{BOOTSTRAP, Signature, person_of};
use bursar_core::registry::{ApiKey, Content, Kind, RecordKey, Role, hexadecimal};
use bursar_store::Browse as _;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use sha2::{Digest as _, Sha256};

use crate::access::{Access, access};
use crate::http::{Connection, WrongKeys};
use crate::problem::Problem;
use crate::{App, Settings};

/// The holder of the API key of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// As the audit log shows it.
    pub(crate) actor: String,
    pub(crate) role: Role,
    /// The only merchant that the caller sees; none for staff.
    pub(crate) merchant: Option<String>,
    /// The people who made the key alone.
    pub(crate) made_by: Vec<String>,
    /// The id of the key; none for the admin key of the environment.
    pub(crate) key_id: Option<String>,
}

impl Caller {
    /// Whether this is the admin key of the environment.
    pub(crate) const fn is_bootstrap(&self) -> bool {
        self.key_id.is_none()
    }

    pub(crate) fn is_approver(&self) -> bool {
        self.role.may_approve()
    }

    /// The person behind the key.
    pub(crate) fn person(&self) -> String {
        person_of(&self.actor)
    }

    /// The caller as one of the people under a decision.
    pub(crate) fn signature(&self) -> Signature {
        let (actor, made_by) = (self.actor.clone(), self.made_by.clone());
        Signature { actor, is_approver: self.is_approver(), made_by, key: self.key_id.clone() }
    }

    pub(crate) const fn is_staff(&self) -> bool {
        self.merchant.is_none()
    }

    pub(crate) fn sees(&self, merchant: &str) -> bool {
        self.merchant.as_ref().is_none_or(|own| own == merchant)
    }

    /// Fails for a key of another merchant.
    pub(crate) fn must_be(&self, merchant: &str) -> Result<(), Problem> {
        if self.sees(merchant) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "this key is of another merchant: nothing was done. Use a key of the merchant that you name",
        ))
    }

    /// The merchant to filter by: as asked for by staff, always its own for a merchant key.
    pub(crate) fn narrowed(&self, asked: Option<String>) -> Result<Option<String>, Problem> {
        if let Some(asked) = &asked {
            self.must_be(asked)?;
        }
        Ok(asked.or_else(|| self.merchant.clone()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthenticated)
    }
}

/// The holder of the admin key of the environment.
pub(crate) fn bootstrap() -> Caller {
    let (actor, role) = (BOOTSTRAP.to_owned(), Role::Admin);
    Caller { actor, role, merchant: None, made_by: Vec::new(), key_id: None }
}

pub(crate) struct Keys {
    admin: Option<[u8; 32]>,
    /// The admin key of the environment was used since the watcher last looked.
    is_admin_used: AtomicBool,
    /// Recent lookups. A revoked key is accepted until its entry expires.
    known: Mutex<BTreeMap<[u8; 32], CachedKey>>,
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    wrong: WrongKeys,
}

/// The result of a lookup; no caller for an unknown or revoked key.
#[derive(Clone)]
struct CachedKey {
    since: Instant,
    caller: Option<Caller>,
}

/// How long a lookup stays valid.
const FRESH: Duration = Duration::from_secs(1);
/// The cache is cleared at this size.
const KNOWN_MAX: usize = 10_000;

/// The digest that is stored instead of the key.
pub fn key_digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl Keys {
    pub(crate) fn new(settings: &Settings) -> Self {
        let quota = NonZeroU32::new(settings.rate_limit_per_s).map(Quota::per_second);
        Self {
            admin: settings.admin_key,
            is_admin_used: AtomicBool::new(false),
            known: Mutex::default(),
            limiter: quota.map(RateLimiter::keyed),
            wrong: WrongKeys::new(settings.http.wrong_keys_per_minute),
        }
    }

    /// Whether the admin key of the environment was used since the last call.
    pub(crate) fn take_admin_use(&self) -> bool {
        self.is_admin_used.swap(false, Ordering::Relaxed)
    }

    async fn find(&self, app: &App, key: &str) -> Result<Option<Caller>, Problem> {
        let digest = key_digest(key);
        if self.admin == Some(digest) {
            self.is_admin_used.store(true, Ordering::Relaxed);
            return Ok(Some(bootstrap()));
        }
        if let Some(known) = self.remembered(&digest) {
            return Ok(known.caller);
        }
        let id = ApiKey::id_of(&digest).to_string();
        let record = RecordKey { kind: Kind::ApiKey, id };
        let found = app.0.readers.read(async move |store| store.record(&record).await).await?;
        let caller = found.and_then(|record| match record.content {
            Content::ApiKey(key) if key.digest == hexadecimal(&digest) => holder(&record.id, key),
            Content::ApiKey(_)
            | Content::Merchant(_)
            | Content::Beneficiary(_)
            | Content::Alert(_)
            | Content::Anchor(_)
            | Content::ReportedPayment(_)
            | Content::DispatchSettings(_)
            | Content::DispatchState(_)
            | Content::Endpoint(_) => None,
        });
        self.remember(digest, caller.clone());
        Ok(caller)
    }

    fn remembered(&self, digest: &[u8; 32]) -> Option<CachedKey> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(digest).filter(|cached| cached.since.elapsed() < FRESH).cloned()
    }

    fn remember(&self, digest: [u8; 32], caller: Option<Caller>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(digest, CachedKey { since: Instant::now(), caller });
    }

    /// Drops the cached lookup of a key that has changed.
    pub(crate) fn forget(&self, id: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|digest, _| ApiKey::id_of(digest).to_string() != id);
    }

    fn is_too_often(&self, actor: &String) -> bool {
        self.limiter.as_ref().is_some_and(|limiter| limiter.check_key(actor).is_err())
    }
}

/// The actor contains a part of the id, so that the audit log distinguishes two keys of one name.
pub(crate) fn holder(id: &str, key: ApiKey) -> Option<Caller> {
    if key.revoked_at.is_some() {
        return None;
    }
    let short: String = id.chars().skip("key_".len()).take(12).collect();
    let person: String = key.person.as_ref().unwrap_or(&key.name).chars().take(48).collect();
    Some(Caller {
        actor: format!("{person}/{short}"),
        role: key.role,
        merchant: key.merchant,
        made_by: key.made_by,
        key_id: Some(id.to_owned()),
    })
}

/// Checks the key, its rate limit and its role against the access table.
pub(crate) async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    let roles = match access(request.method(), path) {
        Access::Open | Access::Signed => return next.run(request).await,
        Access::Roles(roles) => roles,
    };
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let key = bearer(&request).map(str::to_owned);
    let found = match &key {
        Some(key) => look_up(&app, key, connection.as_deref()).await,
        None => Ok(None),
    };
    let caller = match found {
        Ok(Some(caller)) => caller,
        Ok(None) => return refused(&app, connection.filter(|_| key.is_some()).as_deref()),
        Err(problem) => return problem.into_response(),
    };
    if app.0.keys.is_too_often(&caller.actor) {
        let detail =
            "this key asks too often: nothing was done. Wait a second, then go on more slowly";
        return Problem::too_many(detail).into_response();
    }
    if !roles.contains(&caller.role) {
        let detail = format!(
            "a key of the role {} may not do this: nothing was done. Use another key",
            caller.role.name()
        );
        return Problem::forbidden(detail).into_response();
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

async fn look_up(
    app: &App,
    key: &str,
    connection: Option<&Connection>,
) -> Result<Option<Caller>, Problem> {
    if let Some(connection) = connection {
        connection.check_key();
    }
    let found = app.0.keys.find(app, key).await;
    if let Some(connection) = connection {
        connection.key_checked(matches!(found, Ok(Some(_))));
    }
    found
}

/// The answer to a missing key, or to a wrong one on this connection. All keys are looked up before, so that valid keys
/// of the same address are not affected by the limit.
fn refused(app: &App, connection: Option<&Connection>) -> Response {
    let Some(wait) = connection.and_then(|it| app.0.keys.wrong.count(it.origin)) else {
        return unauthenticated().into_response();
    };
    let detail = "this address sends too many wrong keys: nothing was done. Wait, then send a key that is in use";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_wrong_keys", detail);
    let mut response = problem.into_response();
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    if let Ok(seconds) = HeaderValue::from_str(&seconds.to_string()) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

fn bearer(request: &Request) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    Some(key.trim()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}

fn unauthenticated() -> Problem {
    let detail = "there is no key, or it opens nothing: nothing was done. Send Authorization: Bearer with a key that is in use";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
}
