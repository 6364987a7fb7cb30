//! Lists in pages, newest first.

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::Flow;
use bursar_core::flow::host;
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::row::{self, get};
use super::{Postgres, feed, flows, lanes, registry};
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, FlowPage, LaneCursor, LanePage, Live, Overdue, RecordPage,
    WINDOW, busy_lanes, condition, waiting_channels,
};
use crate::chart_lines::{damaged, time};

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

    async fn list_flows_desc(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> Result<FlowPage, StoreError> {
        self.reconnect().await?;
        let before = before.map_or(Uuid::max(), FlowId::uuid);
        let from = filter.from.map(Timestamp::as_microsecond);
        let until = filter.until.map(Timestamp::as_microsecond);
        let (window, rows) = (i64::from(WINDOW), i64::from(limit));
        let endpoint = filter.endpoint();
        let values: [&(dyn ToSql + Sync); 9] = [
            &before,
            &window,
            &rows,
            &filter.kind,
            &filter.status,
            &filter.merchant,
            &from,
            &until,
            &endpoint,
        ];
        let found = flows::back(&self.session(), &condition('$'), &values).await?;
        let sql = "SELECT id FROM flows WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2";
        let rows = self.session().query(sql, &[&before, &window.saturating_sub(1)]).await?;
        let end = rows.first().map(|row| get(row, 0)).transpose()?.map(FlowId::from_uuid);
        Ok(FlowPage::new(found, limit, end))
    }

    async fn list_lane_desc(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> Result<LanePage, StoreError> {
        self.reconnect().await?;
        let at = before.map_or(i64::MAX, |(at, _)| at.as_microsecond());
        let flow = before.map_or(Uuid::max(), |(_, flow)| flow.uuid());
        let from = filter.from.map(Timestamp::as_microsecond);
        let until = filter.until.map(Timestamp::as_microsecond);
        let (window, rows, endpoint) = (i64::from(WINDOW), i64::from(limit), filter.endpoint());
        let values: [&(dyn ToSql + Sync); 11] = [
            &lane,
            &window,
            &rows,
            &filter.kind,
            &filter.status,
            &filter.merchant,
            &from,
            &until,
            &endpoint,
            &at,
            &flow,
        ];
        let found = lanes::list_lane_desc(&self.session(), &condition('$'), &values).await?;
        let sql = "SELECT due_at, flow FROM due WHERE lane = $1 AND (due_at, flow) < ($2, $3)
                   ORDER BY due_at DESC, flow DESC LIMIT 1 OFFSET $4";
        let values: [&(dyn ToSql + Sync); 4] = [&lane, &at, &flow, &window.saturating_sub(1)];
        let rows = self.session().query(sql, &values).await?;
        let cursor = |row| Ok((time(get(row, 0)?)?, FlowId::from_uuid(get(row, 1)?)));
        let end = rows.first().map(cursor).transpose()?;
        Ok(LanePage::new(found, limit, end))
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

    async fn live_channels(&mut self) -> Result<Vec<String>, StoreError> {
        self.reconnect().await?;
        let sql = format!(
            "{}
             UNION
             SELECT f.state::json #>> '{{flow,terms,channel}}' COLLATE \"C\"
             FROM due d JOIN flows f ON f.id = d.flow
             WHERE d.lane IN ({}) AND f.kind = 'payout' ORDER BY channel",
            waiting_channels(),
            busy_lanes()
        );
        self.session().query(&sql, &[]).await?.iter().map(|row| get(row, 0)).collect()
    }

    async fn live(&mut self) -> Result<Vec<Live>, StoreError> {
        self.reconnect().await?;
        let sql = "SELECT f.kind, f.status, count(*), min(f.updated_at) FROM due d JOIN flows f ON f.id = d.flow
                   GROUP BY f.kind, f.status ORDER BY f.kind COLLATE \"C\", f.status COLLATE \"C\"";
        let live = |row| {
            Ok(Live {
                kind: get(row, 0)?,
                status: get(row, 1)?,
                count: u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?,
                oldest: time(get(row, 3)?)?,
            })
        };
        self.session().query(sql, &[]).await?.iter().map(live).collect()
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        self.reconnect().await?;
        let sql =
            "SELECT lane, count(*), min(due_at) FROM due WHERE lane = ANY ($1) AND due_at <= $2
                   GROUP BY lane ORDER BY lane";
        let overdue = |row| {
            Ok(Overdue {
                lane: get(row, 0)?,
                count: u64::try_from(get::<i64>(row, 1)?).map_err(damaged)?,
                since: time(get(row, 2)?)?,
            })
        };
        let lanes: Vec<&str> = host::lanes().collect();
        let rows = self.session().query(sql, &[&lanes, &now.as_microsecond()]).await?;
        rows.iter().map(overdue).collect()
    }
}
