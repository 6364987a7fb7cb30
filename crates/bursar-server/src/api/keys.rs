//! Keys: shown once, kept as digests, revoked at once.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::registry::{self, Change, Content, Kind, Record, Registration, hexadecimal};
use bursar_core::request::Body;
use bursar_store::Browse as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::pages::{Listed, Page};
use crate::App;
use crate::auth::{Caller, key_digest};
use crate::extract::{Json, Query};
use crate::problem::Problem;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    /// Who will use it, as the audit will name them.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    role: Role,
    /// The only merchant that it can see; for the role `merchant`, and for no other.
    merchant_id: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMerchantKey {
    /// Who will use it, as the audit will name them.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    Merchant,
    Operator,
    Approver,
    Admin,
}

impl From<Role> for registry::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Merchant => Self::Merchant,
            Role::Operator => Self::Operator,
            Role::Approver => Self::Approver,
            Role::Admin => Self::Admin,
        }
    }
}

impl From<registry::Role> for Role {
    fn from(role: registry::Role) -> Self {
        match role {
            registry::Role::Merchant => Self::Merchant,
            registry::Role::Operator => Self::Operator,
            registry::Role::Approver => Self::Approver,
            registry::Role::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Key {
    id: String,
    name: String,
    role: Role,
    merchant_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
}

/// A key that was just made. This is the only time that it is shown.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct IssuedKey {
    #[serde(flatten)]
    about: Key,
    /// Keep it: it cannot be shown again.
    key: String,
}

impl Key {
    fn new(record: Record) -> Result<Self, Problem> {
        let Content::ApiKey(key) = record.content else {
            return Err(Problem::not_found("this id"));
        };
        Ok(Self {
            id: record.id,
            name: key.name,
            role: key.role.into(),
            merchant_id: key.merchant,
            created_at: record.created_at,
            revoked_at: key.revoked_at,
        })
    }
}

type Issued = (StatusCode, Reply<IssuedKey>);

/// Make a key.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = IssuedKey), (status = 422, body = Problem)))]
pub(super) async fn issue(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewKey>,
) -> Result<Issued, Problem> {
    make(&app, caller, new).await
}

/// Make a key for a merchant.
#[utoipa::path(post, path = "/v1/merchants/{id}/keys", tag = "keys", params(("id" = String, Path)), request_body = NewMerchantKey,
    responses((status = 201, body = IssuedKey), (status = 422, body = Problem)))]
pub(super) async fn issue_for_merchant(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(new): Json<NewMerchantKey>,
) -> Result<Issued, Problem> {
    let new = NewKey { name: new.name, role: Role::Merchant, merchant_id: Some(id) };
    make(&app, caller, new).await
}

async fn make(app: &App, caller: Caller, new: NewKey) -> Result<Issued, Problem> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)
        .map_err(|_| Problem::internal("this machine gives no randomness: no key was made"))?;
    let key = format!("bk_{}", hexadecimal(&bytes));
    let change = Change::IssueKey {
        name: new.name,
        role: new.role.into(),
        merchant: new.merchant_id,
        digest: key_digest(&key),
    };
    let registration = Registration { actor: caller.actor, change };
    let (record, _) = app.ask_record(Body::Register(registration)).await?;
    Ok((StatusCode::CREATED, Reply(IssuedKey { about: Key::new(record)?, key })))
}

/// All keys, also those that were revoked.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", params(Page),
    responses((status = 200, body = Listed<Key>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Key>>, Problem> {
    keys(&app, page, None).await
}

/// The keys of a merchant.
#[utoipa::path(get, path = "/v1/merchants/{id}/keys", tag = "keys", params(("id" = String, Path), Page),
    responses((status = 200, body = Listed<Key>), (status = 400, body = Problem)))]
pub(super) async fn list_of_merchant(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Key>>, Problem> {
    keys(&app, page, Some(id)).await
}

async fn keys(
    app: &App,
    page: Page,
    merchant: Option<String>,
) -> Result<Reply<Listed<Key>>, Problem> {
    let limit = page.limit()?;
    let found = app.0.readers.read(async move |store| {
        Ok(store
            .records(Kind::ApiKey, merchant.as_deref(), page.cursor.as_deref(), limit)
            .await?
            .records)
    });
    let keys = found.await?.into_iter().map(Key::new).collect::<Result<_, _>>()?;
    Ok(Reply(Listed::full(keys, limit, |key| key.id.clone())))
}

/// Revoke a key. It opens nothing any more here, and within a second in other processes.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(("id" = String, Path)),
    responses((status = 200, body = Key), (status = 404, body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Key>, Problem> {
    let registration = Registration { actor: caller.actor, change: Change::RevokeKey { id } };
    let (record, _) = app.ask_record(Body::Register(registration)).await?;
    app.0.keys.forget(&record.id);
    Ok(Reply(Key::new(record)?))
}
