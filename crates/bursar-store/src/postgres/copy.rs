//! Writes many rows by binary COPY, which the server processes faster than any statement. This module encodes the rows: the
//! driver's own writer checks the type of every value.

use std::io::Cursor;
use std::pin::Pin;

use bursar_core::feed::FeedEvent;
use bursar_core::flow::Flow;
use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::{Hold, HoldState};
use bursar_core::turn::{FlowWrite, HoldWrite};
use futures_util::SinkExt as _;
use tokio_postgres::{CopyInSink, Transaction};
use uuid::Uuid;

use super::classify;
use super::session::{Session, expect};
use crate::StoreError;
use crate::chart_lines::damaged;

/// Number of rows from which COPY is faster, in spite of twice as many round trips.
pub(crate) const MANY: usize = 32;

const HOLDS: &str =
    "COPY holds (gl, reference, account, currency, amount, epoch, ended_by) FROM STDIN BINARY";
const FLOWS: &str =
    "COPY flows (id, kind, merchant, status, version, sequence, state, created_at, updated_at, parent)
    FROM STDIN BINARY";
const ATTEMPTS: &str = "COPY attempts (channel, reference, flow) FROM STDIN BINARY";
const DUE: &str = "COPY due (lane, due_at, flow) FROM STDIN BINARY";
const KEYS: &str = "COPY keys (digest, scope, key, request_hash, flow, reply) FROM STDIN BINARY";
const EVENTS: &str =
    "COPY events (commit_id, n, id, kind, resource, merchant, sequence, time, data)
    FROM STDIN BINARY";

/// One value of a row.
#[derive(Debug, Clone, Copy)]
pub enum Field<'f> {
    Null,
    Number(i64),
    Uuid(Uuid),
    Text(&'f str),
    Bytes(&'f [u8]),
    /// An array of `int4`.
    Integers(&'f [i32]),
}

impl From<Option<Uuid>> for Field<'_> {
    fn from(uuid: Option<Uuid>) -> Self {
        uuid.map_or(Self::Null, Self::Uuid)
    }
}

/// A COPY in progress, in the server's binary format.
pub struct Copy {
    sink: Pin<Box<CopyInSink<Cursor<Vec<u8>>>>>,
    /// Bytes not yet sent.
    buffer: Vec<u8>,
    rows: usize,
}

/// Bytes per message: large enough to make the cost per message small, small enough for the processor's cache.
const CHUNK: usize = 64 << 10;
/// Signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The trailer, in place of the field count of a row.
const END: &[u8] = &[0xff, 0xff];

impl std::fmt::Debug for Copy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Copy").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Copy {
    pub async fn begin(
        session: &Session<'_, Transaction<'_>>,
        sql: &str,
    ) -> Result<Self, StoreError> {
        let statement = session.prepare(sql).await?;
        let sink = session.client.copy_in(&statement).await.map_err(|error| classify(&error))?;
        Ok(Self { sink: Box::pin(sink), buffer: HEADER.to_vec(), rows: 0 })
    }

    pub async fn row(&mut self, fields: &[Field<'_>]) -> Result<(), StoreError> {
        self.rows = self.rows.saturating_add(1);
        self.buffer.extend(i16::try_from(fields.len()).map_err(damaged)?.to_be_bytes());
        for field in fields {
            put(&mut self.buffer, *field)?;
        }
        if self.buffer.len() < CHUNK { Ok(()) } else { self.send().await }
    }

    async fn send(&mut self) -> Result<(), StoreError> {
        let room = CHUNK.saturating_add(CHUNK >> 3);
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(room));
        self.sink.send(Cursor::new(full)).await.map_err(|error| classify(&error))
    }

    /// Fails unless the server has written every row.
    pub async fn finish(mut self) -> Result<(), StoreError> {
        self.buffer.extend(END);
        self.send().await?;
        let count = self.sink.as_mut().finish().await.map_err(|error| classify(&error))?;
        expect(count, self.rows)
    }
}

