//! The event feed, in commit order. A reader that continues from the last cursor misses no event.

use axum::Json as Reply;
use axum::extract::State;
use axum::http::StatusCode;
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::freezes::Restore;
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
    /// The restore of the books that the event follows, if it follows one: sequences begin anew where the copy ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<i64>,
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
    responses((status = 200, body = Feed), (status = 400, body = Problem), (status = 410, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(position): Query<Position>,
) -> Result<Reply<Feed>, Problem> {
    let limit = limit(position.limit)?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let start = Some((i64::MAX, Cursor::default()));
    let (epoch, mut after) =
        position.after.as_deref().map_or(start, parse).ok_or_else(bad_cursor)?;
    let restore = app.0.readers.read(async |store| Ok(store.control().await?.restore)).await?;
    if let Some(restore) = &restore
        && let Some(shared) = restore.shared_until(epoch).filter(|shared| after.commit > *shared)
    {
        return Err(gone(shared, restore));
    }
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
    let data = found.into_iter().map(|found| event(found, restore.as_ref())).collect();
    Ok(Reply(Feed { data, next_cursor: write(after, restore.as_ref()) }))
}

/// A cursor names the last restore, because commits after it have the numbers of those that were lost.
fn write(cursor: Cursor, restore: Option<&Restore>) -> String {
    let Cursor { commit, rows } = cursor;
    match restore {
        Some(restore) => format!("{commit}.{rows}.{}", restore.epoch()),
        None => format!("{commit}.{rows}"),
    }
}

/// The cursor and its restore: 0 for none.
fn parse(text: &str) -> Option<(i64, Cursor)> {
    let mut parts = text.split('.');
    let (commit, rows) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let epoch = parts.next().map_or(Some(0), |epoch| epoch.parse().ok())?;
    parts.next().is_none().then_some((epoch, Cursor { commit, rows }))
}

/// The reader has seen events that were lost. It continues behind the last commit that it shares with the books.
fn gone(shared: u64, restore: &Restore) -> Problem {
    let point = write(Cursor { commit: shared.saturating_add(1), rows: 0 }, Some(restore));
    Problem::new(
        StatusCode::GONE,
        "cursor_gone",
        format!(
            "the books were restored from a copy, and the events after commit {shared} are lost: nothing was read. Forget them, and continue after={point}"
        ),
    )
}

fn event(event: FeedEvent, restore: Option<&Restore>) -> Event {
    Event {
        epoch: restore.filter(|restore| restore.at <= event.time).map(Restore::epoch),
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
