//! The cost of workflows: events, workflow tasks and activities in their histories.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::cluster::Cluster;

/// The sum over several workflows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub workflows: u64,
    pub events: u64,
    /// How often the cluster gave a workflow to a worker.
    pub tasks: u64,
    /// Regular activities, without local ones.
    pub activities: u64,
    /// Workflow tasks that timed out because the worker was too busy.
    pub late: u64,
}

/// Histories that are read at once.
const AT_ONCE: usize = 8;

/// Reads the histories of these workflows, once they have ended.
pub async fn count_events(
    cluster: &Cluster,
    workflows: impl IntoIterator<Item = String>,
) -> Result<Counts, String> {
    let counting = stream::iter(workflows).map(|id| count(cluster, id));
    counting.buffer_unordered(AT_ONCE).try_fold(Counts::default(), plus).await
}

async fn count(cluster: &Cluster, id: String) -> Result<Counts, String> {
    let workflow = cluster.client.get_workflow_handle::<UntypedWorkflow>(id);
    // Waits until the workflow has ended.
    let options = WorkflowFetchHistoryOptions::builder().wait_new_event(true).build();
    let mut history = workflow.fetch_history(options);
    let mut counts = Counts { workflows: 1, ..Counts::default() };
    while let Some(event) = history.next().await {
        let event = event.map_err(|error| error.to_string())?;
        let is = |kind: EventType| u64::from(event.event_type == i32::from(kind));
        counts.events = counts.events.saturating_add(1);
        counts.tasks = counts.tasks.saturating_add(is(EventType::WorkflowTaskCompleted));
        counts.activities = counts.activities.saturating_add(is(EventType::ActivityTaskScheduled));
        counts.late = counts.late.saturating_add(is(EventType::WorkflowTaskTimedOut));
    }
    Ok(counts)
}

async fn plus(sum: Counts, more: Counts) -> Result<Counts, String> {
    Ok(Counts {
        workflows: sum.workflows.saturating_add(more.workflows),
        events: sum.events.saturating_add(more.events),
        tasks: sum.tasks.saturating_add(more.tasks),
        activities: sum.activities.saturating_add(more.activities),
        late: sum.late.saturating_add(more.late),
    })
}
