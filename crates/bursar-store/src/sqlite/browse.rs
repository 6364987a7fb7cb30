//! Lists in pages, newest first.

use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::Flow;
use bursar_core::ids::{CommitId, EventId, FlowId};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record, RecordKey};
use jiff::Timestamp;
use rusqlite::params;
use uuid::Uuid;

use super::load::{all, one};
use super::row::{self, get};
use super::{Sqlite, feed, flows, registry};
use crate::StoreError;
use crate::browse::{
    AuditCursor, Browse, FlowFilter, FlowPage, LaneCursor, LanePage, Live, Overdue, RecordPage,
    WINDOW, busy_lanes, condition, outbox_lanes, waiting_channels,
};
use crate::chart_lines::{damaged, time};

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

    async fn list_flows_desc(
        &mut self,
        filter: &FlowFilter,
        before: Option<FlowId>,
        limit: u32,
    ) -> Result<FlowPage, StoreError> {
        let before = before.map_or(Uuid::max(), FlowId::uuid);
        let from = filter.from.map(Timestamp::as_microsecond);
        let until = filter.until.map(Timestamp::as_microsecond);
        let found = flows::back(
            &self.connection,
            &condition('?'),
            params![
                before.as_bytes().as_slice(),
                WINDOW,
                limit,
                filter.kind,
                filter.status,
                filter.merchant,
                from,
                until,
                filter.endpoint()
            ],
        )?;
        let sql = "SELECT id FROM flows WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";
        let values = params![before.as_bytes().as_slice(), WINDOW.saturating_sub(1)];
        let end = one(&self.connection, sql, values, |row| {
            Ok(FlowId::from_uuid(Uuid::from_bytes(get(row, 0)?)))
        })?;
        Ok(FlowPage::new(found, limit, end))
    }

    async fn list_lane_desc(
        &mut self,
        lane: &str,
        filter: &FlowFilter,
        before: Option<LaneCursor>,
        limit: u32,
    ) -> Result<LanePage, StoreError> {
        let at = before.map_or(i64::MAX, |(at, _)| at.as_microsecond());
        let flow = before.map_or(Uuid::max(), |(_, flow)| flow.uuid());
        let flow = flow.as_bytes().as_slice();
        let from = filter.from.map(Timestamp::as_microsecond);
        let until = filter.until.map(Timestamp::as_microsecond);
        let values = params![
            lane,
            WINDOW,
            limit,
            filter.kind,
            filter.status,
            filter.merchant,
            from,
            until,
            filter.endpoint(),
            at,
            flow
        ];
        let found = flows::list_lane_desc(&self.connection, &condition('?'), values)?;
        let sql = "SELECT due_at, flow FROM due WHERE lane = ?1 AND (due_at, flow) < (?2, ?3)
                   ORDER BY due_at DESC, flow DESC LIMIT 1 OFFSET ?4";
        let values = params![lane, at, flow, WINDOW.saturating_sub(1)];
        let end = one(&self.connection, sql, values, |row| {
            Ok((time(get(row, 0)?)?, FlowId::from_uuid(Uuid::from_bytes(get(row, 1)?))))
        })?;
        Ok(LanePage::new(found, limit, end))
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

    async fn live_channels(&mut self) -> Result<Vec<String>, StoreError> {
        all(&self.connection, &live_channels(), [], |row| get(row, 0))
    }

    async fn live(&mut self) -> Result<Vec<Live>, StoreError> {
        let sql = "SELECT f.kind, f.status, count(*), min(f.updated_at) FROM due d JOIN flows f ON f.id = d.flow
                   GROUP BY f.kind, f.status ORDER BY f.kind, f.status";
        all(&self.connection, sql, [], |row| {
            Ok(Live {
                kind: get(row, 0)?,
                status: get(row, 1)?,
                count: u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?,
                oldest: time(get(row, 3)?)?,
            })
        })
    }

    async fn overdue_outbox(&mut self, now: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        let lanes = outbox_lanes();
        let sql = format!(
            "SELECT lane, count(*), min(due_at) FROM due WHERE lane IN ({lanes}) AND due_at <= ?1
             GROUP BY lane ORDER BY lane"
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

fn live_channels() -> String {
    format!(
        "{}
         UNION
         SELECT json_extract(f.state, '$.flow.terms.channel')
         FROM due d CROSS JOIN flows f ON f.id = d.flow
         WHERE d.lane IN ({}) AND f.kind = 'payout' ORDER BY channel",
        waiting_channels(),
        busy_lanes()
    )
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::live_channels;
    use crate::sqlite::embedded;

    /// Every process runs this query at start, while many payouts may be scheduled.
    #[test]
    fn the_query_for_live_channels_does_not_scan_the_due_table() {
        let mut connection = Connection::open_in_memory().unwrap();
        embedded::migrations::runner().run(&mut connection).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", live_channels());
        let mut statement = connection.prepare(&sql).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(plan.iter().any(|step| step.starts_with("SEARCH d ")), "{plan:#?}");
        assert!(!plan.iter().any(|step| step.starts_with("SCAN d")), "{plan:#?}");
    }
}
