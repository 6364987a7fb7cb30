//! Batched look-ups: what verification needs beside the rows that it walks through, a page at a time.

use std::collections::BTreeSet;
use std::future::Future;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Flow};
use bursar_core::ids::FlowId;
use bursar_core::ledger::{Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{ReadPlan, ReadSet};

use crate::StoreError;

pub trait Lookup {
    /// The references, transactions and holds of a plan, without locks.
    fn planned(&mut self, plan: &ReadPlan) -> impl Future<Output = Result<ReadSet, StoreError>>;

    /// The transactions of these events and references, each with its cursor.
    fn bookings(
        &mut self,
        references: &BTreeSet<(Name, String)>,
    ) -> impl Future<Output = Result<Vec<(Cursor, Transaction)>, StoreError>>;

    /// At most `limit` events and references under which more than one transaction is posted.
    fn repeated_references(
        &mut self,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Name, String)>, StoreError>>;

    /// The number of events and the last event of each of these resources that has any.
    fn last_events(
        &mut self,
        resources: &[String],
    ) -> impl Future<Output = Result<Vec<(u64, FeedEvent)>, StoreError>>;

    /// At most `limit` holds after a key, in order.
    fn hold_rows(
        &mut self,
        after: Option<&HoldKey>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(HoldKey, Hold)>, StoreError>>;

    /// At most `limit` due rows after one, by lane and time.
    fn due_rows(
        &mut self,
        after: Option<&(Due, FlowId)>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(Due, FlowId)>, StoreError>>;

    /// Those of these due rows that do not exist.
    fn missing_due(
        &mut self,
        rows: &[(Due, FlowId)],
    ) -> impl Future<Output = Result<Vec<(Due, FlowId)>, StoreError>>;

    /// Those of these flows that do not exist.
    fn missing_flows(
        &mut self,
        ids: &[FlowId],
    ) -> impl Future<Output = Result<Vec<FlowId>, StoreError>>;

    /// These flows in this order. None for a flow that cannot be decoded: it must not hide the others.
    fn flows_by_id(
        &mut self,
        ids: &[FlowId],
    ) -> impl Future<Output = Result<Vec<Option<Flow>>, StoreError>>;
}
