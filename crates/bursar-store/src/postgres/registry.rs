//! Registry records: merchants, beneficiaries, API keys, endpoints and alerts.

use std::sync::Arc;

use bursar_core::registry::{Content, Kind, Record, RecordKey, RecordWrite};
use bursar_core::turn::{Commit, ReadPlan};
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};

use super::merchants::Merchants;
use super::row::get;
use super::session::Session;
use crate::chart_lines::{damaged, time};
use crate::{RecordPage, StoreError};

/// The columns that `record` reads.
const RECORDS: &str =
    "SELECT r.kind, r.id, r.version, r.content, r.created_at, r.updated_at FROM registry r";

/// The records of the plan, and the keys of those that cannot be decoded.
pub(super) async fn load(
    session: &Session<'_, impl GenericClient>,
    merchants: &mut Merchants,
    plan: &ReadPlan,
) -> Result<(Vec<Arc<Record>>, Vec<RecordKey>), StoreError> {
    let (known, unknown) = merchants.of(plan);
    if unknown.is_empty() {
        return Ok((known, Vec::new()));
    }
    let (kinds, ids): (Vec<&str>, Vec<&str>) =
        unknown.iter().map(|key| (key.kind.name(), key.id.as_str())).unzip();
    let sql = format!(
        "{RECORDS} JOIN unnest($1::text[], $2::text[]) AS k (kind, id) ON r.kind = k.kind AND r.id = k.id"
    );
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for row in &session.query(&sql, &[&kinds, &ids]).await? {
        match record(row) {
            Ok(record) => found.push(Arc::new(record)),
            // An undecodable row must not fail the whole turn.
            Err(StoreError::Corrupt(_)) => {
                let (kind, id): (&str, &str) = (get(row, 0)?, get(row, 1)?);
                let is_it = |key: &&RecordKey| key.kind.name() == kind && key.id == id;
                unreadable.extend(unknown.iter().copied().find(is_it).cloned());
            }
            Err(error) => return Err(error),
        }
    }
    merchants.keep(&found);
    found.extend(known);
    Ok((found, unreadable))
}

pub(super) async fn find(
    session: &Session<'_, impl GenericClient>,
    key: &RecordKey,
) -> Result<Option<Record>, StoreError> {
    let sql = format!("{RECORDS} WHERE r.kind = $1 AND r.id = $2");
    session.query(&sql, &[&key.kind.name(), &key.id]).await?.first().map(record).transpose()
}

/// A page before an id, newest first.
pub(super) async fn page(
    session: &Session<'_, impl GenericClient>,
    kind: Kind,
    merchant: Option<&str>,
    before: Option<&str>,
    limit: u32,
) -> Result<RecordPage, StoreError> {
    let (mut page, mut before) = (RecordPage::default(), before.map(str::to_owned));
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    loop {
        // Undecodable rows do not count towards the limit.
        let missing = wanted.saturating_sub(page.records.len());
        let at_most = i64::try_from(missing).map_err(damaged)?;
        let kind = kind.name();
        // One statement per combination of filters: a plan for all combinations would use no index.
        let always: [&(dyn ToSql + Sync); 2] = [&kind, &at_most];
        let (condition, more): (&str, Vec<&(dyn ToSql + Sync)>) = match (&merchant, &before) {
            (None, None) => ("", Vec::new()),
            (Some(merchant), None) => ("AND r.merchant = $3", vec![merchant]),
            (None, Some(before)) => ("AND r.id < $3", vec![before]),
            (Some(merchant), Some(before)) => {
                ("AND r.merchant = $3 AND r.id < $4", vec![merchant, before])
            }
        };
        let values = [always.as_slice(), &more].concat();
        let sql = format!("{RECORDS} WHERE r.kind = $1 {condition} ORDER BY r.id DESC LIMIT $2");
        let rows = session.query(&sql, &values).await?;
        for row in &rows {
            page.push(get(row, 1)?, record(row))?;
        }
        if rows.len() < missing || page.records.len() >= wanted {
            return Ok(page);
        }
        before = rows.last().map(|row| get(row, 1)).transpose()?;
    }
}

pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let (known, new): (Vec<&RecordWrite>, Vec<&RecordWrite>) =
        commit.records.iter().partition(|change| change.before.is_some());
    let Columns { kinds, ids, versions, contents, updated } = Columns::new(&new)?;
    let merchants: Vec<&str> = new.iter().map(|change| change.after.merchant()).collect();
    let created: Vec<i64> =
        new.iter().map(|change| change.after.created_at.as_microsecond()).collect();
    let sql = "INSERT INTO registry (kind, id, merchant, version, content, created_at, updated_at)
               SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[],
                                    $7::bigint[])";
    let values: [&(dyn ToSql + Sync); 7] =
        [&kinds, &ids, &merchants, &versions, &contents, &created, &updated];
    session.write(sql, &values, new.len()).await?;

    let Columns { kinds, ids, versions, contents, updated } = Columns::new(&known)?;
    let before = known.iter().map(|change| number(change.before.unwrap_or_default()));
    let before = before.collect::<Result<Vec<i64>, _>>()?;
    let sql = "UPDATE registry r SET version = k.version, content = k.content, updated_at = k.updated_at
               FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[])
                    AS k (kind, id, version, content, updated_at, before)
               WHERE r.kind = k.kind AND r.id = k.id AND r.version = k.before";
    let values: [&(dyn ToSql + Sync); 6] = [&kinds, &ids, &versions, &contents, &updated, &before];
    session.write(sql, &values, known.len()).await
}

/// Precondition (optimistic lock): the records that the decision relied on are as the turn read them. The turn holds the
/// lock of the head, so no other turn can commit a change. The check is skipped if no merchant has changed and the
/// decision relied on merchants only.
pub(super) async fn check(
    session: &Session<'_, Transaction<'_>>,
    commit: &Commit,
    no_merchant_has_changed: bool,
) -> Result<(), StoreError> {
    let needs_no_check =
        |(key, _): &(RecordKey, u64)| no_merchant_has_changed && matches!(key.kind, Kind::Merchant);
    if commit.relied_on.iter().all(needs_no_check) {
        return Ok(());
    }
    let (kinds, ids): (Vec<&str>, Vec<&str>) =
        commit.relied_on.iter().map(|(key, _)| (key.kind.name(), key.id.as_str())).unzip();
    let versions = commit.relied_on.iter().map(|(_, version)| number(*version));
    let versions = versions.collect::<Result<Vec<i64>, _>>()?;
    let sql = "SELECT count(*) FROM registry r
               JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS k (kind, id, version)
                    ON r.kind = k.kind AND r.id = k.id AND r.version = k.version";
    let rows = session.query(sql, &[&kinds, &ids, &versions]).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    let is_same = usize::try_from(count) == Ok(commit.relied_on.len());
    if is_same { Ok(()) } else { Err(StoreError::Conflict) }
}

/// The merchants version after this commit.
pub(super) fn next_merchants_version(commit: &Commit, found: i64) -> i64 {
    let is_merchant = |change: &RecordWrite| change.after.content.merchant().is_some();
    found.saturating_add(i64::from(commit.records.iter().any(is_merchant)))
}

/// The columns that both INSERT and UPDATE write.
struct Columns<'c> {
    kinds: Vec<&'static str>,
    ids: Vec<&'c str>,
    versions: Vec<i64>,
    contents: Vec<String>,
    updated: Vec<i64>,
}

impl<'c> Columns<'c> {
    fn new(changes: &[&'c RecordWrite]) -> Result<Self, StoreError> {
        let records = || changes.iter().map(|change| &change.after);
        Ok(Self {
            kinds: records().map(|record| record.content.kind().name()).collect(),
            ids: records().map(|record| record.id.as_str()).collect(),
            versions: records().map(|record| number(record.version)).collect::<Result<_, _>>()?,
            contents: records().map(|record| record.content.encode()).collect(),
            updated: records().map(|record| record.updated_at.as_microsecond()).collect(),
        })
    }
}

fn number(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(damaged)
}

fn record(row: &Row) -> Result<Record, StoreError> {
    Ok(Record {
        id: get(row, 1)?,
        version: u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?,
        content: Content::decode(get(row, 0)?, get(row, 3)?).map_err(damaged)?,
        created_at: time(get(row, 4)?)?,
        updated_at: time(get(row, 5)?)?,
    })
}
