//! Lists: a page of flows or records, and the lookup of one flow.

use axum::Json as Reply;
use bursar_core::flow::{self, Flow, ReviewReason};
use bursar_core::ids::FlowId;
use bursar_core::registry::{Kind, Record};
use bursar_store::{Browse as _, FlowFilter, Query as _, ReviewCursor, ReviewFilter};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The query parameters of every list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// `next_cursor` of the previous page.
    pub(super) cursor: Option<String>,
    /// Page size, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    pub(super) limit: Option<u32>,
}

/// The query parameters of a list whose only filter is the merchant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MerchantFilter {
    /// Only of this merchant.
    pub(super) merchant_id: Option<String>,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Listed<T> {
    pub(super) data: Vec<T>,
    /// The cursor of the next page; null on the last page.
    pub(super) next_cursor: Option<String>,
    /// The filter has no index, and as many rows were scanned as one request may scan: up to this one. Continue with
    /// `next_cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scanned_to: Option<String>,
}

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

impl Page {
    pub(super) fn limit(&self) -> Result<u32, Problem> {
        limit(self.limit)
    }

    /// The flow that the cursor names.
    pub(super) fn before<K: flow::Kind>(&self) -> Result<Option<FlowId>, Problem> {
        let cursor = self.cursor.as_deref();
        cursor.map(|text| parse_id::<K>(text).ok_or_else(bad_cursor)).transpose()
    }
}

pub(super) fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    let limit = asked.unwrap_or(LIMIT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::bad_request(
        "limit is 1 to 500: nothing was read. Ask for less, and go on with next_cursor",
    ))
}

pub(super) fn bad_cursor() -> Problem {
    Problem::bad_request(
        "the cursor is not one of ours: nothing was read. Use next_cursor of the page before, or none",
    )
}

impl<T> Listed<T> {
    /// A full page is followed by another one, which begins behind the last item.
    pub(super) fn full(data: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Self {
        let is_full = u32::try_from(data.len()).unwrap_or(u32::MAX) >= limit;
        let next_cursor = data.last().filter(|_| is_full).map(cursor);
        Self::page(data, next_cursor)
    }

    pub(super) const fn page(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { data, next_cursor, scanned_to: None }
    }
}

/// The id of a flow, with the prefix of its kind.
pub(super) fn parse_id<K: flow::Kind>(text: &str) -> Option<FlowId> {
    K::INFO.flow_id(text)
}

pub(super) fn write_id<K: flow::Kind>(id: FlowId) -> String {
    format!("{}_{}", K::INFO.prefix, id.uuid().simple())
}

/// The cursor of a list of reviews: since when a flow waits, and which.
pub(super) fn write_review((since, flow): ReviewCursor) -> String {
    format!("{}.{}", since.as_microsecond(), flow.uuid().simple())
}

pub(super) fn parse_review(text: &str) -> Option<ReviewCursor> {
    let (since, id) = text.split_once('.')?;
    let since = Timestamp::from_microsecond(since.parse().ok()?).ok()?;
    Some((since, format!("{}_{id}", FlowId::PREFIX).parse().ok()?))
}

/// The view of a flow, if it is of this kind.
pub(super) fn view<K: flow::Listed>(flow: &Flow) -> Option<K::View> {
    K::of(&flow.state).map(|state| state.view(flow))
}

impl App {
    /// One page of the flows of a kind, newest first.
    pub(super) async fn list_flows<K: flow::Listed, T>(
        &self,
        filter: FlowFilter,
        page: &Page,
        show: impl Fn(K::View) -> T,
    ) -> Result<Reply<Listed<T>>, Problem> {
        let (limit, before) = (page.limit()?, page.before::<K>()?);
        let filter = FlowFilter { kind: K::INFO.name, ..filter };
        let read = self
            .0
            .readers
            .read(async move |store| store.list_flows_desc(&filter, before, limit).await);
        let found = read.await?;
        Ok(Reply(Listed {
            data: found.flows.iter().filter_map(view::<K>).map(show).collect(),
            next_cursor: found.next.map(write_id::<K>),
            scanned_to: found.scanned_to.map(write_id::<K>),
        }))
    }

