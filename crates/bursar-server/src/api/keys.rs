//! API keys: shown once, stored as digests.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::registry::{
    self, Change, Content, Kind, Record, Registered, Registration, hexadecimal,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, Page};
use crate::App;
use crate::access::{ADMIN, AccessRow};
use crate::auth::{Caller, key_digest};
use crate::extract::{Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/merchants/{id}/keys", ADMIN),
    ("GET", "/v1/merchants/{id}/keys", ADMIN),
    ("POST", "/v1/keys", ADMIN),
    ("GET", "/v1/keys", ADMIN),
    ("DELETE", "/v1/keys/{id}", ADMIN),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(issue_for_merchant, list_of_merchant))
        .routes(routes!(issue, list))
        .routes(routes!(revoke))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    /// The name of the holder, as the audit log shows it.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    role: Role,
    /// The merchant that the key is limited to; required for the role `merchant`, not allowed for others.
    merchant_id: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMerchantKey {
    /// The name of the holder, as the audit log shows it.
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

/// A new key. Only this response contains it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct IssuedKey {
    #[serde(flatten)]
    about: Key,
    /// The key itself. It cannot be retrieved again.
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

/// Create an API key.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = IssuedKey), (status = 422, body = Problem)))]
pub(super) async fn issue(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewKey>,
) -> Result<Issued, Problem> {
    make(&app, caller, new).await
}

/// Create an API key for a merchant.
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
    let Registered { record, .. } = app.ask(registration).await?;
    Ok((StatusCode::CREATED, Reply(IssuedKey { about: Key::new(*record)?, key })))
}

/// List API keys, including revoked ones.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", params(Page),
    responses((status = 200, body = Listed<Key>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Key>>, Problem> {
    app.list_records(Kind::ApiKey, None, page, Key::new).await
}

/// List the API keys of a merchant.
#[utoipa::path(get, path = "/v1/merchants/{id}/keys", tag = "keys", params(("id" = String, Path), Page),
    responses((status = 200, body = Listed<Key>), (status = 400, body = Problem)))]
pub(super) async fn list_of_merchant(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Key>>, Problem> {
    app.list_records(Kind::ApiKey, Some(id), page, Key::new).await
}

/// Revoke an API key.
///
/// Effective at once in this process, and within a second in others.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(("id" = String, Path)),
    responses((status = 200, body = Key), (status = 404, body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Key>, Problem> {
    let registration = Registration { actor: caller.actor, change: Change::RevokeKey { id } };
    let Registered { record, .. } = app.ask(registration).await?;
    app.0.keys.forget(&record.id);
    Ok(Reply(Key::new(*record)?))
}
