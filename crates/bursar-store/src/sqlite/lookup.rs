//! Batched look-ups, by cached statements.

use std::collections::BTreeSet;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::FlowId;
use bursar_core::ledger::{Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{ReadPlan, ReadSet};
use rusqlite::params;
use uuid::Uuid;

use super::load::{all, first, load, prepare, transaction, transaction_id};
use super::row::{self, get};
use super::{Sqlite, feed, flows};
use crate::chart_lines::{damaged, parse, time};
use crate::{Lookup, StoreError};

impl Lookup for Sqlite {
    async fn planned(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        load(&self.connection, &self.lines, plan)
    }

    async fn bookings(
        &mut self,
        references: &BTreeSet<(Name, String)>,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        let sql = "SELECT t.id, c.seq, t.n FROM transactions t JOIN commits c ON c.id = t.commit_id
                   WHERE t.event = ?1 AND t.reference = ?2";
        let mut statement = prepare(&self.connection, sql)?;
        let mut bookings = Vec::new();
        for (event, reference) in references {
            let found = first(&mut statement, params![&**event, reference], |row| {
                let commit = u64::try_from(get::<i64>(row, 1)?).map_err(damaged)?;
                let rows = u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?.saturating_add(1);
                Ok((Cursor { commit, rows }, transaction_id(get(row, 0)?)))
            })?;
            let Some((cursor, id)) = found else { continue };
            bookings.extend(transaction(&self.connection, id)?.map(|found| (cursor, found)));
        }
        Ok(bookings)
    }

    async fn repeated_references(&mut self, limit: u32) -> Result<Vec<(Name, String)>, StoreError> {
        let sql = "SELECT event, reference FROM transactions
                   GROUP BY event, reference HAVING count(*) > 1 LIMIT ?1";
        all(&self.connection, sql, [limit], |row| Ok((get::<String>(row, 0)?.into(), get(row, 1)?)))
    }

    async fn last_events(
        &mut self,
        resources: &[String],
    ) -> Result<Vec<(u64, FeedEvent)>, StoreError> {
        feed::last(&self.connection, resources)
    }

    async fn hold_rows(
        &mut self,
        after: Option<&HoldKey>,
        limit: u32,
    ) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
        let sql = "SELECT gl, reference, account, currency, amount, epoch, ended_by FROM holds
                   WHERE (gl, reference) > (?1, ?2) ORDER BY gl, reference LIMIT ?3";
        let gl = after.map_or(0, |key| key.code.number());
        let reference = after.map_or("", |key| key.reference.as_str());
        all(&self.connection, sql, params![gl, reference, limit], |row| {
            let code = parse(&get::<i64>(row, 0)?.to_string(), "a GL code")?;
            Ok((HoldKey { code, reference: get(row, 1)? }, row::hold(row, 2)?))
        })
    }

    async fn due_rows(
        &mut self,
        after: Option<&(Due, FlowId)>,
        limit: u32,
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        let sql = "SELECT lane, due_at, flow FROM due WHERE (lane, due_at, flow) > (?1, ?2, ?3)
                   ORDER BY lane, due_at, flow LIMIT ?4";
        let lane = after.map_or("", |(due, _)| due.lane.as_str());
        let at = after.map_or(i64::MIN, |(due, _)| due.at.as_microsecond());
        let flow = after.map_or(Uuid::nil(), |(_, flow)| flow.uuid());
        let values = params![lane, at, flow.as_bytes().as_slice(), limit];
        all(&self.connection, sql, values, |row| {
            let due = Due { lane: get(row, 0)?, at: time(get(row, 1)?)? };
            Ok((due, flows::flow_id(row, 2)?))
        })
    }

    async fn missing_due(
        &mut self,
        rows: &[(Due, FlowId)],
    ) -> Result<Vec<(Due, FlowId)>, StoreError> {
        let sql = "SELECT 1 FROM due WHERE lane = ?1 AND due_at = ?2 AND flow = ?3";
        let mut statement = prepare(&self.connection, sql)?;
        let mut missing = Vec::new();
        for row in rows {
            let (Due { lane, at }, flow) = (&row.0, row.1.uuid());
            let values = params![lane, at.as_microsecond(), flow.as_bytes().as_slice()];
            if first(&mut statement, values, |_| Ok(()))?.is_none() {
                missing.push(row.clone());
            }
        }
        Ok(missing)
    }

    async fn missing_flows(&mut self, ids: &[FlowId]) -> Result<Vec<FlowId>, StoreError> {
        let mut statement = prepare(&self.connection, "SELECT 1 FROM flows WHERE id = ?1")?;
        let mut missing = Vec::new();
        for id in ids {
            let uuid = id.uuid();
            if first(&mut statement, [uuid.as_bytes().as_slice()], |_| Ok(()))?.is_none() {
                missing.push(*id);
            }
        }
        Ok(missing)
    }

    async fn flows_by_id(&mut self, ids: &[FlowId]) -> Result<Vec<Option<Flow>>, StoreError> {
        flows::by_id(&self.connection, ids)
    }
}
