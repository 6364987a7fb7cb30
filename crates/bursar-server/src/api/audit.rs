//! What people did, for the record.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::feed::AuditEntry;
use bursar_core::ids::CommitId;
use bursar_store::{AuditPlace, Browse as _};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::pages::{Listed, Page, bad_cursor};
use crate::App;
use crate::extract::Query;
use crate::problem::Problem;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Entry {
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    /// The name of the key, and the beginning of its id.
    actor: String,
    /// Such as `payout.confirm_paid`.
    action: String,
    resource: String,
    note: String,
}

/// Everything that people decided, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(Page),
    responses((status = 200, body = Listed<Entry>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Entry>>, Problem> {
    let limit = page.limit()?;
    let place =
        page.cursor.as_deref().map(|text| parse(text).ok_or_else(bad_cursor)).transpose()?;
    let found = app.0.readers.read(async move |store| store.audit_back(place, limit).await).await?;
    let is_full = u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit;
    let next_cursor =
        found.last().filter(|_| is_full).map(|(place, _)| format!("{}.{}", place.commit, place.n));
    let entry = |(_, entry): (AuditPlace, AuditEntry)| Entry {
        time: entry.time,
        actor: entry.actor,
        action: entry.action,
        resource: entry.resource,
        note: entry.note,
    };
    Ok(Reply(Listed { data: found.into_iter().map(entry).collect(), next_cursor }))
}

fn parse(text: &str) -> Option<AuditPlace> {
    let (commit, n) = text.split_once('.')?;
    let commit: CommitId = commit.parse().ok()?;
    // Larger numbers do not fit into any store.
    let n: u32 = n.parse().ok()?;
    Some(AuditPlace { commit, n: n.into() })
}
