//! Batched look-ups, each in one statement. An index probe for each key: a plan made on an empty table must not scan a
//! full one.

use std::collections::BTreeSet;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::FlowId;
use bursar_core::ledger::{Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{ReadPlan, ReadSet};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::load::{self, TRANSACTIONS, cursor, hold_key, transaction};
use super::row::{self, get};
use super::{Postgres, feed, flows};
use crate::chart_lines::time;
use crate::{Lookup, StoreError};

impl Lookup for Postgres {
    async fn planned(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        self.reconnect().await?;
        load::unlocked(&self.session(), plan).await
    }

    async fn bookings(
        &mut self,
        references: &BTreeSet<(Name, String)>,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        self.reconnect().await?;
        let (events, references): (Vec<&str>, Vec<&str>) =
            references.iter().map(|(event, reference)| (&**event, reference.as_str())).unzip();
        let sql = format!(
            "WITH found AS MATERIALIZED (
                 SELECT t.id FROM (SELECT unnest($1::text[]) AS event, unnest($2::text[]) AS reference) k
                 CROSS JOIN LATERAL (SELECT id FROM transactions t
                     WHERE t.event = k.event AND t.reference = k.reference LIMIT 1) t)
             {TRANSACTIONS} WHERE t.id = ANY (ARRAY(SELECT id FROM found))"
        );
        let rows = self.session().query(&sql, &[&events, &references]).await?;
        rows.iter().map(|row| Ok((cursor(row)?, transaction(row)?))).collect()
    }

    async fn repeated_references(&mut self, limit: u32) -> Result<Vec<(Name, String)>, StoreError> {
        self.reconnect().await?;
        let sql = "SELECT event, reference FROM transactions
                   GROUP BY event, reference HAVING count(*) > 1 LIMIT $1";
        let rows = self.session().query(sql, &[&i64::from(limit)]).await?;
        rows.iter().map(|row| Ok((get::<String>(row, 0)?.into(), get(row, 1)?))).collect()
    }

    async fn last_events(
        &mut self,
        resources: &[String],
    ) -> Result<Vec<(u64, FeedEvent)>, StoreError> {
        self.reconnect().await?;
        feed::last(&self.session(), resources).await
    }

    async fn hold_rows(
        &mut self,
        after: Option<&HoldKey>,
        limit: u32,
    ) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
        self.reconnect().await?;
        let sql = "SELECT gl, reference, account, currency, amount, epoch, ended_by FROM holds
                   WHERE (gl, reference) > ($1, $2) ORDER BY gl, reference LIMIT $3";
        let gl = after.map_or(0, |key| i64::from(key.code.number()));
        let reference = after.map_or("", |key| key.reference.as_str());
        let values: [&(dyn ToSql + Sync); 3] = [&gl, &reference, &i64::from(limit)];
        let rows = self.session().query(sql, &values).await?;
        rows.iter().map(|row| Ok((hold_key(row)?, row::hold(row, 2)?))).collect()
    }

    async fn due_rows(
        &mut self,
        after: Option<&(Due, FlowId)>,
        limit: u32,
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        self.reconnect().await?;
        let sql = "SELECT lane, due_at, flow FROM due WHERE (lane, due_at, flow) > ($1, $2, $3)
                   ORDER BY lane, due_at, flow LIMIT $4";
        let lane = after.map_or("", |(due, _)| due.lane.as_str());
        let at = after.map_or(i64::MIN, |(due, _)| due.at.as_microsecond());
        let flow = after.map_or(Uuid::nil(), |(_, flow)| flow.uuid());
        let values: [&(dyn ToSql + Sync); 4] = [&lane, &at, &flow, &i64::from(limit)];
        let row = |row: &Row| {
            let due = Due { lane: get(row, 0)?, at: time(get(row, 1)?)? };
            Ok((due, FlowId::from_uuid(get(row, 2)?)))
        };
        self.session().query(sql, &values).await?.iter().map(row).collect()
    }

    async fn missing_due(
        &mut self,
        rows: &[(Due, FlowId)],
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        self.reconnect().await?;
        let lanes: Vec<&str> = rows.iter().map(|(due, _)| due.lane.as_str()).collect();
        let times: Vec<i64> = rows.iter().map(|(due, _)| due.at.as_microsecond()).collect();
        let flows: Vec<Uuid> = rows.iter().map(|(_, flow)| flow.uuid()).collect();
        let sql = "SELECT k.place - 1 FROM unnest($1::text[], $2::bigint[], $3::uuid[]) WITH ORDINALITY
                       AS k (lane, due_at, flow, place)
                   LEFT JOIN LATERAL (SELECT 1 AS found FROM due d
                       WHERE d.lane = k.lane AND d.due_at = k.due_at AND d.flow = k.flow LIMIT 1) d ON true
                   WHERE d.found IS NULL";
        let missing = self.session().query(sql, &[&lanes, &times, &flows]).await?;
        let mut found = Vec::new();
        for row in &missing {
            let place = usize::try_from(get::<i64>(row, 0)?).unwrap_or(usize::MAX);
            found.extend(rows.get(place).cloned());
        }
        Ok(found)
    }

    async fn missing_flows(&mut self, ids: &[FlowId]) -> Result<Vec<FlowId>, StoreError> {
        self.reconnect().await?;
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let sql = "SELECT k.id FROM unnest($1::uuid[]) AS k (id)
                   LEFT JOIN LATERAL (SELECT 1 AS found FROM flows f WHERE f.id = k.id LIMIT 1) f ON true
                   WHERE f.found IS NULL";
        let missing = self.session().query(sql, &[&ids]).await?;
        missing.iter().map(|row| Ok(FlowId::from_uuid(get(row, 0)?))).collect()
    }

    async fn flows_by_id(&mut self, ids: &[FlowId]) -> Result<Vec<Option<Flow>>, StoreError> {
        self.reconnect().await?;
        flows::by_id(&self.session(), ids).await
    }
}
