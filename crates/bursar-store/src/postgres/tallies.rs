//! Tallies, reviews and labels: what a commit derives from its flows, so that no report scans them.

use std::collections::BTreeMap;

use bursar_core::flow::Review;
use bursar_core::ids::{BooksId, FirstReferences, FlowId, KeyRange};
use bursar_core::ledger::verify::LabelDigest;
use bursar_core::turn::{Commit, ReviewChange, Tally};
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};
use uuid::Uuid;

use super::row::get;
use super::session::Session;
use crate::StoreError;
use crate::browse::{ReviewCursor, ReviewFilter};
use crate::review_row::{self, REVIEWS};

/// A sum that does not fit stays at the largest integer. The caller prepares it before `add`.
pub(super) const ADD: &str = "INSERT INTO tallies AS t (name, count, minor, entered)
    SELECT unnest($1::text[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[])
    ON CONFLICT (name) DO UPDATE SET count = t.count + excluded.count, entered = t.entered + excluded.entered,
        minor = CASE WHEN t.minor = 9223372036854775807 OR excluded.minor > 9223372036854775807 - greatest(t.minor, 0)
                     THEN 9223372036854775807 ELSE greatest(t.minor, 0) + excluded.minor END";

/// Adds the net changes while the turn holds the lock of the head, so that writers neither conflict nor deadlock.
pub(super) async fn add(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let changes = || commit.tallies.iter();
    let names: Vec<&str> = changes().map(|(name, _)| name.as_str()).collect();
    let column = |part: fn(&Tally) -> i64| changes().map(|(_, it)| part(it)).collect::<Vec<i64>>();
    let counts = column(|tally| tally.count);
    let minors = column(|tally| tally.minor);
    let entered = column(|tally| tally.entered);
    let values: [&(dyn ToSql + Sync); 4] = [&names, &counts, &minors, &entered];
    session.write(ADD, &values, names.len()).await
}

/// Saves reviews and labels. The turn has locked the flows, so this waits for no other turn.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    save_reviews(session, commit).await?;
    let labels = commit
        .flows
        .iter()
        .flat_map(|change| change.new_labels().map(|label| (label, change.after.id.uuid())));
    let (labels, flows): (Vec<&str>, Vec<Uuid>) = labels.unzip();
    let sql = "INSERT INTO labels (label, flow) SELECT unnest($1::text[]), unnest($2::uuid[])";
    session.write(sql, &[&labels, &flows], flows.len()).await
}

async fn save_reviews(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let (mut begin, mut turn, mut end) = (Vec::new(), Vec::new(), Vec::new());
    for change in &commit.flows {
        let id = change.after.id.uuid();
        match change.review() {
            ReviewChange::Nothing => {}
            ReviewChange::Begins(review) => begin.push(review),
            ReviewChange::Turns(reason) => turn.push((id, reason.name())),
            ReviewChange::Ends => end.push(id),
        }
    }
    let sql = "DELETE FROM reviews WHERE flow = ANY($1)";
    session.write(sql, &[&end], end.len()).await?;
    let (flows, reasons): (Vec<Uuid>, Vec<&str>) = turn.into_iter().unzip();
    let sql = "UPDATE reviews r SET reason = k.reason
               FROM (SELECT unnest($1::uuid[]) AS flow, unnest($2::text[]) AS reason) AS k WHERE r.flow = k.flow";
    session.write(sql, &[&flows, &reasons], flows.len()).await?;
    let flows: Vec<Uuid> = begin.iter().map(|review| review.flow.uuid()).collect();
    let kinds: Vec<&str> = begin.iter().map(|review| review.kind).collect();
    let merchants: Vec<&str> = begin.iter().map(|review| review.merchant.as_str()).collect();
    let reasons: Vec<&str> = begin.iter().map(|review| review.reason.name()).collect();
    let since: Vec<i64> = begin.iter().map(|review| review.since.as_microsecond()).collect();
    let sql = "INSERT INTO reviews (flow, kind, merchant, reason, since)
               SELECT unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[])";
    let values: [&(dyn ToSql + Sync); 5] = [&flows, &kinds, &merchants, &reasons, &since];
    session.write(sql, &values, flows.len()).await
}

