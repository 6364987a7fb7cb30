//! The relay: reads the outbox and signals the cluster. It starts the workflows of new flows, wakes workflows whose flows were
//! changed by another caller, and starts overdue workflows again. A repeated entry has no further effect.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bursar_core::flow::Listed as _;
use bursar_core::flow::host::{AckOutbox, ClaimOutbox, ClaimedEntry, OutboxAck, OutboxKind, lanes};
use bursar_core::ids::FlowId;
use bursar_core::turn::Ask;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use temporalio_client::errors::{WorkflowInteractionError, WorkflowStartError};
use temporalio_client::tonic::{Code, IntoRequest as _, Status};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::MemoValues;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::driver::{Run, Signalled, Signals};
use crate::kinds::{self, WorkflowKind, with_kind};
use crate::port::HostPort;

pub struct Relay {
    port: Arc<dyn HostPort>,
    client: Client,
    hurry: Notify,
}

impl fmt::Debug for Relay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Relay").finish_non_exhaustive()
    }
}

/// How many entries of a lane are claimed at once, and how many calls to the cluster run at once: more starts would block
/// everything else in the cluster.
const CLAIM_MAX: u32 = 200;
const CALLS_AT_ONCE: usize = 8;
/// The pause after an empty pass.
const REST: Duration = Duration::from_millis(250);
/// The longest pause while the cluster does not answer; the pause doubles every time.
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How long the cluster may not answer, and how often a workflow may be overdue, before an alert is raised.
const ALERT_AFTER: Duration = Duration::from_mins(2);
const SWEEPS_MAX: u32 = 3;
const NO_ANSWER: &str = "the Temporal cluster or the books do not answer, and workflows are not started: what was asked for is saved and waits. Look at the log of this process, and at both";
const STAND_STILL: &str = "workflows stand still although the cluster was told of it again and again: their money stays where it is. Look whether a worker runs";
/// The memo field with the name of the flow.
const MEMO: &str = "Flow";

/// What the cluster did with an outbox entry.
enum SignalResult {
    /// Perhaps under another workflow id.
    Accepted { renamed: Option<String> },
    /// The entry stays in the outbox and is tried again later.
    Refused(String),
    /// The cluster does not answer: further entries are not tried now.
    Unreachable(String),
}

impl Relay {
    pub fn new(port: Arc<dyn HostPort>, cluster: &Cluster) -> Arc<Self> {
        Arc::new(Self { port, client: cluster.client.clone(), hurry: Notify::new() })
    }

    /// There may be new entries: the next pass starts at once.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Runs until it is dropped. The next relay finds every entry that was not acknowledged.
    pub async fn run(&self) -> Infallible {
        let mut backoff = REST;
        let mut well_at = Instant::now();
        loop {
            // An entry that is claimed while the cluster does not answer only waits longer.
            let passed = match self.check_cluster(backoff > REST).await {
                Ok(()) => self.pass().await,
                Err(reason) => Err(reason),
            };
            match passed {
                Ok(count) => {
                    (backoff, well_at) = (REST, Instant::now());
                    if count == 0 {
                        drop(tokio::time::timeout(REST, self.hurry.notified()).await);
                    }
                }
                Err(reason) => {
                    tracing::warn!(%reason, "the cluster was not told: it is told later");
                    if well_at.elapsed() >= ALERT_AFTER {
                        self.port.raise_alert(NO_ANSWER.to_owned());
                    }
                    tokio::time::sleep(backoff).await;
                    backoff = backoff.saturating_mul(2).min(BACKOFF_MAX);
                }
            }
        }
    }

    /// Whether the cluster answers. Asked only after it did not.
    async fn check_cluster(&self, is_doubtful: bool) -> Result<(), String> {
        if !is_doubtful {
            return Ok(());
        }
        let mut service = self.client.connection().workflow_service();
        let asked = service.get_system_info(GetSystemInfoRequest {}.into_request()).await;
        asked.map(drop).map_err(|status| status.message().to_owned())
    }

    /// Handles all entries that are available now, and returns their number.
    async fn pass(&self) -> Result<usize, String> {
        // Claims that are asked together are one turn.
        let claims =
            lanes().map(|lane| self.ask(ClaimOutbox { lane: lane.to_owned(), limit: CLAIM_MAX }));
        let mut claimed = Vec::new();
        for entries in join_all(claims).await {
            claimed.extend(entries?);
        }
        let count = claimed.len();
        let sweeps = |it: &ClaimedEntry| it.flow.host.workflow().map_or(0, |it| it.sweeps);
        if claimed.iter().any(|entry| sweeps(entry) >= SWEEPS_MAX) {
            self.port.raise_alert(STAND_STILL.to_owned());
        }
        self.signal_all(claimed).await?;
        Ok(count)
    }

    async fn ask<A: Ask>(&self, request: A) -> Result<A::Reply, String> {
        let answer = self.port.ask(request.into()).await?;
        let reply = answer.map_err(|rejection| rejection.to_string())?;
        let unexpected = || "the books gave something else than was asked for".to_owned();
        A::reply(reply).ok_or_else(unexpected)
    }

