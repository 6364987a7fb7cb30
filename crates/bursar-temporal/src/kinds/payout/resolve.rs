//! Requests of operators through the cluster: the signal `manual-resolve`, and cancellation.

use bursar_core::ids::PayoutId;
use bursar_core::payouts::{Cancel, Cancellation, Decision, Resolution, Resolve};
use serde::{Deserialize, Serialize};

use crate::activities::{Activities, Failed};
use crate::message::{Order, Step};
use crate::signals::{CLUSTER, WorkflowRef};

/// The input of the signal `manual-resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ManualResolution {
    /// SUCCESS or FAILED.
    pub status: String,
    pub resolved_by: String,
    #[serde(default)]
    pub notes: String,
}

/// An operator decides about a stuck payout. The audit keeps a refusal, and the workflow goes on.
pub(super) async fn resolve(
    activities: &Activities,
    order: &Order,
    workflow: &WorkflowRef,
) -> Result<Step, Failed> {
    let id = payout_id(&order.flow)?;
    let (actor, decided) = match serde_json::from_value::<ManualResolution>(order.input.clone()) {
        Ok(resolution) => (actor_name(&resolution.resolved_by), decision(&resolution)),
        Err(error) => (CLUSTER.to_owned(), Err(format!("the signal cannot be read: {error}"))),
    };
    let refused = match decided {
        Err(refused) => Some(refused),
        Ok((decision, evidence)) => {
            let key = workflow.request_key("resolve", order);
            let resolution = Resolution {
                id,
                decision,
                evidence,
                expected_version: order.version,
                actor: actor.clone(),
                is_approver: false,
                made_by: Vec::new(),
            };
            activities.refusal(Resolve { key, resolution }).await?
        }
    };
    activities.finish_request(order, (actor, "payout.resolve"), refused).await
}

pub(super) async fn cancel(
    activities: &Activities,
    order: &Order,
    workflow: &WorkflowRef,
) -> Result<Step, Failed> {
    let id = payout_id(&order.flow)?;
    let key = workflow.request_key("cancel", order);
    let actor = CLUSTER.to_owned();
    let cancellation = Cancellation { id, expected_version: None, actor: actor.clone() };
    let refused = activities.refusal(Cancel { key, cancellation }).await?;
    activities.finish_request(order, (actor, "payout.cancel"), refused).await
}

/// The actor for the audit; the cluster, if the name is empty or cannot be kept.
fn actor_name(resolved_by: &str) -> String {
    let name: String = resolved_by.chars().filter(|it| !it.is_control()).take(64).collect();
    let name = name.trim();
    if name.is_empty() { CLUSTER.to_owned() } else { name.to_owned() }
}

fn decision(resolution: &ManualResolution) -> Result<(Decision, String), String> {
    if resolution.resolved_by.trim().is_empty() {
        return Err("ResolvedBy is missing: nothing was decided. Say who decides".to_owned());
    }
    let decision = match resolution.status.as_str() {
        "SUCCESS" => Decision::ConfirmPaid,
        "FAILED" => Decision::ConfirmNotPaid,
        other => {
            return Err(format!(
                "Status {other:?} means nothing here: nothing was decided. Signal SUCCESS or FAILED"
            ));
        }
    };
    Ok((decision, resolution.notes.clone()))
}

fn payout_id(name: &str) -> Result<PayoutId, Failed> {
    name.parse().map_err(|_| Failed::Refused {
        code: "unknown_flow".to_owned(),
        message: "this is not a payout: nothing was done".to_owned(),
    })
}
