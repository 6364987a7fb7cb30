//! The stored form of a review.

use bursar_core::flow::{KINDS, Review, ReviewReason};
use bursar_core::ids::FlowId;
use uuid::Uuid;

use crate::StoreError;
use crate::browse::ReviewFilter;
use crate::chart_lines::{damaged, time};

/// `flow, kind, merchant, reason, since`.
pub(crate) fn review(
    flow: Uuid,
    kind: &str,
    merchant: String,
    reason: &str,
    since: i64,
) -> Result<Review, StoreError> {
    let known = KINDS.iter().find(|info| info.name == kind).map(|info| info.name);
    let found = ReviewReason::ALL.into_iter().find(|known| known.name() == reason);
    Ok(Review {
        flow: FlowId::from_uuid(flow),
        kind: known.ok_or_else(|| damaged(format!("a review of an unknown kind `{kind}`")))?,
        merchant,
        reason: found
            .ok_or_else(|| damaged(format!("a review for an unknown reason `{reason}`")))?,
        since: time(since)?,
    })
}

pub(crate) const REVIEWS: &str = "SELECT flow, kind, merchant, reason, since FROM reviews";

/// One statement for each index. Parameters: time and flow of the cursor, limit, kind, reason, merchant.
pub(crate) fn page(filter: &ReviewFilter, p: char) -> String {
    let of = match (filter.of, &filter.merchant) {
        (Some(_), Some(_)) => format!("merchant = {p}6 AND kind = {p}4 AND reason = {p}5 AND"),
        (Some(_), None) => format!("kind = {p}4 AND reason = {p}5 AND"),
        (None, Some(_)) => format!("merchant = {p}6 AND"),
        (None, None) => String::new(),
    };
    // Every parameter is used, so that every statement takes the same values.
    let unused = format!(
        "(CAST({p}4 AS TEXT) IS NULL OR CAST({p}5 AS TEXT) IS NULL OR CAST({p}6 AS TEXT) IS NULL OR true)"
    );
    format!(
        "{REVIEWS} WHERE {of} (since, flow) > ({p}1, {p}2) AND {unused} ORDER BY since, flow LIMIT {p}3"
    )
}
