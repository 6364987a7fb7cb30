//! The relay: tells the cluster what was saved for it. It starts the workflows of new flows, wakes those whose flows were
//! changed by others, and starts those again that should have moved long ago. Told twice is told once.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bursar_core::drive::{Carried, Drive};
use bursar_core::flow::FlowState;
use bursar_core::host::{ErrandKind, LANES, Taken};
use bursar_core::ids::FlowId;
use bursar_core::request::{Body, Reply};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use temporalio_client::errors::{WorkflowInteractionError, WorkflowStartError};
use temporalio_client::tonic::{Code, IntoRequest as _};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::MemoValues;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::deliveries::Delivery;
use crate::disbursements::Disbursement;
use crate::driver::{Kind, Run, Signalled, Signals};
use crate::port::Office;
use crate::{PAYOUT_QUEUE, WEBHOOK_QUEUE};

pub struct Relay {
    office: Arc<dyn Office>,
    client: Client,
    hurry: Notify,
}

impl fmt::Debug for Relay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Relay").finish_non_exhaustive()
    }
}

/// What a lane gives at once, and how many of these are told at once: a cluster that is flooded with starts does nothing
/// else.
const AT_ONCE: u32 = 200;
const CALLS_AT_ONCE: usize = 8;
/// How long nobody looks when there was nothing.
const REST: Duration = Duration::from_millis(250);
/// The same when the cluster does not answer; twice as long every time.
const TROUBLE_MAX: Duration = Duration::from_secs(10);
/// How long there may be trouble before somebody must look, and how often a workflow may be found late.
const ALARM_AFTER: Duration = Duration::from_mins(2);
const SWEEPS_MAX: u32 = 3;
const NOT_TOLD: &str = "the Temporal cluster or the books do not answer, and workflows are not started: what was asked for is saved and waits. Look at the log of this process, and at both";
const STAND_STILL: &str = "workflows stand still although the cluster was told of it again and again: their money stays where it is. Look whether a worker runs";
/// What names the flow in the memo of its workflow.
const MEMO: &str = "Flow";

/// What became of an errand.
enum Told {
    Taken {
        renamed: Option<String>,
    },
    /// It stays where it is, and is tried again later.
    Not(String),
    /// The cluster does not answer: nobody else need try now.
    Nobody(String),
}

impl Relay {
    pub fn new(office: Arc<dyn Office>, cluster: &Cluster) -> Arc<Self> {
        Arc::new(Self { office, client: cluster.client.clone(), hurry: Notify::new() })
    }

    /// There may be something to tell.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Runs until it is dropped. Whatever it leaves undone, the next one finds.
    pub async fn run(&self) -> Infallible {
        let mut trouble = REST;
        let mut well_at = Instant::now();
        loop {
            // Whatever is carried to a cluster that does not answer only waits longer.
            let passed = match self.is_there(trouble > REST).await {
                Ok(()) => self.pass().await,
                Err(reason) => Err(reason),
            };
            match passed {
                Ok(count) => {
                    (trouble, well_at) = (REST, Instant::now());
                    if count == 0 {
                        drop(tokio::time::timeout(REST, self.hurry.notified()).await);
                    }
                }
                Err(reason) => {
                    tracing::warn!(%reason, "the cluster was not told: it is told later");
                    if well_at.elapsed() >= ALARM_AFTER {
                        self.office.alarm(NOT_TOLD.to_owned());
                    }
                    tokio::time::sleep(trouble).await;
                    trouble = trouble.saturating_mul(2).min(TROUBLE_MAX);
                }
            }
        }
    }

    /// Whether the cluster answers; only asked when it did not.
    async fn is_there(&self, is_doubtful: bool) -> Result<(), String> {
        if !is_doubtful {
            return Ok(());
        }
        let mut service = self.client.connection().workflow_service();
        let asked = service.get_system_info(GetSystemInfoRequest {}.into_request()).await;
        asked.map(drop).map_err(|status| status.message().to_owned())
    }

    /// Everything that waits now, and how much that was.
    async fn pass(&self) -> Result<usize, String> {
        // Asked together, they are one turn.
        let carrying = LANES.map(|lane| {
            let carry = Drive::Carry { lane: lane.to_owned(), limit: AT_ONCE };
            self.office.ask(Body::Drive(carry))
        });
        let mut carried = Vec::new();
        for answer in join_all(carrying).await {
            match answer? {
                Ok(Reply::Carried(errands)) => carried.extend(errands),
                Ok(_) => return Err("the books gave something else than errands".to_owned()),
                Err(rejection) => return Err(rejection.to_string()),
            }
        }
        let count = carried.len();
        let sweeps = |it: &Carried| it.flow.host.workflow().map_or(0, |workflow| workflow.sweeps);
        if carried.iter().any(|errand| sweeps(errand) >= SWEEPS_MAX) {
            self.office.alarm(STAND_STILL.to_owned());
        }
        self.tell_all(carried).await?;
        Ok(count)
    }

