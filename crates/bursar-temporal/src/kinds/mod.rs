//! The kinds of flows that workflows drive. A new kind is its file, one line in the table, and its messages in `lib.rs`.

pub(crate) mod delivery;
pub(crate) mod payout;

use bursar_core::flow::{Flow, Kind as _, KindInfo, Listed, Outcome, Pool};
use bursar_core::ids::FlowId;
use serde_json::Value;

use crate::activities::{Activities, Failed};
use crate::activity_table::Activity;
use crate::message::{Next, Order, Step};
use crate::signals::WorkflowRef;

pub use delivery::{DeliveryRequest, WebhookDeliveryResult};
pub use payout::{DisbursementRequest, DisbursementResult, ManualResolution};

/// What differs between workflows.
pub(crate) trait WorkflowKind: 'static {
    /// The kind of flow in the core.
    type Flow: Listed;

    /// The workflow type.
    const NAME: &'static str;
    /// The query that returns the status.
    const QUERY: &'static str;
    /// The signal by which operators decide, if the kind has one.
    const SIGNAL: Option<Signal>;
    const TASK_QUEUE: &'static str;
    /// The activities besides those that all kinds share: every activity that the core names for this kind, and its own.
    const ACTIVITIES: &'static [Activity];

    /// The first activity of a workflow, and its input.
    fn opening(input: &Value) -> (Next, Order);

    /// The input of the new run when a history has become long.
    fn resumed(input: &Value, _flow: &str) -> Value {
        input.clone()
    }

    /// The result as the client that started the workflow expects it.
    fn final_result(_input: &Value, result: Value) -> Value {
        result
    }

    /// The input with which the relay starts the workflow of a flow.
    fn start_input(flow: &Flow, state: &Self::Flow) -> Value;

    /// The channel or endpoint that effects go to.
    fn lane(state: &Self::Flow) -> String;

    /// The pool whose slots limit effects in this lane. None if the lane names no pool: then no effect is begun.
    fn pool(lane: &str) -> Option<Pool>;

    /// The answer of the status query.
    fn status(flow: &Flow, state: &Self::Flow) -> Value;

    /// The result of the workflow once the flow is over.
    fn result(flow: &Flow, state: &Self::Flow) -> Value;

    /// The outcome as it may stand in a history.
    fn redact(outcome: Outcome) -> Outcome {
        outcome
    }

    /// A client has cancelled the workflow: cancels the flow, if that is possible.
    fn cancel(
        activities: &Activities,
        order: &Order,
        workflow: &WorkflowRef,
    ) -> impl Future<Output = Result<Step, Failed>> + Send;
}

/// A signal, and the activity that executes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    pub(crate) name: &'static str,
    pub(crate) activity: &'static str,
}

/// What a workflow shows of a flow.
pub(crate) struct Facts {
    pub(crate) lane: String,
    pub(crate) status: Value,
    pub(crate) result: Value,
}

impl Facts {
    pub(crate) fn of<K: WorkflowKind>(flow: &Flow) -> Option<Self> {
        let state = K::Flow::of(&flow.state)?;
        let (status, result) = (K::status(flow, state), K::result(flow, state));
        Some(Self { lane: K::lane(state), status, result })
    }
}

/// ```text
/// kinds! { Payout(payout::Disbursement), … }     makes
///
/// pub(crate) enum AnyKind { Payout, … }          with AnyKind::ALL, ACTIVITY_COUNT
/// with_kind!(kind, K => K::NAME)                 match, one arm for each kind, with K as its type
/// ```
macro_rules! kinds {
    ($($Kind:ident($module:ident::$Workflow:ident),)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum AnyKind { $($Kind,)* }

        impl AnyKind {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$Kind),*];
            pub(crate) const ACTIVITY_COUNT: usize =
                0 $(+ <$module::$Workflow as WorkflowKind>::ACTIVITIES.len())*;
        }

        macro_rules! with_kind {
            ($kind:expr, $K:ident => $body:expr) => {
                match $kind {
                    $($crate::kinds::AnyKind::$Kind => {
                        type $K = $crate::kinds::$module::$Workflow;
                        $body
                    })*
                }
            };
        }
        pub(crate) use with_kind;
    };
}

kinds! {
    Payout(payout::Disbursement),
    Delivery(delivery::WebhookDelivery),
}

impl AnyKind {
    fn info(self) -> &'static KindInfo {
        with_kind!(self, K => &<K as WorkflowKind>::Flow::INFO)
    }

    pub(crate) fn name(self) -> &'static str {
        self.info().name
    }

    pub(crate) fn activities(self) -> &'static [Activity] {
        with_kind!(self, K => K::ACTIVITIES)
    }

    pub(crate) fn task_queue(self) -> &'static str {
        with_kind!(self, K => K::TASK_QUEUE)
    }
}

/// The kind of a flow. None if no workflow drives such flows.
pub(crate) fn of_flow(flow: &Flow) -> Option<AnyKind> {
    with_prefix(flow.state.info().prefix)
}

/// The kind and the id of the flow that has this name.
pub(crate) fn of_name(name: &str) -> Option<(AnyKind, FlowId)> {
    let (prefix, digits) = name.split_once('_')?;
    let id = format!("{}_{digits}", FlowId::PREFIX).parse().ok()?;
    Some((with_prefix(prefix)?, id))
}

fn with_prefix(prefix: &str) -> Option<AnyKind> {
    AnyKind::ALL.iter().copied().find(|kind| kind.info().prefix == prefix)
}

#[cfg(test)]
mod tests;
