//! Many rows of a kind by binary copy: the server takes them faster than by any statement.

use std::pin::Pin;

use bursar_core::commit::{FlowWrite, HoldWrite};
use bursar_core::feed::FeedEvent;
use bursar_core::flow::Flow;
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::{Hold, HoldState};
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::classify;
use super::flows::DueRows;
use super::session::{Session, expect};
use crate::StoreError;
use crate::chart_lines::damaged;

/// From how many rows on copying is faster: it asks for twice as many answers.
pub(crate) const MANY: usize = 32;

const HOLDS: &str =
    "COPY holds (gl, reference, account, currency, amount, epoch, ended_by) FROM STDIN BINARY";
const FLOWS: &str =
    "COPY flows (id, kind, merchant, status, version, sequence, state, created_at, updated_at)
    FROM STDIN BINARY";
const ATTEMPTS: &str = "COPY attempts (channel, reference, flow) FROM STDIN BINARY";
const DUE: &str = "COPY due (lane, due_at, flow) FROM STDIN BINARY";
const KEYS: &str = "COPY keys (digest, scope, key, request_hash, flow, reply) FROM STDIN BINARY";
const EVENTS: &str =
    "COPY events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
    FROM STDIN BINARY";

/// Rows on their way into a table.
pub(crate) struct Copy {
    writer: Pin<Box<BinaryCopyInWriter>>,
    rows: usize,
}

impl Copy {
    pub(crate) async fn begin(
        session: &Session<'_, Transaction<'_>>,
        sql: &str,
        types: &[Type],
    ) -> Result<Self, StoreError> {
        let statement = session.prepare(sql).await?;
        let sink = session.client.copy_in(&statement).await.map_err(|error| classify(&error))?;
        Ok(Self { writer: Box::pin(BinaryCopyInWriter::new(sink, types)), rows: 0 })
    }

    pub(crate) async fn row(&mut self, values: &[&(dyn ToSql + Sync)]) -> Result<(), StoreError> {
        self.rows = self.rows.saturating_add(1);
        self.writer.as_mut().write(values).await.map_err(|error| classify(&error))
    }

    /// Every row was written, or it fails.
    pub(crate) async fn finish(mut self) -> Result<(), StoreError> {
        let count = self.writer.as_mut().finish().await.map_err(|error| classify(&error))?;
        expect(count, self.rows)
    }
}

/// Holds that were not there before.
pub(crate) async fn holds(
    session: &Session<'_, Transaction<'_>>,
    changes: &[&HoldWrite],
) -> Result<(), StoreError> {
    let types =
        [Type::INT8, Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8, Type::INT8, Type::UUID];
    let mut copy = Copy::begin(session, HOLDS, &types).await?;
    for HoldWrite { key, after, .. } in changes {
        let code: i64 = key.code.to_string().parse().map_err(damaged)?;
        let (currency, minor) = (after.money.currency(), after.money.minor());
        let values: [&(dyn ToSql + Sync); 7] = [
            &code,
            &key.reference,
            &&*after.account,
            &currency.code(),
            &minor,
            &i64::from(after.epoch),
            &ended_by(after),
        ];
        copy.row(&values).await?;
    }
    copy.finish().await
}

pub(super) fn ended_by(hold: &Hold) -> Option<Uuid> {
    match hold.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid()),
    }
}

/// Flows that were not there before, each with its state as text.
pub(crate) async fn flows<'f>(
    session: &Session<'_, Transaction<'_>>,
    flows: impl Iterator<Item = (&'f Flow, impl AsRef<str>)>,
) -> Result<(), StoreError> {
    let (text, number) = (Type::TEXT, Type::INT8);
    let types = [
        Type::UUID,
        text.clone(),
        text.clone(),
        text.clone(),
        number.clone(),
        number.clone(),
        text,
        number.clone(),
        number,
    ];
    let mut copy = Copy::begin(session, FLOWS, &types).await?;
    for (flow, state) in flows {
        let number = |number: u64| i64::try_from(number).map_err(damaged);
        let values: [&(dyn ToSql + Sync); 9] = [
            &flow.id.uuid(),
            &flow.state.kind(),
            &flow.merchant,
            &flow.state.status(),
            &number(flow.version)?,
            &number(flow.sequence)?,
            &state.as_ref(),
            &flow.created_at.as_microsecond(),
            &flow.updated_at.as_microsecond(),
        ];
        copy.row(&values).await?;
    }
    copy.finish().await
}

pub(crate) async fn attempts(
    session: &Session<'_, Transaction<'_>>,
    changes: &[FlowWrite],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, ATTEMPTS, &[Type::TEXT, Type::TEXT, Type::UUID]).await?;
    for change in changes {
        for (speaker, reference) in change.new_references() {
            copy.row(&[&&*speaker, &reference, &change.after.id.uuid()]).await?;
        }
    }
    copy.finish().await
}

pub(super) async fn due(
    session: &Session<'_, Transaction<'_>>,
    rows: &DueRows,
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, DUE, &[Type::TEXT, Type::INT8, Type::UUID]).await?;
    for ((lane, time), flow) in rows.lanes.iter().zip(&rows.times).zip(&rows.flows) {
        copy.row(&[lane, time, flow]).await?;
    }
    copy.finish().await
}

/// Keys in the order in which they come.
pub(crate) async fn keys<'k>(
    session: &Session<'_, Transaction<'_>>,
    keys: impl Iterator<Item = &'k KnownKey>,
) -> Result<(), StoreError> {
    let types = [Type::BYTEA, Type::TEXT, Type::TEXT, Type::BYTEA, Type::UUID, Type::TEXT];
    let mut copy = Copy::begin(session, KEYS, &types).await?;
    for known in keys {
        let digest = known.key.digest();
        let values: [&(dyn ToSql + Sync); 6] = [
            &digest.as_slice(),
            &known.key.scope(),
            &known.key.key(),
            &known.request_hash.as_slice(),
            &known.flow.uuid(),
            &known.text,
        ];
        copy.row(&values).await?;
    }
    copy.finish().await
}

pub(crate) async fn events(
    session: &Session<'_, Transaction<'_>>,
    id: CommitId,
    events: &[FeedEvent],
) -> Result<(), StoreError> {
    let (uuid, text, number) = (Type::UUID, Type::TEXT, Type::INT8);
    let types = [
        uuid.clone(),
        number.clone(),
        uuid,
        text.clone(),
        text.clone(),
        text.clone(),
        number.clone(),
        number,
        text,
    ];
    let commit_id = id.uuid();
    let mut copy = Copy::begin(session, EVENTS, &types).await?;
    for (event, n) in events.iter().zip(0_i64..) {
        let values: [&(dyn ToSql + Sync); 9] = [
            &commit_id,
            &n,
            &event.id.uuid(),
            &event.kind,
            &event.resource,
            &event.merchant,
            &i64::try_from(event.sequence).map_err(damaged)?,
            &event.time.as_microsecond(),
            &event.data,
        ];
        copy.row(&values).await?;
    }
    copy.finish().await
}
