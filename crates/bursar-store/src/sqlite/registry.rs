//! Registry records: merchants, beneficiaries, API keys, endpoints and alerts.

use bursar_core::registry::{Content, Kind, Record, RecordKey};
use bursar_core::turn::Commit;
use rusqlite::{Connection, Row, params};

use super::load::{all, one};
use super::row::get;
use super::save::write_one;
use crate::chart_lines::{damaged, time};
use crate::{RecordPage, StoreError};

/// The columns that `record` reads.
const RECORDS: &str = "SELECT kind, id, version, content, created_at, updated_at FROM registry";

pub(super) fn find(connection: &Connection, key: &RecordKey) -> Result<Option<Record>, StoreError> {
    let sql = format!("{RECORDS} WHERE kind = ?1 AND id = ?2");
    one(connection, &sql, params![key.kind.name(), key.id], record)
}

/// A page before an id, newest first.
pub(super) fn page(
    connection: &Connection,
    kind: Kind,
    merchant: Option<&str>,
    before: Option<&str>,
    limit: u32,
) -> Result<RecordPage, StoreError> {
    let sql = format!(
        "{RECORDS} WHERE kind = ?1 AND (?2 IS NULL OR merchant = ?2) AND (?3 IS NULL OR id < ?3)
         ORDER BY id DESC LIMIT ?4"
    );
    let (mut page, mut before) = (RecordPage::default(), before.map(str::to_owned));
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    loop {
        // Undecodable rows do not count towards the limit.
        let missing = wanted.saturating_sub(page.records.len());
        let values = params![kind.name(), merchant, before, number(missing)?];
        let rows = all(connection, &sql, values, |row| Ok((get::<String>(row, 1)?, record(row))))?;
        before = rows.last().map(|(id, _)| id.clone());
        let count = rows.len();
        for (id, read) in rows {
            page.push(id, read)?;
        }
        if count < missing || page.records.len() >= wanted {
            return Ok(page);
        }
    }
}

/// The records that the decision relied on need no check: SQLite has no other writer between load and save.
pub(super) fn save(connection: &Connection, commit: &Commit) -> Result<(), StoreError> {
    for change in &commit.records {
        let record = &change.after;
        let version = number(record.version)?;
        let (kind, content) = (record.content.kind().name(), record.content.encode());
        let updated_at = record.updated_at.as_microsecond();
        match change.before {
            None => {
                let sql = "INSERT INTO registry (kind, id, merchant, version, content, created_at, updated_at)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
                let created_at = record.created_at.as_microsecond();
                let merchant = record.merchant();
                let values =
                    params![kind, record.id, merchant, version, content, created_at, updated_at];
                write_one(connection, sql, values)?;
            }
            Some(before) => {
                let sql = "UPDATE registry SET version = ?3, content = ?4, updated_at = ?5
                           WHERE kind = ?1 AND id = ?2 AND version = ?6";
                let values =
                    params![kind, record.id, version, content, updated_at, number(before)?];
                write_one(connection, sql, values)?;
            }
        }
    }
    Ok(())
}

fn number(number: impl TryInto<i64, Error: std::fmt::Display>) -> Result<i64, StoreError> {
    number.try_into().map_err(damaged)
}

fn record(row: &Row<'_>) -> Result<Record, StoreError> {
    let (kind, content): (String, String) = (get(row, 0)?, get(row, 3)?);
    Ok(Record {
        id: get(row, 1)?,
        version: u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?,
        content: Content::decode(&kind, &content).map_err(damaged)?,
        created_at: time(get(row, 4)?)?,
        updated_at: time(get(row, 5)?)?,
    })
}