    async fn signal_all(&self, claimed: Vec<ClaimedEntry>) -> Result<(), String> {
        let is_gone = &AtomicBool::new(false);
        let calls = claimed.into_iter().map(|claimed| async move {
            if is_gone.load(Ordering::Relaxed) {
                let reason = "the cluster was not asked any more".to_owned();
                return (claimed, SignalResult::Unreachable(reason));
            }
            let result = self.signal(&claimed).await;
            is_gone.fetch_or(matches!(result, SignalResult::Unreachable(_)), Ordering::Relaxed);
            (claimed, result)
        });
        let mut calls = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE);
        let (mut flows, mut unreachable) = (BTreeMap::<FlowId, OutboxAck>::new(), None);
        while let Some((claimed, result)) = calls.next().await {
            match result {
                SignalResult::Accepted { renamed } => {
                    flows.insert(claimed.flow.id, OutboxAck { entry: claimed.entry, renamed });
                }
                SignalResult::Refused(reason) => {
                    let (flow, workflow) = (claimed.flow.name(), &claimed.workflow);
                    self.port.raise_alert(format!(
                        "the cluster refuses workflow {workflow} of {flow}, which is offered again; until then nothing is sent and its money stays where it is: {reason}. Put that right in the namespace"
                    ));
                }
                SignalResult::Unreachable(reason) => {
                    unreachable = unreachable.or(Some(reason));
                }
            }
        }
        if !flows.is_empty() {
            self.ask(AckOutbox { flows }).await?;
        }
        unreachable.map_or(Ok(()), Err)
    }

    async fn signal(&self, claimed: &ClaimedEntry) -> SignalResult {
        match kinds::of_flow(&claimed.flow) {
            Some(kind) => with_kind!(kind, K => self.signal_workflow::<K>(claimed).await),
            // No workflow drives flows of other kinds.
            None => SignalResult::Accepted { renamed: None },
        }
    }

    async fn signal_workflow<K: WorkflowKind>(&self, claimed: &ClaimedEntry) -> SignalResult {
        let ClaimedEntry { flow, workflow: id, entry } = claimed;
        let input = K::Flow::of(&flow.state).map(|state| K::start_input(flow, state));
        let input = input.unwrap_or_default();
        match entry.kind {
            OutboxKind::Start(_) => {
                let started = self.start::<K>(claimed, id, input.clone()).await;
                let Err(WorkflowStartError::AlreadyStarted { .. }) = started else {
                    return result_of_start(started, None);
                };
                match self.is_ours::<K>(claimed).await {
                    Ok(true) => SignalResult::Accepted { renamed: None },
                    Ok(false) => {
                        // Two payouts may need the same workflow id: the name of the flow makes it unique.
                        let other = format!("{id}-{}", flow.name());
                        let started = self.start::<K>(claimed, &other, input).await;
                        result_of_start(started, Some(other))
                    }
                    Err(failed) => failed,
                }
            }
            OutboxKind::Wake if flow.is_live() => {
                let (run, signals) = (Run::<K>::new(), Signals::<K>::new());
                let options = options::<K>(claimed, id);
                let signal = Signalled::wake();
                let client = &self.client;
                let woken =
                    client.signal_with_start_workflow(run, input, signals, signal, options).await;
                result_of_start(woken.map(drop), None)
            }
            OutboxKind::Wake => {
                let workflow = self.client.get_workflow_handle::<Run<K>>(id.as_str());
                let options = WorkflowSignalOptions::default();
                match workflow.signal(Signals::<K>::new(), Signalled::wake(), options).await {
                    // The flow is over, and so is its workflow.
                    Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => {
                        SignalResult::Accepted { renamed: None }
                    }
                    Err(WorkflowInteractionError::Rpc(status)) => result_of_status(&status),
                    Err(error) => SignalResult::Refused(error.to_string()),
                }
            }
        }
    }

    async fn start<K: WorkflowKind>(
        &self,
        claimed: &ClaimedEntry,
        id: &str,
        input: Value,
    ) -> Result<(), WorkflowStartError> {
        let options = options::<K>(claimed, id);
        self.client.start_workflow(Run::<K>::new(), input, options).await.map(drop)
    }

    /// Whether the workflow with this id drives this flow.
    async fn is_ours<K: WorkflowKind>(&self, claimed: &ClaimedEntry) -> Result<bool, SignalResult> {
        let workflow = self.client.get_workflow_handle::<Run<K>>(claimed.workflow.as_str());
        let described = workflow.describe(WorkflowDescribeOptions::default()).await;
        let described = described.map_err(|error| {
            if let WorkflowInteractionError::Rpc(status) = &error {
                return result_of_status(status);
            }
            SignalResult::Refused(error.to_string())
        })?;
        let info = described.raw().workflow_execution_info.as_ref();
        let memo = info.and_then(|info| info.memo.as_ref()?.fields.get(MEMO));
        let flow = memo.and_then(|payload| serde_json::from_slice::<String>(&payload.data).ok());
        Ok(flow == Some(claimed.flow.name()))
    }
}

fn options<K: WorkflowKind>(claimed: &ClaimedEntry, id: &str) -> WorkflowStartOptions {
    let mut memo = MemoValues::new();
    memo.insert(MEMO, claimed.flow.name());
    WorkflowStartOptions::new(K::TASK_QUEUE, id).memo(memo).build()
}

fn result_of_start(
    started: Result<(), WorkflowStartError>,
    renamed: Option<String>,
) -> SignalResult {
    match started {
        // A start is idempotent.
        Ok(()) | Err(WorkflowStartError::AlreadyStarted { .. }) => {
            SignalResult::Accepted { renamed }
        }
        Err(WorkflowStartError::Rpc(status)) => result_of_status(&status),
        Err(error) => SignalResult::Refused(error.to_string()),
    }
}

fn result_of_status(status: &Status) -> SignalResult {
    let reason = status.message().to_owned();
    // The codes of a cluster that goes down or comes up; every other code is about this request.
    let passing = [
        Code::Aborted,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::Internal,
        Code::ResourceExhausted,
        Code::Unavailable,
        Code::Unknown,
    ];
    if passing.contains(&status.code()) {
        SignalResult::Unreachable(reason)
    } else {
        SignalResult::Refused(reason)
    }
}
