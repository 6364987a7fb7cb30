//! API keys: shown once, stored as digests.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bursar_core::four_eyes::person_named;
use bursar_core::registry::{
    self, Change, Content, Kind, Record, Registered, Registration, hexadecimal,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::approvals::{Asked, Proposal, Proposed};
use super::lists::{Listed, Page};
use crate::App;
use crate::access::{ADMIN, AccessRow};
use crate::auth::{Caller, key_digest};
use crate::extract::{Json, Query};
use crate::problem::Problem;
use crate::staff::Staff;

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
    /// The person behind the key, for staff; `name` if it is absent. Two keys of one person are one person. Plain ASCII, such
    /// as a login or an e-mail address.
    #[schema(min_length = 1, max_length = 48)]
    person: Option<String>,
    /// Why the key is made, for the person who approves it.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
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
    /// The person behind the key.
    person: String,
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
            person: key.person(),
            name: key.name,
            role: key.role.into(),
            merchant_id: key.merchant,
            created_at: record.created_at,
            revoked_at: key.revoked_at,
        })
    }
}

/// A key that works when a second person approves it. Only this response contains it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProposedKey {
    #[serde(flatten)]
    proposed: Proposed,
    /// The key itself. It cannot be retrieved again.
    key: String,
}

/// Create an API key.
///
/// A key that may approve (admin, approver) is only proposed: 202, and it works when a second person approves it. Until there
/// were two people who may approve, one of them an admin, the admin key of the environment makes the first keys alone.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = IssuedKey), (status = 202, body = ProposedKey), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn issue(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewKey>,
) -> Result<Response, Problem> {
    make(&app, caller, new).await
}

/// Create an API key for a merchant.
///
/// 202 if the configuration asks for two people. A payout above the limit that is made with a key of one person needs an
/// approval.
#[utoipa::path(post, path = "/v1/merchants/{id}/keys", tag = "keys", params(("id" = String, Path)), request_body = NewMerchantKey,
    responses((status = 201, body = IssuedKey), (status = 202, body = ProposedKey), (status = 422, body = Problem)))]
pub(super) async fn issue_for_merchant(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(new): Json<NewMerchantKey>,
) -> Result<Response, Problem> {
    let (name, role, merchant_id) = (new.name, Role::Merchant, Some(id));
    let new = NewKey { name, role, person: None, reason: String::new(), merchant_id };
    make(&app, caller, new).await
}

async fn make(app: &App, caller: Caller, new: NewKey) -> Result<Response, Problem> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)
        .map_err(|_| Problem::internal("this machine gives no randomness: no key was made"))?;
    let key = format!("bk_{}", hexadecimal(&bytes));
    let role = registry::Role::from(new.role);
    let person = new.person.unwrap_or_else(|| new.name.clone());
    let is_setup = role.may_approve() && caller.is_bootstrap() && {
        let staff = Staff::read(app).await?;
        !staff.is_set_up() && !staff.has_key(&person_named(&person))
    };
    let mut made_by = vec![caller.person()];
    made_by.extend(caller.made_by.iter().take(MAKERS_MAX).cloned());
    let change = Change::IssueKey {
        name: new.name,
        person,
        role,
        merchant: new.merchant_id,
        digest: key_digest(&key),
        made_by,
        is_setup,
    };
    let registration = Registration { actor: caller.actor.clone(), change };
    let proposal = Proposal { reason: new.reason, break_glass: false };
    match app.ask_or_propose(&caller, registration, proposal).await? {
        Asked::Done(Registered { record, .. }) => {
            let issued = IssuedKey { about: Key::new(*record)?, key };
            Ok((StatusCode::CREATED, Reply(issued)).into_response())
        }
        Asked::Proposed(view) => {
            let proposed = ProposedKey { proposed: Proposed::new(*view, &caller), key };
            Ok((StatusCode::ACCEPTED, Reply(proposed)).into_response())
        }
    }
}

/// A key remembers its creator and the creator of the creator's key.
const MAKERS_MAX: usize = 1;

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
/// Effective at once in this process, and within a second in others. The key of another person that may approve is revoked
/// when a second person approves it (202), or at once with `break_glass`, and the approval is given afterwards.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(("id" = String, Path), Revocation),
    responses((status = 200, body = Key), (status = 202, body = Proposed), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(Revocation { reason, break_glass }): Query<Revocation>,
) -> Result<Response, Problem> {
    let change = Change::RevokeKey { id: id.clone() };
    let registration = Registration { actor: caller.actor.clone(), change };
    let proposal = Proposal { reason: reason.unwrap_or_default(), break_glass };
    let asked = app.ask_or_propose(&caller, registration, proposal).await?;
    app.0.keys.forget(&id);
    match asked {
        Asked::Done(Registered { record, .. }) => Ok(Reply(Key::new(*record)?).into_response()),
        Asked::Proposed(view) => Ok(Proposed::response(*view, &caller)),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Revocation {
    /// Why, for the person who approves it.
    reason: Option<String>,
    /// Revoke it now, in an emergency; another person must approve it afterwards.
    #[serde(default)]
    break_glass: bool,
}