/// Length first, then the value. Null has the length -1.
fn put(buffer: &mut Vec<u8>, field: Field<'_>) -> Result<(), StoreError> {
    let length = |length: usize| i32::try_from(length).map(i32::to_be_bytes).map_err(damaged);
    match field {
        Field::Null => buffer.extend((-1_i32).to_be_bytes()),
        Field::Number(number) => {
            buffer.extend(length(8)?);
            buffer.extend(number.to_be_bytes());
        }
        Field::Uuid(uuid) => {
            buffer.extend(length(16)?);
            buffer.extend(uuid.as_bytes());
        }
        Field::Text(text) => return put(buffer, Field::Bytes(text.as_bytes())),
        Field::Bytes(bytes) => {
            buffer.extend(length(bytes.len())?);
            buffer.extend(bytes);
        }
        Field::Integers(numbers) => {
            // Header: one dimension, no nulls, type `int4`, the count, lower bound 1. Then each element with its length.
            buffer.extend(length(numbers.len().saturating_mul(8).saturating_add(20))?);
            for number in [1_i32, 0, 23] {
                buffer.extend(number.to_be_bytes());
            }
            buffer.extend(length(numbers.len())?);
            buffer.extend(1_i32.to_be_bytes());
            for element in numbers {
                buffer.extend(length(4)?);
                buffer.extend(element.to_be_bytes());
            }
        }
    }
    Ok(())
}

/// Copies new holds.
pub async fn holds(
    session: &Session<'_, Transaction<'_>>,
    changes: &[&HoldWrite],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, HOLDS).await?;
    for HoldWrite { key, after, .. } in changes {
        let fields = [
            Field::Number(i64::from(key.code.number())),
            Field::Text(&key.reference),
            Field::Text(&after.account),
            Field::Text(after.money.code()),
            Field::Number(after.money.minor()),
            Field::Number(i64::from(after.epoch)),
            ended_by(after).into(),
        ];
        copy.row(&fields).await?;
    }
    copy.finish().await
}

pub(super) fn ended_by(hold: &Hold) -> Option<Uuid> {
    match hold.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid()),
    }
}

/// Copies new flows, each with its encoded state.
pub async fn flows<'f>(
    session: &Session<'_, Transaction<'_>>,
    flows: impl Iterator<Item = (&'f Flow, impl AsRef<str>)>,
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, FLOWS).await?;
    for (flow, state) in flows {
        let number = |number: u64| i64::try_from(number).map_err(damaged);
        let fields = [
            Field::Uuid(flow.id.uuid()),
            Field::Text(flow.state.kind()),
            Field::Text(&flow.merchant),
            Field::Text(flow.state.status()),
            Field::Number(number(flow.version)?),
            Field::Number(number(flow.sequence)?),
            Field::Text(state.as_ref()),
            Field::Number(flow.created_at.as_microsecond()),
            Field::Number(flow.updated_at.as_microsecond()),
            flow.state.parent().into(),
        ];
        copy.row(&fields).await?;
    }
    copy.finish().await
}

pub async fn attempts(
    session: &Session<'_, Transaction<'_>>,
    changes: &[FlowWrite],
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, ATTEMPTS).await?;
    for change in changes {
        for (speaker, reference) in change.new_references() {
            let flow = Field::Uuid(change.after.id.uuid());
            copy.row(&[Field::Text(&speaker), Field::Text(reference), flow]).await?;
        }
    }
    copy.finish().await
}

/// Copies due rows: lane, time and flow.
pub async fn due<'r>(
    session: &Session<'_, Transaction<'_>>,
    rows: impl Iterator<Item = (&'r str, i64, Uuid)>,
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, DUE).await?;
    for (lane, time, flow) in rows {
        copy.row(&[Field::Text(lane), Field::Number(time), Field::Uuid(flow)]).await?;
    }
    copy.finish().await
}

/// Copies keys in the given order.
pub async fn keys<'k>(
    session: &Session<'_, Transaction<'_>>,
    keys: impl Iterator<Item = &'k KnownKey>,
) -> Result<(), StoreError> {
    let mut copy = Copy::begin(session, KEYS).await?;
    for known in keys {
        let digest = known.key.digest();
        let fields = [
            Field::Bytes(&digest),
            Field::Text(known.key.scope()),
            Field::Text(known.key.value()),
            Field::Bytes(&known.request_hash),
            Field::Uuid(known.flow.uuid()),
            Field::Text(&known.text),
        ];
        copy.row(&fields).await?;
    }
    copy.finish().await
}

pub async fn events(
    session: &Session<'_, Transaction<'_>>,
    id: CommitId,
    events: &[FeedEvent],
) -> Result<(), StoreError> {
    let commit_id = Field::Uuid(id.uuid());
    let mut copy = Copy::begin(session, EVENTS).await?;
    for (event, n) in events.iter().zip(0_i64..) {
        let fields = [
            commit_id,
            Field::Number(n),
            Field::Uuid(event.id.uuid()),
            Field::Text(&event.kind),
            Field::Text(&event.resource),
            Field::Text(&event.merchant),
            Field::Number(i64::try_from(event.sequence).map_err(damaged)?),
            Field::Number(event.time.as_microsecond()),
            Field::Text(&event.data),
        ];
        copy.row(&fields).await?;
    }
    copy.finish().await
}
