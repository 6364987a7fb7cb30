//! Tallies, reviews and labels: what a commit derives from its flows, so that no report scans them.

use std::collections::BTreeMap;

use bursar_core::flow::Review;
use bursar_core::ids::{BooksId, FirstReferences, FlowId, KeyRange};
use bursar_core::ledger::verify::LabelDigest;
use bursar_core::turn::{Commit, FlowWrite, ReviewChange, Tally};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::classify;
use super::flows::flow_id;
use super::load::{all, one, prepare};
use super::row::get;
use super::save::write;
use crate::StoreError;
use crate::browse::{ReviewCursor, ReviewFilter};
use crate::review_row::{self, REVIEWS};

pub(super) fn save(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    add(connection, commit)?;
    save_reviews(connection, &commit.flows)?;
    save_labels(connection, &commit.flows)
}

/// Adds the net changes. A sum that does not fit stays at the largest integer.
fn add(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    let sql = "INSERT INTO tallies (name, count, minor, entered) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET count = count + ?2, entered = entered + ?4,
            minor = CASE WHEN minor = 9223372036854775807 OR ?3 > 9223372036854775807 - max(minor, 0)
                         THEN 9223372036854775807 ELSE max(minor, 0) + ?3 END";
    let mut statement = prepare(connection, sql)?;
    for (name, Tally { count, minor, entered }) in &commit.tallies {
        write(&mut statement, params![name, count, minor, entered])?;
    }
    Ok(())
}

fn save_reviews(connection: &Connection, changes: &[FlowWrite]) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO reviews (flow, kind, merchant, reason, since) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut begin = prepare(connection, sql)?;
    let mut turn = prepare(connection, "UPDATE reviews SET reason = ?2 WHERE flow = ?1")?;
    let mut end = prepare(connection, "DELETE FROM reviews WHERE flow = ?1")?;
    for change in changes {
        let id = change.after.id.uuid();
        let id = id.as_bytes().as_slice();
        match change.review() {
            ReviewChange::Nothing => {}
            ReviewChange::Begins(Review { kind, merchant, reason, since, .. }) => {
                let values = params![id, kind, merchant, reason.name(), since.as_microsecond()];
                write(&mut begin, values)?;
            }
            ReviewChange::Turns(reason) => write(&mut turn, params![id, reason.name()])?,
            ReviewChange::Ends => write(&mut end, params![id])?,
        }
    }
    Ok(())
}

fn save_labels(connection: &Connection, changes: &[FlowWrite]) -> Result<(), StoreError> {
    let mut statement = prepare(connection, "INSERT INTO labels (label, flow) VALUES (?1, ?2)")?;
    for change in changes {
        let id = change.after.id.uuid();
        for label in change.new_labels() {
            write(&mut statement, params![label, id.as_bytes().as_slice()])?;
        }
    }
    Ok(())
}

/// The tallies whose names begin with a prefix.
pub(super) fn list(
    connection: &Connection,
    prefix: &str,
) -> Result<BTreeMap<String, Tally>, StoreError> {
    // The character after a prefix is a letter or a digit.
    let sql =
        "SELECT name, count, minor, entered FROM tallies WHERE name >= ?1 AND name < ?1 || '~'";
    let rows = all(connection, sql, [prefix], |row| {
        Ok((
            get(row, 0)?,
            Tally { count: get(row, 1)?, minor: get(row, 2)?, entered: get(row, 3)? },
        ))
    })?;
    Ok(rows.into_iter().collect())
}

pub(super) fn reviews(
    connection: &Connection,
    filter: &ReviewFilter,
    (since, flow): ReviewCursor,
    limit: usize,
) -> Result<Vec<Review>, StoreError> {
    let (kind, reason) = filter.of.map(|(kind, reason)| (kind, reason.name())).unzip();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (since, flow) = (since.as_microsecond(), flow.uuid());
    let values = params![since, flow.as_bytes().as_slice(), limit, kind, reason, filter.merchant];
    all(connection, &review_row::page(filter, '?'), values, review)
}

/// All reviews, in the order of their flows.
pub(super) fn all_reviews(connection: &Connection) -> Result<Vec<Review>, StoreError> {
    all(connection, &format!("{REVIEWS} ORDER BY flow"), [], review)
}

fn review(row: &Row<'_>) -> Result<Review, StoreError> {
    let (kind, reason): (String, String) = (get(row, 1)?, get(row, 3)?);
    let flow = Uuid::from_bytes(get(row, 0)?);
    review_row::review(flow, &kind, get(row, 2)?, &reason, get(row, 4)?)
}

pub(super) fn labels(connection: &Connection) -> Result<LabelDigest, StoreError> {
    let mut digest = LabelDigest::default();
    let mut statement = prepare(connection, "SELECT label, flow FROM labels")?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        digest.add(&get::<String>(row, 0)?, flow_id(row, 1)?);
    }
    Ok(digest)
}

/// The flows with this external reference or label, below an id, newest first. One index probe for each channel.
pub(super) fn known_as(
    connection: &Connection,
    text: &str,
    below: FlowId,
    limit: u32,
) -> Result<Vec<FlowId>, StoreError> {
    let sql = "WITH RECURSIVE issuers (channel) AS (
            SELECT min(channel) FROM attempts
            UNION ALL
            SELECT (SELECT min(channel) FROM attempts a WHERE a.channel > issuers.channel)
            FROM issuers WHERE issuers.channel IS NOT NULL)
        SELECT a.flow FROM issuers CROSS JOIN attempts a ON a.channel = issuers.channel AND a.reference = ?1
        WHERE a.flow < ?2
        UNION
        SELECT flow FROM keys WHERE digest BETWEEN ?4 AND ?5 AND flow < ?2
        UNION
        SELECT flow FROM (SELECT flow FROM labels WHERE label = ?1 AND flow < ?2 ORDER BY flow DESC LIMIT ?3)
        ORDER BY 1 DESC LIMIT ?3";
    let books = one(connection, "SELECT id FROM books", [], |row| get(row, 0))?;
    let books = books.map(|id| BooksId::from_uuid(Uuid::from_bytes(id)));
    let keys = books.and_then(|books| FirstReferences::of(books).keys(text));
    let (first, last) = (keys.map(KeyRange::first), keys.map(KeyRange::last));
    let below = below.uuid();
    let values = params![text, below.as_bytes(), limit, first, last];
    all(connection, sql, values, |row| flow_id(row, 0))
}
