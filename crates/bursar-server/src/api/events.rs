//! The event feed, in commit order. A reader that continues from the last cursor misses no event.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_store::Query as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{bad_cursor, limit};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("GET", "/v1/events", EVERY_ROLE)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// An event in the format of `CloudEvents` 1.0.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Event {
    specversion: &'static str,
    id: String,
    source: &'static str,
    /// Such as `payout.success`.
    #[serde(rename = "type")]
    kind: String,
    /// The resource of the event.
    subject: String,
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    datacontenttype: &'static str,
    merchant_id: String,
    /// Counts from 1 for each subject, without gaps.
    sequence: u64,
    /// The resource at that time.
    data: Value,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Feed {
    data: Vec<Event>,
    /// The position to continue from, now or later.
    next_cursor: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Position {
    /// `next_cursor` of the previous page; none for the beginning.
    after: Option<String>,
    /// Page size, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// Pages that one request reads in search of a merchant's events.
const PAGES_MAX: u32 = 20;

/// List events, oldest first.
///
/// A page can be empty although more follow: continue with `next_cursor`.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(Position),
    responses((status = 200, body = Feed), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(position): Query<Position>,
) -> Result<Reply<Feed>, Problem> {
    let limit = limit(position.limit)?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut after =
        position.after.as_deref().map_or(Some(Cursor::default()), parse).ok_or_else(bad_cursor)?;
    let read = app.0.readers.read(async move |store| {
        let mut found: Vec<FeedEvent> = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = store.events(after, limit).await?;
            let is_last = page.len() < most;
            for (behind, event) in page {
                if found.len() >= most {
                    return Ok((found, after));
                }
                after = behind;
                if caller.sees(&event.merchant) {
                    found.push(event);
                }
            }
            if is_last || found.len() >= most {
                break;
            }
        }
        Ok((found, after))
    });
    let (found, after) = read.await?;
    let data = found.into_iter().map(event).collect();
    Ok(Reply(Feed { data, next_cursor: format!("{}.{}", after.commit, after.rows) }))
}

fn parse(text: &str) -> Option<Cursor> {
    let (commit, rows) = text.split_once('.')?;
    Some(Cursor { commit: commit.parse().ok()?, rows: rows.parse().ok()? })
}

fn event(event: FeedEvent) -> Event {
    Event {
        specversion: "1.0",
        id: event.id.to_string(),
        source: "bursar",
        kind: event.kind,
        subject: event.resource,
        time: event.time,
        datacontenttype: "application/json",
        merchant_id: event.merchant,
        sequence: event.sequence,
        data: serde_json::from_str(&event.data).unwrap_or(Value::Null),
    }
}
