//! The audit log: actions of people.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::feed::AuditEntry;
use bursar_core::ids::CommitId;
use bursar_store::{AuditCursor, Browse as _};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, Page, bad_cursor};
use crate::App;
use crate::access::{AccessRow, STAFF};
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("GET", "/v1/audit", STAFF)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditLogEntry {
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    /// The name of the API key, and the beginning of its id.
    actor: String,
    /// Such as `payout.confirm_paid`.
    action: String,
    resource: String,
    note: String,
}

/// List the audit log, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(Page),
    responses((status = 200, body = Listed<AuditLogEntry>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<AuditLogEntry>>, Problem> {
    let limit = page.limit()?;
    let place =
        page.cursor.as_deref().map(|text| parse(text).ok_or_else(bad_cursor)).transpose()?;
    let found = app.0.readers.read(async move |store| store.audit_back(place, limit).await).await?;
    let is_full = u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit;
    let next_cursor =
        found.last().filter(|_| is_full).map(|(place, _)| format!("{}.{}", place.commit, place.n));
    let entry = |(_, entry): (AuditCursor, AuditEntry)| AuditLogEntry {
        time: entry.time,
        actor: entry.actor,
        action: entry.action,
        resource: entry.resource,
        note: entry.note,
    };
    Ok(Reply(Listed::page(found.into_iter().map(entry).collect(), next_cursor)))
}

fn parse(text: &str) -> Option<AuditCursor> {
    let (commit, n) = text.split_once('.')?;
    let commit: CommitId = commit.parse().ok()?;
    // Larger numbers do not fit into the stores.
    let n: u32 = n.parse().ok()?;
    Some(AuditCursor { commit, n: n.into() })
}
