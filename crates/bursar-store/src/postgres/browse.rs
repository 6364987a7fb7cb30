//! Lists in pages, newest first.

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::{Flow, Review, host};
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;
use uuid::Uuid;

use super::row::{self, get};
use super::{Postgres, feed, flows, lanes, registry, tallies};
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, LaneCursor, OVERDUE_MAX, Overdue, RecordPage, ReviewCursor,
    ReviewFilter, Scan,
};
use crate::chart_lines::{damaged, time};

impl Scan for Postgres {
    async fn flow_keys(
        &mut self,
        filter: &FlowFilter,
        range: (FlowId, FlowId),
        limit: usize,
    ) -> Result<Vec<(FlowId, String)>, StoreError> {
        self.reconnect().await?;
        flows::listed(&self.session(), filter, range, limit).await
    }

    async fn lane_keys(
        &mut self,
        lane: &str,
        before: LaneCursor,
        limit: usize,
    ) -> Result<Vec<LaneCursor>, StoreError> {
        self.reconnect().await?;
        lanes::keys(&self.session(), lane, before, limit).await
    }

    async fn review_rows(
        &mut self,
        filter: &ReviewFilter,
        after: ReviewCursor,
        limit: usize,
    ) -> Result<Vec<Review>, StoreError> {
        self.reconnect().await?;
        tallies::reviews(&self.session(), filter, after, limit).await
    }
}

impl Browse for Postgres {
    async fn accounts_at(
        &mut self,
        addresses: &[Name],
    ) -> Result<Vec<(Name, Account)>, StoreError> {
        self.reconnect().await?;
        self.lines = row::chart_lines(&self.client).await?;
        let sql = "SELECT address, balance, currency, line, received FROM accounts WHERE address = ANY($1)
                   ORDER BY address, currency";
        let addresses: Vec<&str> = addresses.iter().map(|address| &**address).collect();
        let rows = self.session().query(sql, &[&addresses]).await?;
        let account = |row| Ok((get::<String>(row, 0)?.into(), row::account(row, 1, &self.lines)?));
        rows.iter().map(account).collect()
    }

    async fn flows_known_as(
        &mut self,
        text: &str,
        below: FlowId,
        limit: u32,
    ) -> Result<Vec<FlowId>, StoreError> {
        self.reconnect().await?;
        tallies::known_as(&self.session(), text, below, limit).await
    }

    async fn deliveries_of(&mut self, event: EventId) -> Result<Vec<Flow>, StoreError> {
        self.reconnect().await?;
        lanes::deliveries_of(&self.session(), event).await
    }

    async fn events_of(
        &mut self,
        resource: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<FeedEvent>, StoreError> {
        self.reconnect().await?;
        feed::of(&self.session(), resource, after, limit).await
    }

    async fn audit_back(
        &mut self,
        before: Option<AuditCursor>,
        limit: u32,
    ) -> Result<Vec<(AuditCursor, AuditEntry)>, StoreError> {
        self.reconnect().await?;
        let commit = before.map_or(Uuid::max(), |cursor| cursor.commit.uuid());
        let n = i64::try_from(before.map_or(0, |cursor| cursor.n)).map_err(damaged)?;
        let sql = "SELECT actor, action, resource, note, time, commit_id, n FROM audit
                   WHERE (commit_id, n) < ($1, $2) ORDER BY commit_id DESC, n DESC LIMIT $3";
        let rows = self.session().query(sql, &[&commit, &n, &i64::from(limit)]).await?;
        let entry = |row| {
            let cursor = AuditCursor {
                commit: CommitId::from_uuid(get(row, 5)?),
                n: u64::try_from(get::<i64>(row, 6)?).map_err(damaged)?,
            };
            Ok((cursor, feed::entry(row)?))
        };
        rows.iter().map(entry).collect()
    }

    async fn record(&mut self, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.reconnect().await?;
        registry::find(&self.session(), key).await
    }

    async fn records(
        &mut self,
        kind: Kind,
        merchant: Option<&str>,
        before: Option<&str>,
        limit: u32,
    ) -> Result<RecordPage, StoreError> {
        self.reconnect().await?;
        registry::page(&self.session(), kind, merchant, before, limit).await
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        self.reconnect().await?;
        let sql = format!(
            "SELECT lane, waiting, first FROM unnest($1::text[]) AS lanes (lane)
             CROSS JOIN LATERAL (SELECT count(*) AS waiting, min(due_at) AS first FROM
                 (SELECT due_at FROM due d WHERE d.lane = lanes.lane AND due_at <= $2
                  ORDER BY due_at LIMIT {OVERDUE_MAX}) e) w
             WHERE waiting > 0 ORDER BY lane"
        );
        let overdue = |row| {
            Ok(Overdue {
                lane: get(row, 0)?,
                count: u64::try_from(get::<i64>(row, 1)?).map_err(damaged)?,
                since: time(get(row, 2)?)?,
            })
        };
        let lanes: Vec<&str> = host::lanes().collect();
        let rows = self.session().query(&sql, &[&lanes, &now.as_microsecond()]).await?;
        rows.iter().map(overdue).collect()
    }
}
