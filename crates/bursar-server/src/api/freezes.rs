//! Freezes: payouts in a frozen scope are not submitted.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::flow::Accepted;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::registry::RecordKey;
use bursar_core::rejection::Rejection;
use bursar_store::{Browse as _, Query as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::access::{AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/dispatch/freezes", STAFF),
    ("POST", "/v1/dispatch/freeze", STAFF),
    ("POST", "/v1/dispatch/unfreeze", STAFF),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(freezes)).routes(routes!(freeze)).routes(routes!(unfreeze))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeRequest {
    scope: ScopeKind,
    /// The channel or the merchant; none for the global scope.
    id: Option<String>,
    /// The reason, for the audit log.
    #[schema(max_length = 1000)]
    reason: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UnfreezeRequest {
    scope: ScopeKind,
    /// The channel or the merchant; none for the global scope.
    id: Option<String>,
    /// The reason, for the audit log.
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

/// The status of a scope.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FreezeStatus {
    scope: String,
    /// `FROZEN`, `UNFREEZE_PROPOSED` (a second person must agree) or `OPEN`.
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
    /// The actor of the first of two unfreeze requests.
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

/// Rejects an unknown name: a freeze of a misspelt scope would freeze nothing.
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

async fn apply(app: &App, change: FreezeChange) -> Result<Reply<FreezeStatus>, Problem> {
    let Accepted { name, status } = app.ask(change).await?;
    Ok(Reply(FreezeStatus { scope: name, status: status.to_owned() }))
}

/// List the current freezes.
#[utoipa::path(get, path = "/v1/dispatch/freezes", tag = "dispatch", responses((status = 200, body = Freezes)))]
pub(super) async fn freezes(State(app): State<App>) -> Result<Reply<Freezes>, Problem> {
    let control = app.0.readers.read(async |store| store.control().await).await?;
    let freeze = |(scope, freeze): (Scope, bursar_core::freezes::Freeze)| Freeze {
        scope: scope.to_string(),
        reason: freeze.reason,
        actor: freeze.actor,
        since: freeze.since,
        lifted_by: freeze.lifted_by.map(|lifter| lifter.actor),
    };
    Ok(Reply(Freezes { data: control.freezes.into_iter().map(freeze).collect() }))
}

/// Freeze a scope: no payout in it is submitted from this commit on.
///
/// Submitted payouts are still followed to their end.
#[utoipa::path(post, path = "/v1/dispatch/freeze", tag = "dispatch", request_body = FreezeRequest,
    responses((status = 200, body = FreezeStatus), (status = 400, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn freeze(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<FreezeRequest>,
) -> Result<Reply<FreezeStatus>, Problem> {
    let scope = scope(request.scope, request.id)?;
    check(&app, &scope).await?;
    let action = FreezeAction::Freeze { reason: request.reason };
    apply(&app, FreezeChange { scope, by: caller.signature(), action }).await
}

/// Unfreeze a scope.
///
/// Two people must request it, one of them an approver; the first request is answered with `UNFREEZE_PROPOSED`.
#[utoipa::path(post, path = "/v1/dispatch/unfreeze", tag = "dispatch", request_body = UnfreezeRequest,
    responses((status = 200, body = FreezeStatus), (status = 400, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn unfreeze(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<UnfreezeRequest>,
) -> Result<Reply<FreezeStatus>, Problem> {
    let scope = scope(request.scope, request.id)?;
    let action = FreezeAction::Unfreeze { reason: request.reason };
    apply(&app, FreezeChange { scope, by: caller.signature(), action }).await
}
