//! A delivery for the turn, the hosts and the verifier.

use jiff::Timestamp;
use uuid::Uuid;

use super::event::{Event, Outcome, Unsendable};
use super::state::{Delivery, LEASES, View, WebhookCall};
use super::step::{give_up, is_dead_lettered_by};
use crate::flow::host::NextAction;
use crate::flow::{
    Due, Effect, EndpointResult, Flow, Kind, KindInfo, LaneInfo, LaneScope, Load, Machine,
    Observation, OutboxInfo, Progress,
};
use crate::ids::DeliveryId;
use crate::ledger::Admission;
use crate::ledger::verify::{LastEvent, Verifier};
use crate::registry::RecordKey;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, Reads};
use crate::webhooks::apply::room;

/// Activity names, as the cluster shows them.
const DELIVER: &str = "DeliverWebhook";
const DEAD_LETTER: &str = "SendToDLQ";

impl Kind for Delivery {
    const INFO: KindInfo = KindInfo {
        name: "delivery",
        prefix: DeliveryId::PREFIX,
        owns_money: false,
        merchant_events: &[],
        lanes: &[LaneInfo { name: LEASES, scope: LaneScope::Kind }],
        waiting: &["PENDING", "DELIVERING", "WAITING_RETRY", "DLQ", "CANCELLED"],
        sending: &[],
        outbox: Some(OutboxInfo {
            name: "start_delivery",
            lane: "outbox:WEBHOOK_DELIVERY_REQUESTED",
        }),
    };
    type Call = WebhookCall;
    type Outcome = Event;
    type View = View;

    fn status(&self) -> &'static str {
        self.state.status()
    }

    fn is_live(&self) -> bool {
        !self.state.is_over()
    }

    fn due(&self) -> Option<Due> {
        self.due()
    }

    fn parent(&self) -> Option<Uuid> {
        Some(self.terms.endpoint.uuid())
    }

    /// Deliveries emit no events: a webhook about a webhook would never end.
    fn event(&self) -> Option<&'static str> {
        None
    }

    fn view(&self, flow: &Flow) -> View {
        View::new(flow, self)
    }

    fn lost(effect: &Effect, _: &WebhookCall, detail: &str) -> Event {
        let outcome = Outcome::Failed { class: "lost".to_owned(), detail: detail.to_owned() };
        Event::Returned { attempt: effect.attempt, took_ms: 0, outcome }
    }

    fn observe<'o>(_: &'o WebhookCall, event: &'o Event) -> Observation<'o> {
        let Event::Returned { took_ms, outcome, .. } = event else { return Observation::Nothing };
        let result = match outcome {
            Outcome::Answered { status, .. } if (200..300).contains(status) => {
                EndpointResult::Accepted
            }
            Outcome::Answered { .. } | Outcome::Failed { .. } => EndpointResult::Failed,
            Outcome::Unsendable { what, .. } => match what {
                Unsendable::Serialisation | Unsendable::Signing => EndpointResult::Unsendable,
                Unsendable::NoKey | Unsendable::LocalResourceExhausted => EndpointResult::Unsent,
            },
        };
        Observation::Endpoint { result, took_ms: *took_ms }
    }
}

impl Machine for Delivery {
    type Planner<'p> = ();

    fn planner(_rules: &Rules) {}

    fn plan(&self, _flow: &Flow, (): &mut (), reads: &mut Reads<'_>) {
        reads.plan.registry.insert(RecordKey::endpoint(self.terms.endpoint));
    }

    fn on_due(
        &self,
        flow: &Flow,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<Progress, Rejection> {
        draft.advance_delivery(flow.id, &Event::Due, at)
    }

    fn on_outcome(
        &self,
        flow: &Flow,
        event: &Event,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        draft.advance_delivery(flow.id, event, at).map(drop)
    }

    /// Only the cluster knows who cancelled a workflow; the audit log records here that it was cancelled.
    fn on_reported(
        &self,
        flow: &Flow,
        event: &Event,
        draft: &mut Draft<'_>,
        at: &Admission,
    ) -> Result<(), Rejection> {
        draft.advance_delivery(flow.id, event, at)?;
        let status = draft.flow(flow.id).map(|flow| flow.state.status());
        if *event == Event::Cancelled && status.is_some_and(|now| now != self.state.status()) {
            draft.note(("temporal", "delivery.cancel"), &flow.name(), "", at);
        }
        Ok(())
    }

    fn is_full(&self, draft: &Draft<'_>, load: Load) -> bool {
        let endpoint = draft.endpoint(self.terms.endpoint);
        endpoint.is_some_and(|endpoint| endpoint.is_enabled() && room(endpoint, load) == 0)
    }

    fn predict(&self, _: &Flow, event: Option<&Event>, rules: &Rules, _: Timestamp) -> NextAction {
        match event {
            None if self.state.is_waiting() => {
                NextAction::Effect { activity: DELIVER, timeout: rules.deliveries.lease }
            }
            Some(event) if is_dead_lettered_by(self, event, &rules.deliveries) => {
                NextAction::Turn { activity: DEAD_LETTER }
            }
            Some(_) | None => NextAction::Record,
        }
    }

    fn give_up(&self, now: Timestamp) -> Option<Self> {
        give_up(self, now)
    }

    fn matches_last_event(&self, _: &Flow, _: &LastEvent) -> bool {
        false
    }

    fn check(&self, _: &Flow, _: &str, _: &mut Verifier<'_>) {}
}
