//! The state of the books at a glance: counts of flows, and the flows that wait for a person. Nothing is counted here.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::flow::{FlowView, ReviewReason};
use bursar_core::money::{Currency, decimal};
use bursar_core::registry::hexadecimal;
use bursar_core::turn::{FLOW_TALLIES, FlowTally, Tally};
use bursar_store::{Browse as _, Query as _, ReviewFilter, WaitingReviews};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, Page, bad_cursor, parse_review, write_review};
use crate::App;
use crate::access::{AccessRow, STAFF};
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] =
    &[("GET", "/v1/overview", STAFF), ("GET", "/v1/review", STAFF)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(overview)).routes(routes!(review))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Overview {
    head: LastCommit,
    flows: Vec<FlowCount>,
    /// The flows that wait for a person.
    review: Vec<ReviewCount>,
}

/// The last commit. Keep its number and hash elsewhere: they prove that the books were not rewritten.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LastCommit {
    sequence: u64,
    hash: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    time: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FlowCount {
    kind: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    count: i64,
    /// The sum of the amounts; absent for a kind without amounts, and for a sum that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    /// How often a flow came into this status; the difference of two reads is a rate.
    entered: i64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReviewCount {
    kind: &'static str,
    /// `stuck`, `case` or `approval`.
    reason: &'static str,
    count: u64,
    /// Since when the longest waiting flow waits.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

impl From<FlowTally<'_>> for FlowCount {
    fn from(found: FlowTally<'_>) -> Self {
        let FlowTally { kind, status, currency, channel, tally } = found;
        let known: Option<Currency> = currency.parse().ok();
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            currency: given(currency),
            channel: given(channel),
            count: tally.count,
            amount: known.zip(tally.sum()).map(|(known, sum)| decimal(sum.into(), known)),
            entered: tally.entered,
        }
    }
}

impl From<WaitingReviews> for ReviewCount {
    fn from(WaitingReviews { kind, reason, count, since }: WaitingReviews) -> Self {
        Self { kind, reason: reason.name(), count, since }
    }
}

/// Show counts and sums of all flows, and what waits for a person.
#[utoipa::path(get, path = "/v1/overview", tag = "overview",
    responses((status = 200, body = Overview)))]
pub(super) async fn overview(State(app): State<App>) -> Result<Reply<Overview>, Problem> {
    let read = app.0.readers.read(async move |store| {
        let tallies = store.tallies(FLOW_TALLIES).await?;
        Ok((store.head().await?, tallies, store.waiting_reviews().await?))
    });
    let (head, tallies, review) = read.await?;
    let count = |(name, tally): (&String, &Tally)| FlowTally::parse(name, *tally).map(Into::into);
    Ok(Reply(Overview {
        head: LastCommit { sequence: head.seq, hash: hexadecimal(&head.hash), time: head.time },
        flows: tallies.iter().filter_map(count).collect(),
        review: review.into_iter().map(Into::into).collect(),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only of this kind, such as `payout`, and for this reason: name both or none.
    kind: Option<String>,
    /// `stuck` or `case`.
    reason: Option<String>,
    /// Only of this merchant.
    merchant_id: Option<String>,
}

/// A flow that waits for a person.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WaitingFlow {
    kind: &'static str,
    /// `stuck` or `case`.
    reason: &'static str,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    merchant_id: String,
    /// The flow as its own resource shows it; null if it cannot be read.
    flow: Option<Value>,
}

impl Filter {
    fn wanted(self) -> Result<ReviewFilter, Problem> {
        let of = match (self.kind.as_deref(), self.reason.as_deref()) {
            (None, None) => None,
            (kind, reason) => {
                let kinds = bursar_core::flow::KINDS.iter().map(|info| info.name);
                let kind = kinds.into_iter().find(|name| Some(*name) == kind);
                let mut reasons = ReviewReason::ALL.into_iter();
                let reason = reasons.find(|known| Some(known.name()) == reason);
                Some(kind.zip(reason).ok_or_else(|| {
                    Problem::bad_request(
                        "kind is payout, payin, approval or delivery, and reason is stuck, case or approval: nothing was read. Name both or none",
                    )
                })?)
            }
        };
        Ok(ReviewFilter { of, merchant: self.merchant_id })
    }
}

/// List what waits for a person, the longest waiting first.
#[utoipa::path(get, path = "/v1/review", tag = "overview", params(Filter, Page),
    responses((status = 200, body = Listed<WaitingFlow>), (status = 400, body = Problem)))]
pub(super) async fn review(
    State(app): State<App>,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<WaitingFlow>>, Problem> {
    let (limit, filter) = (page.limit()?, filter.wanted()?);
    let cursor = page.cursor.as_deref();
    let after = cursor.map(|text| parse_review(text).ok_or_else(bad_cursor)).transpose()?;
    let read = app.0.readers.read(async move |store| store.reviews(&filter, after, limit).await);
    let found = read.await?;
    let is_full = u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit;
    let last = found.last().filter(|_| is_full);
    let next_cursor = last.map(|(review, _)| write_review((review.since, review.flow)));
    let data = found.into_iter().map(|(review, flow)| WaitingFlow {
        kind: review.kind,
        reason: review.reason.name(),
        since: review.since,
        merchant_id: review.merchant,
        flow: flow.and_then(|flow| serde_json::to_value(FlowView::new(&flow)).ok()),
    });
    Ok(Reply(Listed::page(data.collect(), next_cursor)))
}
