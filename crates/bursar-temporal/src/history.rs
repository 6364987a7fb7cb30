//! Recorded histories: the workflows of this version must replay them, or a worker of this version could not continue the
//! workflows of an older one.

use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::cluster::Cluster;
use crate::driver::Driver;
use crate::kinds::{AnyKind, with_kind};

/// The history of a workflow, as `replay` reads it.
pub async fn record(cluster: &Cluster, workflow: &str) -> Result<Vec<u8>, String> {
    let workflow = cluster.client.get_workflow_handle::<UntypedWorkflow>(workflow);
    let history = workflow.fetch_history(WorkflowFetchHistoryOptions::default());
    history.to_json().await.map_err(|error| error.to_string())
}

/// Replays a history that `record` has written. The error says where the workflow deviates.
pub async fn replay(history: &[u8]) -> Result<(), String> {
    let history = WorkflowHistory::from_json(history).map_err(|error| error.to_string())?;
    let mut options = WorkflowReplayerOptions::new();
    for kind in AnyKind::ALL {
        let registered = with_kind!(*kind, K => options.register_workflow::<Driver<K>>());
        options = registered.map_err(|error| error.to_string())?;
    }
    let replayer = WorkflowReplayer::new(options.build()).map_err(|error| error.to_string())?;
    replayer.replay_workflow(history).await.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::replay;

    fn replayed(history: &[u8]) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(replay(history))
    }

    /// Recorded by the tests of the binary, with `BURSAR_RECORD_HISTORIES=1`. Histories of released versions stay for ever.
    #[test]
    fn what_was_begun_before_is_carried_on() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let history = std::fs::read(&path).unwrap();
            replayed(&history).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            // A workflow that deviates from its history is found.
            let text = String::from_utf8(history).unwrap();
            let other =
                text.replace("SubmitToChannel", "PayTwice").replace("DeliverWebhook", "Spam");
            assert_ne!(text, other, "{}: it has an effect", path.display());
            let error = replayed(other.as_bytes()).unwrap_err();
            assert!(error.contains("nondeterministic"), "{error}");
            count += 1;
        }
        assert!(count >= 4, "the histories are where this test looks for them");
    }
}
