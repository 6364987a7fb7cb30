//! What people and other clients of the cluster ask for: a payout, a decision about one that is stuck, a cancellation.

use bursar_core::delivery;
use bursar_core::drive::{Drive, Look, Refused};
use bursar_core::idempotency::{FlowReply, Key};
use bursar_core::ids::PayoutId;
use bursar_core::payout::{Cancellation, Resolution, Ruling};
use bursar_core::request::{Body, News, Reply};
use serde_json::json;

use crate::activities::{Activities, Failed, flow, unexpected};
use crate::disbursements::{RESERVE, Wanted};
use crate::message::{DisbursementRequest, ManualResolution, Next, Order, Step};

/// Whose workflow asks, and in which run of it.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) workflow: String,
    pub(crate) run: String,
}

/// Whoever cancels through the cluster is known only to the cluster.
const CLUSTER: &str = "temporal";

impl Activities {
    /// Whether a request can be read, and its beneficiary is known. Nothing is saved.
    pub(crate) async fn validate(&self, order: &Order) -> Result<Step, Failed> {
        match Wanted::read(&order.input).map_err(bad_request)? {
            Wanted::Known(_) => {}
            Wanted::New(request) => drop(self.whom_to_pay(&request).await?),
        }
        let next = Next { activity: RESERVE.to_owned(), pause: 0, timeout: None };
        let status = json!({ "Status": "VALIDATED" });
        Ok(Step { status, next: Some(next), ..Step::unknown(order) })
    }

    /// The payout is made and its money put aside, unless that was done before.
    pub(crate) async fn reserve(&self, order: &Order, asker: &Asker) -> Result<Step, Failed> {
        let request = match Wanted::read(&order.input).map_err(bad_request)? {
            Wanted::Known(id) => {
                return self.turn(&Order { flow: id.to_string(), ..Order::default() }).await;
            }
            Wanted::New(request) => *request,
        };
        let beneficiary = self.whom_to_pay(&request).await?;
        let scope = format!("merchant:{}", request.merchant_id);
        let key = Key::new(scope, request.idempotency_key.clone());
        let (payout, workflow) = (request.payout(beneficiary), asker.workflow.clone());
        let reply = self.ask(Body::CreateDrivenPayout { key, payout, workflow }).await?;
        let Reply::Flow { reply, .. } = reply else { return Err(unexpected()) };
        let FlowReply::Payout(view) = &*reply else { return Err(unexpected()) };
        self.turn(&Order { flow: view.id.clone(), ..Order::default() }).await
    }

    async fn whom_to_pay(
        &self,
        request: &DisbursementRequest,
    ) -> Result<bursar_core::payout::Beneficiary, Failed> {
        let DisbursementRequest { merchant_id, beneficiary_id, .. } = request;
        let found = self.office.beneficiary(merchant_id, beneficiary_id).await;
        found.map_err(Failed::Unavailable)?.ok_or_else(|| Failed::Refused {
            code: "unknown_beneficiary".to_owned(),
            message: format!(
                "merchant {merchant_id} has no beneficiary {beneficiary_id:?}: nothing was reserved. Add it first"
            ),
        })
    }

    /// A person decides about a payout that is stuck. What is refused goes on the record, and the workflow goes on.
    pub(crate) async fn resolve(&self, order: &Order, asker: &Asker) -> Result<Step, Failed> {
        let id = payout_id(&order.flow)?;
        let (actor, wish) = match serde_json::from_value::<ManualResolution>(order.input.clone()) {
            Ok(resolution) => (name_of(&resolution.resolved_by), ruling(&resolution)),
            Err(error) => (CLUSTER.to_owned(), Err(format!("the signal cannot be read: {error}"))),
        };
        let refused = match wish {
            Err(refused) => Some(refused),
            Ok((ruling, evidence)) => {
                let key = Self::key("resolve", order, asker);
                let resolution = Resolution {
                    id,
                    ruling,
                    evidence,
                    expected_version: order.version,
                    actor: actor.clone(),
                    is_approver: false,
                };
                self.refusal(Body::ResolvePayout { key, resolution }).await?
            }
        };
        self.answered(order, (actor, "payout.resolve"), refused).await
    }

