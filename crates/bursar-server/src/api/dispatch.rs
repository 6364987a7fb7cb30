//! The switches: what is frozen is not sent.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::registry::RecordKey;
use bursar_core::rejection::Rejection;
use bursar_core::request::{self, Body};
use bursar_store::{Browse as _, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::unexpected;
use crate::App;
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Problem;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeRequest {
    scope: ScopeKind,
    /// The channel or the merchant; none for all.
    id: Option<String>,
    /// Why, for whoever looks later.
    #[schema(max_length = 1000)]
    reason: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UnfreezeRequest {
    scope: ScopeKind,
    /// The channel or the merchant; none for all.
    id: Option<String>,
    /// Why, for whoever looks later.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeKind {
    Global,
    Channel,
    Merchant,
}

/// How a switch stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Standing {
    scope: String,
    /// `FROZEN`, `UNFREEZE_PROPOSED` (a second person must want the same) or `OPEN`.
    status: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Freezes {
    data: Vec<Freeze>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Freeze {
    scope: String,
    reason: String,
    actor: String,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Who wants it lifted.
    lifted_by: Option<String>,
}

fn scope(kind: ScopeKind, id: Option<String>) -> Result<Scope, Problem> {
    match (kind, id) {
        (ScopeKind::Global, None) => Ok(Scope::Global),
        (ScopeKind::Channel, Some(id)) => Ok(Scope::Channel(id)),
        (ScopeKind::Merchant, Some(id)) => Ok(Scope::Merchant(id)),
        (ScopeKind::Global, Some(_)) | (ScopeKind::Channel | ScopeKind::Merchant, None) => {
            Err(Problem::bad_request(
                "a channel or a merchant is named by id, everything by none: nothing was changed. Correct scope and id",
            ))
        }
    }
}

/// Whoever freezes a misspelt name would believe that something is frozen.
async fn check(app: &App, scope: &Scope) -> Result<(), Problem> {
    match scope {
        Scope::Global => Ok(()),
        Scope::Channel(name) if app.0.rules.channels.contains_key(name) => Ok(()),
        Scope::Channel(name) => {
            let known = app.0.rules.channels.keys().cloned().collect();
            Err(Rejection::UnknownChannel { channel: name.clone(), known }.into())
        }
        Scope::Merchant(id) => {
            let key = RecordKey::merchant(id);
            let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
            let unknown = || Rejection::UnknownMerchant { merchant: id.clone() };
            found.map(drop).ok_or_else(unknown).map_err(Problem::from)
        }
    }
}

async fn throw(app: &App, switch: Switch) -> Result<Reply<Standing>, Problem> {
    match app.ask(Body::Switch(switch)).await? {
        request::Reply::Noted { name, status } => {
            Ok(Reply(Standing { scope: name, status: status.to_owned() }))
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

/// What is frozen now.
#[utoipa::path(get, path = "/v1/dispatch/freezes", tag = "dispatch", responses((status = 200, body = Freezes)))]
pub(super) async fn freezes(State(app): State<App>) -> Result<Reply<Freezes>, Problem> {
    let control = app.0.readers.read(async |store| store.control().await).await?;
    let freeze = |(scope, freeze): (Scope, bursar_core::control::Freeze)| Freeze {
        scope: scope.to_string(),
        reason: freeze.reason,
        actor: freeze.actor,
        since: freeze.since,
        lifted_by: freeze.lifted_by.map(|lifter| lifter.actor),
    };
    Ok(Reply(Freezes { data: control.freezes.into_iter().map(freeze).collect() }))
}

/// Freeze: from its commit on, nothing more is sent. What was sent is followed to its end.
#[utoipa::path(post, path = "/v1/dispatch/freeze", tag = "dispatch", request_body = FreezeRequest,
    responses((status = 200, body = Standing), (status = 400, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn freeze(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<FreezeRequest>,
) -> Result<Reply<Standing>, Problem> {
    let scope = scope(request.scope, request.id)?;
    check(&app, &scope).await?;
    let turn = Turned::Freeze { reason: request.reason };
    let is_approver = caller.is_approver();
    throw(&app, Switch { scope, actor: caller.actor, is_approver, turn }).await
}

/// Unfreeze. Two people must want it, one of them an approver: the first is answered with `UNFREEZE_PROPOSED`.
#[utoipa::path(post, path = "/v1/dispatch/unfreeze", tag = "dispatch", request_body = UnfreezeRequest,
    responses((status = 200, body = Standing), (status = 400, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn unfreeze(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<UnfreezeRequest>,
) -> Result<Reply<Standing>, Problem> {
    let scope = scope(request.scope, request.id)?;
    let turn = Turned::Unfreeze { reason: request.reason };
    let is_approver = caller.is_approver();
    throw(&app, Switch { scope, actor: caller.actor, is_approver, turn }).await
}