    async fn tell_all(&self, carried: Vec<Carried>) -> Result<(), String> {
        let is_gone = &AtomicBool::new(false);
        let telling = carried.into_iter().map(|errand| async move {
            if is_gone.load(Ordering::Relaxed) {
                return (errand, Told::Nobody("nobody was asked any more".to_owned()));
            }
            let told = self.tell(&errand).await;
            is_gone.fetch_or(matches!(told, Told::Nobody(_)), Ordering::Relaxed);
            (errand, told)
        });
        let mut telling = stream::iter(telling).buffer_unordered(CALLS_AT_ONCE);
        let (mut taken, mut trouble) = (BTreeMap::<FlowId, Taken>::new(), None);
        while let Some((errand, told)) = telling.next().await {
            match told {
                Told::Taken { renamed } => {
                    taken.insert(errand.flow.id, Taken { errand: errand.errand, renamed });
                }
                Told::Not(reason) => {
                    let (flow, workflow) = (errand.flow.name(), &errand.workflow);
                    self.office.alarm(format!(
                        "the cluster refuses workflow {workflow} of {flow}, which is offered again; until then nothing is sent and its money stays where it is: {reason}. Put that right in the namespace"
                    ));
                }
                Told::Nobody(reason) => trouble = trouble.or(Some(reason)),
            }
        }
        if !taken.is_empty() {
            let answer = self.office.ask(Body::Drive(Drive::Taken { flows: taken })).await?;
            answer.map_err(|rejection| rejection.to_string())?;
        }
        trouble.map_or(Ok(()), Err)
    }

    async fn tell(&self, errand: &Carried) -> Told {
        match &errand.flow.state {
            FlowState::Payout(_) => {
                let input = json!({ "DisbursementID": errand.flow.name() });
                self.tell_workflow::<Disbursement>(errand, input, PAYOUT_QUEUE).await
            }
            FlowState::Delivery(delivery) => {
                let input = json!({
                    "DeliveryID": errand.flow.name(),
                    "EventID": delivery.terms.event.to_string(),
                    "EndpointID": delivery.terms.endpoint.to_string(),
                });
                self.tell_workflow::<Delivery>(errand, input, WEBHOOK_QUEUE).await
            }
            // Nobody outside drives these.
            FlowState::Reservation(_) | FlowState::PayIn(_) => Told::Taken { renamed: None },
        }
    }

    async fn tell_workflow<K: Kind>(&self, errand: &Carried, input: Value, queue: &str) -> Told {
        let id = errand.workflow.as_str();
        match errand.errand.kind {
            ErrandKind::StartPayout | ErrandKind::StartDelivery => {
                let started = self.start::<K>(errand, id, input.clone(), queue).await;
                let Err(WorkflowStartError::AlreadyStarted { .. }) = started else {
                    return told_of_start(started, None);
                };
                match self.is_ours::<K>(errand).await {
                    Ok(true) => Told::Taken { renamed: None },
                    Ok(false) => {
                        // Two payouts may want the same name: the books tell them apart, so must the cluster.
                        let other = format!("{id}-{}", errand.flow.name());
                        let started = self.start::<K>(errand, &other, input, queue).await;
                        told_of_start(started, Some(other))
                    }
                    Err(not_told) => not_told,
                }
            }
            ErrandKind::Wake if errand.flow.is_live() => {
                let (run, signals) = (Run::<K>::new(), Signals::<K>::new());
                let options = options(errand, id, queue);
                let signal = Signalled::wake();
                let client = &self.client;
                let woken =
                    client.signal_with_start_workflow(run, input, signals, signal, options).await;
                told_of_start(woken.map(drop), None)
            }
            ErrandKind::Wake => {
                let workflow = self.client.get_workflow_handle::<Run<K>>(id);
                let options = WorkflowSignalOptions::default();
                match workflow.signal(Signals::<K>::new(), Signalled::wake(), options).await {
                    // It is over, and so is its workflow.
                    Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => {
                        Told::Taken { renamed: None }
                    }
                    Err(WorkflowInteractionError::Rpc(status)) => not_told(&status),
                    Err(error) => Told::Not(error.to_string()),
                }
            }
        }
    }

    async fn start<K: Kind>(
        &self,
        errand: &Carried,
        id: &str,
        input: Value,
        queue: &str,
    ) -> Result<(), WorkflowStartError> {
        let options = options(errand, id, queue);
        self.client.start_workflow(Run::<K>::new(), input, options).await.map(drop)
    }

    /// Whether the workflow that has this name drives this very flow.
    async fn is_ours<K: Kind>(&self, errand: &Carried) -> Result<bool, Told> {
        let workflow = self.client.get_workflow_handle::<Run<K>>(&*errand.workflow);
        let described = workflow.describe(WorkflowDescribeOptions::default()).await;
        let described = described.map_err(|error| {
            if let WorkflowInteractionError::Rpc(status) = &error {
                return not_told(status);
            }
            Told::Not(error.to_string())
        })?;
        let info = described.raw().workflow_execution_info.as_ref();
        let memo = info.and_then(|info| info.memo.as_ref()?.fields.get(MEMO));
        let flow = memo.and_then(|payload| serde_json::from_slice::<String>(&payload.data).ok());
        Ok(flow == Some(errand.flow.name()))
    }
}

fn options(errand: &Carried, id: &str, queue: &str) -> WorkflowStartOptions {
    let mut memo = MemoValues::new();
    memo.insert(MEMO, errand.flow.name());
    WorkflowStartOptions::new(queue, id).memo(memo).build()
}

fn told_of_start(started: Result<(), WorkflowStartError>, renamed: Option<String>) -> Told {
    match started {
        // Already started is started.
        Ok(()) | Err(WorkflowStartError::AlreadyStarted { .. }) => Told::Taken { renamed },
        Err(WorkflowStartError::Rpc(status)) => not_told(&status),
        Err(error) => Told::Not(error.to_string()),
    }
}

fn not_told(status: &temporalio_client::tonic::Status) -> Told {
    let reason = status.message().to_owned();
    // What a cluster says that goes down or comes up; everything else is about this request.
    let passing = [
        Code::Aborted,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::Internal,
        Code::ResourceExhausted,
        Code::Unavailable,
        Code::Unknown,
    ];
    if passing.contains(&status.code()) { Told::Nobody(reason) } else { Told::Not(reason) }
}