    /// Somebody has cancelled the workflow: then so is the flow, if it can be.
    pub(crate) async fn cancel(&self, order: &Order, asker: &Asker) -> Result<Step, Failed> {
        let Ok(id) = payout_id(&order.flow) else {
            let news = Some(News::Delivery(delivery::Event::CalledOff));
            let driven = self.look(Look { flow: flow(&order.flow)?, news, hands: None }).await?;
            return Ok(self.step(&driven));
        };
        let key = Self::key("cancel", order, asker);
        let actor = CLUSTER.to_owned();
        let cancellation = Cancellation { id, expected_version: None, actor: actor.clone() };
        let refused = self.refusal(Body::CancelPayout { key, cancellation }).await?;
        self.answered(order, (actor, "payout.cancel"), refused).await
    }

    /// Why it is not done, if it is not.
    async fn refusal(&self, body: Body) -> Result<Option<String>, Failed> {
        match self.ask(body).await {
            Ok(_) => Ok(None),
            // The key is that of this very wish: it was granted before, and the worker was lost before it could say so.
            Err(Failed::Refused { code, .. }) if code == "idempotency_mismatch" => Ok(None),
            Err(Failed::Refused { message, .. }) => Ok(Some(message)),
            Err(unavailable @ Failed::Unavailable(_)) => Err(unavailable),
        }
    }

    async fn answered(
        &self,
        order: &Order,
        (actor, action): (String, &str),
        refused: Option<String>,
    ) -> Result<Step, Failed> {
        if let Some(note) = refused.clone() {
            let note = note.chars().take(NOTE_MAX).collect();
            let (action, resource) = (format!("{action}.refused"), order.flow.clone());
            let refused = Refused { actor, action, resource, note };
            self.ask(Body::Drive(Drive::Refused(refused))).await?;
        }
        let step = self.turn(&Order { flow: order.flow.clone(), ..Order::default() }).await?;
        Ok(Step { refused, ..step })
    }

    /// The same wish of the same run is the same request, however often its activity is repeated.
    fn key(wish: &str, order: &Order, asker: &Asker) -> Key {
        Key::new(CLUSTER.to_owned(), format!("{wish}-{}-{}", asker.run, order.number))
    }
}

const NOTE_MAX: usize = 1_000;

/// Whoever gives no name, or one that cannot be kept, is on the record all the same.
fn name_of(resolved_by: &str) -> String {
    let name: String = resolved_by.chars().filter(|it| !it.is_control()).take(64).collect();
    let name = name.trim();
    if name.is_empty() { CLUSTER.to_owned() } else { name.to_owned() }
}

fn ruling(resolution: &ManualResolution) -> Result<(Ruling, String), String> {
    if resolution.resolved_by.trim().is_empty() {
        return Err("ResolvedBy is missing: nothing was decided. Say who decides".to_owned());
    }
    let ruling = match resolution.status.as_str() {
        "SUCCESS" => Ruling::ConfirmPaid,
        "FAILED" => Ruling::ConfirmNotPaid,
        other => {
            return Err(format!(
                "Status {other:?} means nothing here: nothing was decided. Signal SUCCESS or FAILED"
            ));
        }
    };
    Ok((ruling, resolution.notes.clone()))
}

fn payout_id(name: &str) -> Result<PayoutId, Failed> {
    name.parse().map_err(|_| not_a_payout())
}

fn not_a_payout() -> Failed {
    Failed::Refused {
        code: "unknown_flow".to_owned(),
        message: "this is not a payout: nothing was done".to_owned(),
    }
}

fn bad_request(message: String) -> Failed {
    Failed::Refused { code: "bad_request".to_owned(), message }
}
