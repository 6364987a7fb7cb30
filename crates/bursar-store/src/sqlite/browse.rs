//! Lists in pages, newest first.

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::{Flow, Review};
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;
use rusqlite::params;
use uuid::Uuid;

use super::load::all;
use super::row::{self, get};
use super::{Sqlite, feed, flows, registry, tallies};
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, LaneCursor, OVERDUE_MAX, Overdue, RecordPage, ReviewCursor,
    ReviewFilter, Scan, outbox_lanes,
};
use crate::chart_lines::{damaged, time};

impl Scan for Sqlite {
    async fn flow_keys(
        &mut self,
        filter: &FlowFilter,
        range: (FlowId, FlowId),
        limit: usize,
    ) -> Result<Vec<(FlowId, String)>, StoreError> {
        flows::listed(&self.connection, filter, range, limit)
    }

    async fn lane_keys(
        &mut self,
        lane: &str,
        before: LaneCursor,
        limit: usize,
    ) -> Result<Vec<LaneCursor>, StoreError> {
        flows::lane_keys(&self.connection, lane, before, limit)
    }

    async fn review_rows(
        &mut self,
        filter: &ReviewFilter,
        after: ReviewCursor,
        limit: usize,
    ) -> Result<Vec<Review>, StoreError> {
        tallies::reviews(&self.connection, filter, after, limit)
    }
}

impl Browse for Sqlite {
    async fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> Result<Vec<(Name, Account)>, StoreError> {
        self.lines = row::chart_lines(&self.connection)?;
        let sql = "SELECT address, balance, currency, line, received FROM accounts
                   WHERE address IN (SELECT value FROM json_each(?1)) ORDER BY address, currency";
        let addresses: Vec<&str> = addresses.iter().map(|address| &**address).collect();
        let addresses = serde_json::to_string(&addresses).map_err(damaged)?;
        all(&self.connection, sql, [addresses], |row| {
            Ok((get::<String>(row, 0)?.into(), row::account(row, 1, &self.lines)?))
        })
    }

    async fn flows_known_as(
        &mut self,
        text: &str,
        below: FlowId,
        limit: u32,
    ) -> Result<Vec<FlowId>, StoreError> {
        tallies::known_as(&self.connection, text, below, limit)
    }

    async fn deliveries_of(&mut self, event: EventId) -> Result<Vec<Flow>, StoreError> {
        flows::deliveries_of(&self.connection, event)
    }

    async fn events_of(
        &mut self,
        resource: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<FeedEvent>, StoreError> {
        feed::of(&self.connection, resource, after, limit)
    }

    async fn audit_back(
        &mut self,
        before: Option<AuditCursor>,
        limit: u32,
    ) -> Result<Vec<(AuditCursor, AuditEntry)>, StoreError> {
        let commit = before.map_or(Uuid::max(), |cursor| cursor.commit.uuid());
        let n = before.map_or(0, |cursor| cursor.n);
        let sql = "SELECT actor, action, resource, note, time, commit_id, n FROM audit
                   WHERE (commit_id, n) < (?1, ?2) ORDER BY commit_id DESC, n DESC LIMIT ?3";
        let n = i64::try_from(n).map_err(damaged)?;
        all(&self.connection, sql, params![commit.as_bytes().as_slice(), n, limit], |row| {
            let cursor = AuditCursor {
                commit: CommitId::from_uuid(Uuid::from_bytes(get(row, 5)?)),
                n: u64::try_from(get::<i64>(row, 6)?).map_err(damaged)?,
            };
            Ok((cursor, feed::entry(row)?))
        })
    }

    async fn record(&mut self, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        registry::find(&self.connection, key)
    }

    async fn records(
        &mut self,
        kind: Kind,
        merchant: Option<&str>,
        before: Option<&str>,
        limit: u32,
    ) -> Result<RecordPage, StoreError> {
        registry::page(&self.connection, kind, merchant, before, limit)
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        let lanes = outbox_lanes();
        let sql = format!(
            "WITH lanes (lane) AS (VALUES {lanes})
             SELECT lane, (SELECT count(*) FROM (SELECT 1 FROM due d
                           WHERE d.lane = lanes.lane AND due_at <= ?1 LIMIT {OVERDUE_MAX})) AS waiting,
                    (SELECT min(due_at) FROM due d WHERE d.lane = lanes.lane)
             FROM lanes WHERE waiting > 0 ORDER BY lane"
        );
        all(&self.connection, &sql, [now.as_microsecond()], |row| {
            Ok(Overdue {
                lane: get(row, 0)?,
                count: u64::try_from(get::<i64>(row, 1)?).map_err(damaged)?,
                since: time(get(row, 2)?)?,
            })
        })
    }
}