/// The tallies whose names begin with a prefix.
pub(super) async fn list(
    session: &Session<'_, impl GenericClient>,
    prefix: &str,
) -> Result<BTreeMap<String, Tally>, StoreError> {
    // The character after a prefix is a letter or a digit.
    let sql =
        "SELECT name, count, minor, entered FROM tallies WHERE name >= $1 AND name < $1 || '~'";
    let rows = session.query(sql, &[&prefix]).await?;
    rows.iter()
        .map(|row| {
            let tally = Tally { count: get(row, 1)?, minor: get(row, 2)?, entered: get(row, 3)? };
            Ok((get(row, 0)?, tally))
        })
        .collect()
}

pub(super) async fn reviews(
    session: &Session<'_, impl GenericClient>,
    filter: &ReviewFilter,
    (since, flow): ReviewCursor,
    limit: usize,
) -> Result<Vec<Review>, StoreError> {
    let (kind, reason) = filter.of.map(|(kind, reason)| (kind, reason.name())).unzip();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (since, flow) = (since.as_microsecond(), flow.uuid());
    let values: [&(dyn ToSql + Sync); 6] =
        [&since, &flow, &limit, &kind, &reason, &filter.merchant];
    session.query(&review_row::page(filter, '$'), &values).await?.iter().map(review).collect()
}

/// All reviews, in the order of their flows.
pub(super) async fn all_reviews(
    session: &Session<'_, impl GenericClient>,
) -> Result<Vec<Review>, StoreError> {
    session.query(&format!("{REVIEWS} ORDER BY flow"), &[]).await?.iter().map(review).collect()
}

fn review(row: &Row) -> Result<Review, StoreError> {
    review_row::review(get(row, 0)?, get(row, 1)?, get(row, 2)?, get(row, 3)?, get(row, 4)?)
}

pub(super) async fn labels(
    session: &Session<'_, impl GenericClient>,
) -> Result<LabelDigest, StoreError> {
    let sql = "SELECT label, flow FROM labels WHERE (label, flow) > ($1, $2) ORDER BY label, flow LIMIT 5000";
    let mut digest = LabelDigest::default();
    let mut last = (String::new(), Uuid::nil());
    loop {
        let rows = session.query(sql, &[&last.0, &last.1]).await?;
        for row in &rows {
            digest.add(get(row, 0)?, FlowId::from_uuid(get(row, 1)?));
        }
        let Some(row) = rows.last() else { return Ok(digest) };
        last = (get(row, 0)?, get(row, 1)?);
    }
}

/// The flows with this external reference or label, below an id, newest first. One index probe for each channel.
pub(super) async fn known_as(
    session: &Session<'_, impl GenericClient>,
    text: &str,
    below: FlowId,
    limit: u32,
) -> Result<Vec<FlowId>, StoreError> {
    let sql = "WITH RECURSIVE issuers (channel) AS (
            (SELECT channel FROM attempts ORDER BY channel LIMIT 1)
            UNION ALL
            SELECT (SELECT channel FROM attempts a WHERE a.channel > issuers.channel ORDER BY channel LIMIT 1)
            FROM issuers WHERE issuers.channel IS NOT NULL)
        SELECT a.flow FROM issuers CROSS JOIN LATERAL (
            SELECT flow FROM attempts a WHERE a.channel = issuers.channel AND a.reference = $1 LIMIT 1) a
        WHERE a.flow < $2
        UNION
        SELECT flow FROM keys WHERE digest BETWEEN $4 AND $5 AND flow < $2
        UNION
        SELECT flow FROM (SELECT flow FROM labels WHERE label = $1 AND flow < $2 ORDER BY flow DESC LIMIT $3) l
        ORDER BY 1 DESC LIMIT $3";
    let books = session.query("SELECT id FROM books", &[]).await?;
    let books: Option<Uuid> = books.first().map(|row| get(row, 0)).transpose()?;
    let keys = books.and_then(|id| FirstReferences::of(BooksId::from_uuid(id)).keys(text));
    let (first, last) = (keys.map(KeyRange::first), keys.map(KeyRange::last));
    let (first, last) = (first.as_ref().map(|it| &it[..]), last.as_ref().map(|it| &it[..]));
    let values: [&(dyn ToSql + Sync); 5] = [&text, &below.uuid(), &i64::from(limit), &first, &last];
    let rows = session.query(sql, &values).await?;
    rows.iter().map(|row| Ok(FlowId::from_uuid(get(row, 0)?))).collect()
}
