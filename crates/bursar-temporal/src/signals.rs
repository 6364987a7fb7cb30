//! Requests of operators that a workflow executes: signals and cancellations. Each is executed once, and a refusal is in the
//! audit.

use bursar_core::flow::host::RecordRefusal;
use bursar_core::idempotency::Key;
use bursar_core::turn::Ask;

use crate::activities::{Activities, Failed, kind_of};
use crate::kinds::{WorkflowKind as _, with_kind};
use crate::message::{Order, Step};

/// The workflow and the run that an activity belongs to.
#[derive(Debug, Clone)]
pub(crate) struct WorkflowRef {
    pub(crate) id: String,
    pub(crate) run: String,
}

/// The actor where only the cluster knows the person, and the scope of idempotency keys.
pub(crate) const CLUSTER: &str = "temporal";

impl WorkflowRef {
    /// The same request of the same run has the same key, however often its activity is repeated.
    pub(crate) fn request_key(&self, request: &str, order: &Order) -> Key {
        Key::new(CLUSTER.to_owned(), format!("{request}-{}-{}", self.run, order.number))
    }
}

const NOTE_MAX: usize = 1_000;

impl Activities {
    /// A client has cancelled the workflow: cancels the flow, if that is possible.
    pub(crate) async fn cancel(
        &self,
        order: &Order,
        workflow: &WorkflowRef,
    ) -> Result<Step, Failed> {
        let (kind, _) = kind_of(&order.flow)?;
        with_kind!(kind, K => K::cancel(self, order, workflow).await)
    }

    /// Executes a request. Returns why it was refused, if it was.
    pub(crate) async fn refusal<A: Ask>(&self, request: A) -> Result<Option<String>, Failed> {
        match self.ask(request).await {
            Ok(_) => Ok(None),
            // The key belongs to this request alone: it was executed before, and the worker was lost before it could report.
            Err(Failed::Refused { code, .. }) if code == "idempotency_mismatch" => Ok(None),
            Err(Failed::Refused { message, .. }) => Ok(Some(message)),
            Err(unavailable @ Failed::Unavailable(_)) => Err(unavailable),
        }
    }

    /// Records a refusal in the audit, and returns where the flow stands.
    pub(crate) async fn finish_request(
        &self,
        order: &Order,
        (actor, action): (String, &str),
        refused: Option<String>,
    ) -> Result<Step, Failed> {
        if let Some(note) = refused.clone() {
            let note = note.chars().take(NOTE_MAX).collect();
            let (action, resource) = (format!("{action}.refused"), order.flow.clone());
            self.ask(RecordRefusal { actor, action, resource, note }).await?;
        }
        let step = self.turn(&Order { flow: order.flow.clone(), ..Order::default() }).await?;
        Ok(Step { refused, ..step })
    }
}