    /// The flows of a kind that wait for a person, the longest waiting first.
    pub(super) async fn list_reviews<K: flow::Listed, T>(
        &self,
        reason: ReviewReason,
        filter: FlowFilter,
        page: &Page,
        show: impl Fn(K::View) -> T,
    ) -> Result<Reply<Listed<T>>, Problem> {
        let limit = page.limit()?;
        let cursor = page.cursor.as_deref();
        let after = cursor.map(|text| parse_review(text).ok_or_else(bad_cursor)).transpose()?;
        let of = Some((K::INFO.name, reason));
        let filter = FlowFilter { kind: K::INFO.name, ..filter };
        let reviews = ReviewFilter { of, merchant: filter.merchant.clone() };
        let read = self
            .0
            .readers
            .read(async move |store| store.list_reviews(&reviews, &filter, after, limit).await);
        let found = read.await?;
        Ok(Reply(Listed {
            data: found.flows.iter().filter_map(view::<K>).map(show).collect(),
            next_cursor: found.next.map(write_review),
            scanned_to: found.scanned_to.map(write_review),
        }))
    }

    /// One flow of a kind. A flow that the caller may not see is not found.
    pub(super) async fn find_flow<K: flow::Listed>(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<Flow, Problem> {
        let found = self.read_flow::<K>(id).await?;
        let is_seen = caller.sees(&found.merchant);
        is_seen.then_some(found).ok_or_else(|| Problem::not_found("this id"))
    }

    /// One flow of a kind.
    pub(super) async fn read_flow<K: flow::Listed>(&self, id: &str) -> Result<Flow, Problem> {
        let unknown = || Problem::not_found("this id");
        let id = parse_id::<K>(id).ok_or_else(unknown)?;
        let found = self.0.readers.read(async move |store| store.flow(id).await).await?;
        found.filter(|flow| K::of(&flow.state).is_some()).ok_or_else(unknown)
    }

    /// One page of the records of a kind, newest first: of one merchant, or of all.
    pub(super) async fn list_records<T>(
        &self,
        kind: Kind,
        merchant: Option<String>,
        page: Page,
        show: impl Fn(Record) -> Result<T, Problem>,
    ) -> Result<Reply<Listed<T>>, Problem> {
        let limit = page.limit()?;
        let read = self.0.readers.read(async move |store| {
            store.records(kind, merchant.as_deref(), page.cursor.as_deref(), limit).await
        });
        let Listed { data, next_cursor, .. } =
            Listed::full(read.await?.records, limit, |record| record.id.clone());
        let data = data.into_iter().map(show).collect::<Result<_, _>>()?;
        Ok(Reply(Listed::page(data, next_cursor)))
    }
}

#[cfg(test)]
mod tests {
    use bursar_core::flow::Kind as _;
    use bursar_core::ids::{FlowId, PayInId, PayoutId, Seed};
    use bursar_core::payins::PayIn;
    use bursar_core::payouts::Payout;
    use jiff::Timestamp;

    use super::{parse_id, write_id};

    #[test]
    fn ids_of_flows_are_written_and_parsed_as_those_of_their_kind() {
        let payout = PayoutId::new(Timestamp::UNIX_EPOCH, &Seed::from(1), 0);
        let (text, id) = (payout.to_string(), FlowId::from(payout));
        assert_eq!(write_id::<Payout>(id), text);
        assert_eq!(write_id::<PayIn>(id), PayInId::from_uuid(id.uuid()).to_string());
        assert_eq!(parse_id::<Payout>(&text), Some(id));
        let digits = text.trim_start_matches("po_");
        let others =
            [text.to_uppercase(), format!("{} {text}", Payout::INFO.prefix), id.to_string()];
        for other in others.iter().map(String::as_str).chain([digits, "", "po_", "po_fl_1"]) {
            assert_eq!(parse_id::<Payout>(other), None, "{other}");
        }
        assert_eq!(parse_id::<PayIn>(&text), None);
    }
}
